package group_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/louver/louver/stream/kafka/group"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

const session = 10 * time.Second

func member(t *testing.T, b *kafkatest.Broker, id string, topics ...string) *group.Member {
	t.Helper()
	return configured(t, group.Config{Conn: b.Conn, GroupID: id, Topics: topics})
}

func configured(t *testing.T, c group.Config) *group.Member {
	t.Helper()
	c.SessionTimeout, c.WatchInterval = session, 100*time.Millisecond
	m, err := group.Join(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func next(t *testing.T, m *group.Member) *group.Generation {
	t.Helper()
	g, err := m.Next(kafkatest.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// soon calls Next in the background.
func soon(t *testing.T, m *group.Member) <-chan *group.Generation {
	t.Helper()
	ctx := kafkatest.Context(t)
	c := make(chan *group.Generation, 1)
	go func() {
		g, err := m.Next(ctx)
		if err != nil && !errors.Is(err, group.ErrClosed) {
			t.Error(err)
		}
		c <- g
	}()
	return c
}

// await calls Next until the assignment is as wanted: on the way there may be
// generations of fewer members or topics.
func await(t *testing.T, m *group.Member, want map[string][]int) *group.Generation {
	t.Helper()
	for {
		g := next(t, m)
		if cmp.Equal(nonempty(g.Partitions), want) {
			return g
		}
	}
}

func nonempty(m map[string][]int) map[string][]int {
	out := maps.Clone(m)
	maps.DeleteFunc(out, func(_ string, p []int) bool { return len(p) == 0 })
	return out
}

// leavers notes who leaves a group, and says whether a member has, or anybody. Only a fake broker knows: of a real one
// it says yes.
func leavers(b *kafkatest.Broker) (left func(member string) bool) {
	if b.Fake == nil {
		return func(string) bool { return true }
	}
	var all sync.Map
	b.Fake.ControlKey(int16(kmsg.LeaveGroup), func(r kmsg.Request) (kmsg.Response, error, bool) {
		b.Fake.KeepControl()
		all.Store("", true)
		q := r.(*kmsg.LeaveGroupRequest)
		all.Store(q.MemberID, true)
		for _, m := range q.Members {
			all.Store(m.MemberID, true)
		}
		return nil, nil, false
	})
	return func(member string) bool { _, ok := all.Load(member); return ok }
}

func TestCommits(t *testing.T) {
	t.Parallel()
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 3, nil)
		ctx := kafkatest.Context(t)
		g := next(t, member(t, b, topic, topic))
		if want := map[string][]int{topic: {0, 1, 2}}; !cmp.Equal(g.Partitions, want) {
			t.Fatalf("assigned %v, want %v", g.Partitions, want)
		}
		if err := g.Commit(ctx, []group.Offset{{Topic: topic, Partition: 0, Offset: 5, Metadata: `{"seen":7}`},
			{Topic: topic, Partition: 2, Offset: 9}}); err != nil {
			t.Fatal(err)
		}
		if err := g.Commit(ctx, nil); err != nil {
			t.Error("committing nothing:", err)
		}
		got, err := g.Committed(ctx, topic, []int{0, 1, 2})
		want := map[int]group.Offset{
			0: {Topic: topic, Partition: 0, Offset: 5, Metadata: `{"seen":7}`},
			1: {Topic: topic, Partition: 1, Offset: -1},
			2: {Topic: topic, Partition: 2, Offset: 9},
		}
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%v: %s", err, cmp.Diff(want, got))
		}
		if got, err := g.Committed(ctx, topic, nil); err != nil || len(got) > 0 {
			t.Errorf("asked for none: %v, %v", got, err)
		}
	})
}

