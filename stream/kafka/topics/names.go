// Package topics lists, creates and verifies the topics, consumer groups and transactional ids that a streams file
// needs, with their settings and the rights that they require.
package topics

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/segmentio/kafka-go"
)

// Partitions is how many partitions Louver gives the partials and the ledger.
const Partitions = 8

// Names derives the names of internal topics, groups and transactional ids from the app id.
type Names struct{ App string }

// Control is the compacted topic that holds what all processes agree on: see package control.
func (n Names) Control() string { return n.App + ".control" }

// Partials is the topic of parts and marks (personal, pseudonymous).
func (n Names) Partials() string { return n.App + ".partials" }

// State is the topic of snapshots that say who has counted in the windows of streams with max_windows (personal,
// pseudonymous).
func (n Names) State() string { return n.App + ".state" }

// Progress is the compacted topic of how far each worker has come.
func (n Names) Progress() string { return n.App + ".progress" }

// Ledger is the topic of charges and values.
func (n Names) Ledger() string { return n.App + ".ledger" }

// Group is the consumer group of a stage: ingest reads the input topics, release the partials, publish the ledger, and
// export the outputs.
func (n Names) Group(stage string) string { return n.App + "." + stage }

// ControlID is the transactional id that serialises writers of the control topic.
func (n Names) ControlID() string { return n.App + ".control" }

// ReleaseID is the transactional id of the worker that owns a partition of the partials.
func (n Names) ReleaseID(partition int) string { return n.App + ".release." + strconv.Itoa(partition) }

// PublishID is the transactional id of the worker that owns a partition of the ledger.
func (n Names) PublishID(partition int) string { return n.App + ".publish." + strconv.Itoa(partition) }

// longestApp leaves room for what the names of the app's own topics and ids add, of the 249 characters of a topic's
// name.
const longestApp = 200

var appName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// CheckApp returns an error for an app id that cannot begin the name of a topic.
func CheckApp(id string) error {
	if len(id) > longestApp || !appName.MatchString(id) {
		return fmt.Errorf("app id %q (LOUVER_APP_ID); want 1–%d of the characters a–z, A–Z, 0–9, ., _ and -",
			id, longestApp)
	}
	return nil
}

// Place returns the partition of a key among n, as Kafka's own clients do (murmur2).
func Place(key string, n int) int {
	partitions := make([]int, n)
	for i := range partitions {
		partitions[i] = i
	}
	return kafka.Murmur2Balancer{}.Balance(kafka.Message{Key: []byte(key)}, partitions...)
}
