package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/segmentio/kafka-go"
)

// Cluster is an Apache Kafka of several nodes for this test alone. By default a topic has a replica on each of them,
// and a record is acknowledged when all but one have it. All connections pass through the test process, which can cut
// them. With users, the nodes check credentials and rights as those of Guarded do.
func Cluster(t testing.TB, nodes int, users ...string) *Broker {
	t.Helper()
	b := &Broker{}
	var fronts []string
	for i := range nodes {
		f, err := newFront()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.close)
		s := newServer(t, i+1, t.TempDir())
		s.front = f
		if len(users) > 0 {
			s.users = append([]string{admin}, users...)
		}
		t.Cleanup(s.kill)
		b.nodes = append(b.nodes, s)
		fronts = append(fronts, f.addr())
	}
	boot(t, b.nodes)
	b.connectAs(t, fronts, b.nodes[0].admin())
	return b
}

// Save copies what the nodes have of a topic on their disks. The function that it returns puts that back, so newer
// records are gone, as with an older disk. All nodes must be down both times.
func (b *Broker) Save(t testing.TB, topic string) (restore func()) {
	t.Helper()
	copies := map[string]string{}
	for _, s := range b.own(t) {
		folders, err := filepath.Glob(filepath.Join(s.data(), topic+"-[0-9]*"))
		if err != nil || len(folders) == 0 {
			t.Fatalf("node %d has nothing of topic %s: %v", s.id, topic, err)
		}
		for _, folder := range folders {
			copies[folder] = filepath.Join(t.TempDir(), "copy")
			if err := os.CopyFS(copies[folder], os.DirFS(folder)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return func() {
		for folder, from := range copies {
			if err := errors.Join(os.RemoveAll(folder), os.CopyFS(folder, os.DirFS(from))); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// KillLeader ends the node that leads a partition, as kill -9 does. Start starts it again.
func (b *Broker) KillLeader(t testing.TB, topic string, partition int) {
	t.Helper()
	b.own(t)
	try(t, fmt.Sprintf("find the leader of %s/%d", topic, partition), func(ctx context.Context) error {
		node, err := b.leader(ctx, topic, partition)
		if err == nil {
			node.kill()
		}
		return err
	})
}

// CutConnections ends all TCP connections to and between the nodes of a Cluster. New ones can be made at once.
func (b *Broker) CutConnections(t testing.TB) {
	t.Helper()
	for _, s := range b.own(t) {
		s.front.cut()
	}
}

// leader returns the node that leads a partition.
func (b *Broker) leader(ctx context.Context, topic string, partition int) (*server, error) {
	res, err := b.Conn.Client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
	if err != nil {
		return nil, err
	}
	for _, t := range res.Topics {
		for _, p := range t.Partitions {
			if t.Name != topic || p.ID != partition {
				continue
			}
			for _, s := range b.nodes {
				if s.id == p.Leader.ID {
					return s, nil
				}
			}
		}
	}
	return nil, fmt.Errorf("%s/%d: %w", topic, partition, kafka.LeaderNotAvailable)
}
