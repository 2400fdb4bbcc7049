// Package embedded starts Kafka brokers in this process, for `louver broker`, the demo and tests.
package embedded

import (
	"math"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Start starts a cluster of kfake, and works around one fault of it. The caller closes it.
func Start(options ...kfake.Opt) (*kfake.Cluster, error) {
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		return nil, err
	}
	// When sees each request before the broker does, and the fault never happens. A control function would see it too,
	// but kfake keeps the last request of every connection for it, even after the connection is closed.
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, TopLevel: true, Count: -1, When: func(q kmsg.Request) bool {
		limitPartitions(q.(*kmsg.FetchRequest))
		return false
	}})
	return cluster, nil
}

// limitPartitions replaces the limit of a whole answer by limits of its partitions. Where kfake cuts an answer at the
// limit of the whole, it does not say which transactions were aborted, and a reader takes their records for committed
// ones. Where it cuts at the limit of a partition, it says so. The first batch of an answer always fits.
func limitPartitions(q *kmsg.FetchRequest) {
	partitions := 0
	for _, t := range q.Topics {
		partitions += len(t.Partitions)
	}
	for _, t := range q.Topics {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			p.PartitionMaxBytes = min(p.PartitionMaxBytes, q.MaxBytes/int32(partitions))
		}
	}
	q.MaxBytes = math.MaxInt32
}
