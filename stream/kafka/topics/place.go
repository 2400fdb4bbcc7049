package topics

import "github.com/segmentio/kafka-go"

// Place returns the partition of a key among n, as Kafka's own clients do (murmur2).
func Place(key string, n int) int {
	partitions := make([]int, n)
	for i := range partitions {
		partitions[i] = i
	}
	return kafka.Murmur2Balancer{}.Balance(kafka.Message{Key: []byte(key)}, partitions...)
}
