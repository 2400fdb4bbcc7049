package group_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/describegroups"
	"github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/louver/louver/stream/kafka/group"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

func TestFailuresAreTriedAgain(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	for _, key := range []kmsg.Key{kmsg.FindCoordinator, kmsg.JoinGroup, kmsg.SyncGroup} {
		for _, code := range []*kerr.Error{kerr.CoordinatorNotAvailable, kerr.NotCoordinator,
			kerr.CoordinatorLoadInProgress} {
			t.Run(key.Name()+" "+code.Message, func(t *testing.T) {
				topic := b.Topic(t, 1, nil)
				h := b.Fake.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: code, Count: 2, Group: topic},
					kfake.Fault{Keys: []kmsg.Key{key}, Err: code, Count: 2, Group: topic, TopLevel: true})
				defer h.Remove()
				var heard atomic.Int32
				m := configured(t, group.Config{Conn: b.Conn, GroupID: topic, Topics: []string{topic},
					OnError: func(error) { heard.Add(1) }})
				await(t, m, map[string][]int{topic: {0}})
				if heard.Load() < 2 || h.Hits() < 2 {
					t.Errorf("heard of %d failures, %d were made, want 2", heard.Load(), h.Hits())
				}
			})
		}
	}
}

func TestAFailedHeartbeatEndsTheGeneration(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	topic := b.Topic(t, 1, nil)
	m := member(t, b, topic, topic)
	g := next(t, m)
	b.Fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.UnknownMemberID, TopLevel: true})
	<-g.Done()
	if again := await(t, m, map[string][]int{topic: {0}}); again.ID <= g.ID {
		t.Errorf("generation %d after %d", again.ID, g.ID)
	}
}

// A member whose join fails comes back under another name. The group does not wait until the session of the old one
// times out.
func TestAFailedJoinLeavesNobodyBehind(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	topic := b.Topic(t, 1, nil)
	left := leavers(b)
	m := member(t, b, topic, topic)
	g := next(t, m)
	b.Fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.RebalanceInProgress, Group: topic,
		TopLevel: true},
		kfake.Fault{Keys: []kmsg.Key{kmsg.JoinGroup}, Err: kerr.NotCoordinator, Group: topic, TopLevel: true})
	<-g.Done()
	again := await(t, m, map[string][]int{topic: {0}})
	if again.MemberID == g.MemberID {
		t.Fatal("the member came back under the same name: the test tests nothing")
	}
	if !left(g.MemberID) {
		t.Errorf("member %s has not left the group", g.MemberID)
	}
}

// The leader of a group looks at the topics by itself. A topic that was away just then is assigned to nobody, and it is
// there with as many partitions whenever a member looks.
func TestATopicThatOnlyTheLeaderMissesIsAssignedAnew(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	topic := b.Topic(t, 2, nil)
	var joined, missed atomic.Bool
	b.Fake.ControlKey(int16(kmsg.JoinGroup), func(kmsg.Request) (kmsg.Response, error, bool) {
		b.Fake.KeepControl()
		joined.Store(true)
		return nil, nil, false
	})
	b.Fake.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
		b.Fake.KeepControl()
		q := r.(*kmsg.MetadataRequest)
		// The first one who asks by name after somebody has joined is the leader.
		if !joined.Load() || len(q.Topics) != 1 || !missed.CompareAndSwap(false, true) {
			return nil, nil, false
		}
		a := q.ResponseKind().(*kmsg.MetadataResponse)
		away := kmsg.NewMetadataResponseTopic()
		away.Topic, away.ErrorCode = q.Topics[0].Topic, kerr.UnknownTopicOrPartition.Code
		a.Topics = append(a.Topics, away)
		return a, nil, true
	})
	m := member(t, b, topic, topic)
	g := next(t, m)
	if len(nonempty(g.Partitions)) > 0 || !missed.Load() {
		t.Fatalf("assigned %v, and the leader missed the topic: %v; the test tests nothing", g.Partitions,
			missed.Load())
	}
	kafkatest.Receive(t, "the generation is over", g.Done())
	await(t, m, map[string][]int{topic: {0, 1}})
}