func TestTwoMembers(t *testing.T) {
	t.Parallel()
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 4, nil)
		all := map[string][]int{topic: {0, 1, 2, 3}}
		left := leavers(b)
		one, two := member(t, b, topic, topic), member(t, b, topic, topic)
		first := await(t, one, all)

		second := soon(t, two)
		<-first.Done()
		select {
		case <-second:
			t.Fatal("the second member has partitions that the first has not given up")
		case <-time.After(300 * time.Millisecond):
		}
		again := next(t, one) // gives them up
		other := <-second
		got := slices.Concat(again.Partitions[topic], other.Partitions[topic])
		slices.Sort(got)
		if !slices.Equal(got, all[topic]) || len(again.Partitions[topic]) != 2 {
			t.Errorf("assigned %v and %v", again.Partitions, other.Partitions)
		}
		if again.ID != other.ID || again.ID == first.ID {
			t.Errorf("generations %d, then %d and %d", first.ID, again.ID, other.ID)
		}
		if err := first.Commit(kafkatest.Context(t), []group.Offset{{Topic: topic, Offset: 1}}); !errors.Is(err,
			group.ErrEnded) {
			t.Errorf("a commit of an earlier generation: %v, want that it has ended", err)
		}

		// One leaves: the other need not wait for its session to time out.
		if err := two.Close(); err != nil {
			t.Error(err)
		}
		<-other.Done()
		if _, err := two.Next(t.Context()); !errors.Is(err, group.ErrClosed) {
			t.Errorf("Next of a closed member: %v", err)
		}
		await(t, one, all)
		if !left(other.MemberID) {
			t.Errorf("member %s has not left the group", other.MemberID)
		}
	})
}

func TestTopicsComeAndGrow(t *testing.T) {
	t.Parallel()
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		here, later := b.Topic(t, 1, nil), kafkatest.Name(t)
		m := member(t, b, here, here, later)
		g := await(t, m, map[string][]int{here: {0}})
		select {
		case <-g.Done():
			t.Error("a topic that is missing makes the group rebalance")
		case <-time.After(time.Second): // ten looks
		}
		b.CreateTopic(t, later, 2, nil)
		<-g.Done()
		g = await(t, m, map[string][]int{here: {0}, later: {0, 1}})
		res, err := b.Conn.Client.CreatePartitions(kafkatest.Context(t), &kafka.CreatePartitionsRequest{
			Topics: []kafka.TopicPartitionsConfig{{Name: later, Count: 3}}})
		if err != nil || res.Errors[later] != nil {
			t.Fatal(err, res)
		}
		<-g.Done()
		await(t, m, map[string][]int{here: {0}, later: {0, 1, 2}})
	})
}

func TestNoTopicYet(t *testing.T) {
	t.Parallel()
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := kafkatest.Name(t)
		heard := make(chan struct{}, 1)
		m := configured(t, group.Config{Conn: b.Conn, GroupID: topic, Topics: []string{topic}, OnError: func(error) {
			select {
			case heard <- struct{}{}:
			default:
			}
		}})
		g := soon(t, m)
		<-heard
		b.CreateTopic(t, topic, 1, nil)
		if got := (<-g).Partitions; !cmp.Equal(got, map[string][]int{topic: {0}}) {
			t.Errorf("assigned %v", got)
		}
	})
}

// A member that is closed while it joins lets the join come to its end and then
// leaves.
func TestCloseWhileJoining(t *testing.T) {
	t.Parallel()
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 2, nil)
		all := map[string][]int{topic: {0, 1}}
		left := leavers(b)
		one, two := member(t, b, topic, topic), member(t, b, topic, topic)
		g := await(t, one, all)
		waiting := soon(t, two)
		<-g.Done() // the second one's join has come, and it waits for the first
		closed := make(chan error)
		go func() { closed <- two.Close() }()
		await(t, one, all)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if g := <-waiting; g != nil {
			t.Errorf("got generation %d", g.ID)
		}
		if !left("") {
			t.Error("nobody has left the group")
		}
	})
}

// A member that does not give up its partitions must not keep another from closing. The group would wait for it for
// longer than the test does. (The fake never forgets a member that was cut off.)
func TestCloseWhileOthersKeepTheGroupWaiting(t *testing.T) {
	t.Parallel()
	b := kafkatest.Real(t)
	topic := b.Topic(t, 2, nil)
	keeps, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{ID: topic, Brokers: b.Conn.Brokers,
		Topics: []string{topic}, HeartbeatInterval: 100 * time.Millisecond, SessionTimeout: 10 * time.Minute,
		RebalanceTimeout: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	g, err := kafkaconn.Retry(kafkatest.Context(t), nil, keeps.Next)
	if err != nil {
		t.Fatal(err)
	}
	over, enough := make(chan struct{}), make(chan struct{})
	// until this ends, it does not join again
	g.Start(func(ctx context.Context) { <-ctx.Done(); close(over); <-enough })
	two := member(t, b, topic, topic)
	waiting := soon(t, two)
	kafkatest.Receive(t, "the second one's join comes, and waits for the first", over)
	closed := make(chan error, 1)
	go func() { closed <- two.Close() }()
	if err := kafkatest.Receive(t, "the second one closes", closed); err != nil {
		t.Error(err)
	}
	if g := <-waiting; g != nil {
		t.Errorf("got generation %d", g.ID)
	}
	close(enough)
	if err := keeps.Close(); err != nil {
		t.Error(err)
	}
}

// While a group rebalances, and no later generation has formed, a member's partitions are still its own.
func TestConfirmWhileTheGroupRebalances(t *testing.T) {
	t.Parallel()
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 2, nil)
		one, two := member(t, b, topic, topic), member(t, b, topic, topic)
		first := await(t, one, map[string][]int{topic: {0, 1}})
		ctx := kafkatest.Context(t)
		if err := first.Confirm(ctx); err != nil {
			t.Error(err)
		}
		second := soon(t, two)
		<-first.Done() // the second has asked to join, and waits for the first
		if err := first.Confirm(ctx); err != nil {
			t.Errorf("while the group gathers its members: %v", err)
		}
		next(t, one)
		<-second
		if err := first.Confirm(ctx); !errors.Is(err, group.ErrEnded) {
			t.Errorf("after the next generation has formed: %v, want that it has ended", err)
		}
	})
}

func TestConfig(t *testing.T) {
	b := kafkatest.Fake(t)
	for _, c := range []group.Config{
		{},
		{Conn: b.Conn, Topics: []string{"t"}},
		{Conn: b.Conn, GroupID: "g"},
		{Conn: b.Conn, GroupID: "g", Topics: []string{"t"}, SessionTimeout: time.Minute},
		{Conn: b.Conn, GroupID: "g", Topics: []string{"t"}, SessionTimeout: time.Second},
	} {
		if m, err := group.Join(t.Context(), c); err == nil {
			t.Errorf("%+v is accepted", c)
			_ = m.Close()
		}
	}
}

func TestMembershipIsConfirmed(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 1, nil)
		m := member(t, b, topic, topic)
		g := next(t, m)
		if err := g.Confirm(kafkatest.Context(t)); err != nil {
			t.Errorf("a member: %v", err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		if err := g.Confirm(kafkatest.Context(t)); !errors.Is(err, group.ErrEnded) {
			t.Errorf("one that has left: %v, want ErrEnded", err)
		}
	})
}

// A topic that was away for a moment is assigned anew, also with as many partitions as before: members that joined
// meanwhile have none of them.
func TestATopicThatWasAwayIsAssignedAnew(t *testing.T) {
	t.Parallel()
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 2, nil)
		missing := make(chan struct{}, 1)
		m := configured(t, group.Config{Conn: b.Conn, GroupID: topic, Topics: []string{topic},
			OnError: func(err error) {
				if err != nil && strings.Contains(err.Error(), "none of its topics exists") {
					select {
					case missing <- struct{}{}:
					default:
					}
				}
			}})
		want := map[string][]int{topic: {0, 1}}
		g := await(t, m, want)
		b.DeleteTopic(t, topic)
		kafkatest.Receive(t, "the member misses the topic", missing)
		b.CreateTopic(t, topic, 2, nil)
		kafkatest.Receive(t, "the generation is over", g.Done())
		await(t, m, want)
	})
}