// looks counts the looks at topics and groups.
type looks struct {
	kafka.RoundTripper
	topics, groups chan struct{}
}

func (l *looks) RoundTrip(ctx context.Context, addr net.Addr, r kafka.Request) (kafka.Response, error) {
	a, err := l.RoundTripper.RoundTrip(ctx, addr, r)
	switch r.(type) {
	case *metadata.Request:
		l.topics <- struct{}{}
	case *describegroups.Request:
		l.groups <- struct{}{}
	}
	return a, err
}

// An assignment of all partitions stays, and nobody looks at it again.
func TestAWholeAssignmentStays(t *testing.T) {
	t.Parallel()
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 3, nil)
		conn, client := *b.Conn, *b.Conn.Client
		l := &looks{client.Transport, make(chan struct{}, 1000), make(chan struct{}, 1000)}
		client.Transport, conn.Client = l, &client
		g := await(t, configured(t, group.Config{Conn: &conn, GroupID: topic, Topics: []string{topic}}),
			map[string][]int{topic: {0, 1, 2}})
		kafkatest.Receive(t, "a look at the group", l.groups)
		for range 5 {
			kafkatest.Receive(t, "a look at the topic", l.topics)
		}
		select {
		case <-g.Done():
			t.Error("the generation is over")
		case <-l.groups:
			t.Error("the group is looked at again")
		default:
		}
	})
}

func TestOffsetsAreTriedAgain(t *testing.T) {
	b := kafkatest.Fake(t)
	topic := b.Topic(t, 1, nil)
	g := next(t, member(t, b, topic, topic))
	for _, code := range []*kerr.Error{kerr.CoordinatorLoadInProgress, kerr.NotCoordinator} {
		h := b.Fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: code, Count: 2, Group: topic})
		if err := g.Commit(kafkatest.Context(t), []group.Offset{{Topic: topic, Offset: 3}}); err != nil ||
			h.Hits() != 2 {
			t.Errorf("%s: %v after %d faults", code.Message, err, h.Hits())
		}
		h = b.Fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Err: code, Count: 2, Group: topic})
		if got, err := g.Committed(kafkatest.Context(t), topic, []int{0}); err != nil || got[0].Offset != 3 ||
			h.Hits() != 2 {
			t.Errorf("%s: %v, %v after %d faults", code.Message, got, err, h.Hits())
		}
	}
	for _, code := range []*kerr.Error{kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.RebalanceInProgress} {
		b.Fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: code, Group: topic})
		if err := g.Commit(kafkatest.Context(t), []group.Offset{{Topic: topic, Offset: 4}}); !errors.Is(err,
			group.ErrEnded) {
			t.Errorf("%s: %v, want that it has ended", code.Message, err)
		}
	}
}

func TestNextEndsWithItsContext(t *testing.T) {
	b := kafkatest.Fake(t)
	m := member(t, b, "g", "missing")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := m.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// A stage that is told to end asks for no further generation. Its workers still commit what they have done in the last
// one, until the member is closed.
func TestCommitsAfterNextEnds(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	for range 20 { // whether kafka-go looks at the context before it waits for the group is left to chance
		topic := b.Topic(t, 1, nil)
		m := member(t, b, topic, topic)
		g := next(t, m)
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := m.Next(ended); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if err := g.Commit(t.Context(), []group.Offset{{Topic: topic, Offset: 7}}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBrokerIsKilledAndComesBack(t *testing.T) {
	t.Parallel()
	b := kafkatest.Own(t)
	topic := b.Topic(t, 1, nil)
	m := member(t, b, topic, topic)
	g := next(t, m)
	if err := g.Commit(kafkatest.Context(t), []group.Offset{{Topic: topic, Offset: 3, Metadata: "note"}}); err != nil {
		t.Fatal(err)
	}
	b.Kill(t)
	<-g.Done()
	after := soon(t, m)
	b.Start(t)
	if g = <-after; g == nil {
		return // soon has said why
	}
	got, err := g.Committed(kafkatest.Context(t), topic, []int{0})
	if err != nil || got[0].Offset != 3 || got[0].Metadata != "note" {
		t.Errorf("committed %v, %v", got, err)
	}
}
