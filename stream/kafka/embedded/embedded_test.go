package embedded_test

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/louver/louver/stream/kafka/embedded"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// TestShortAnswersTellOfAbortedTransactions reads aborted batches in answers that hold one or two of them.
func TestShortAnswersTellOfAbortedTransactions(t *testing.T) {
	b := kafkatest.Fake(t)
	topic := b.Topic(t, 1, nil)
	aborted, committed := b.Begin(t, kafkatest.Name(t)), b.Begin(t, kafkatest.Name(t))
	for range 5 {
		aborted.Produce(t, topic, 0, kafkatest.Values("aborted "+strings.Repeat("a", 100))...)
		committed.Produce(t, topic, 0, kafkatest.Values("committed")...)
	}
	aborted.Abort(t)
	committed.Commit(t)
	for _, size := range []int{100, 250, 400, 600} {
		var got []string
		client := b.Fetch(fetch.Options{MaxBytes: size})
		_, err := client.ReadAll(kafkatest.Context(t), topic, 0, kafka.FirstOffset, func(r *fetch.Record) error {
			got = append(got, string(r.Value))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slices.Repeat([]string{"committed"}, 5), got); diff != "" {
			t.Errorf("in answers of %d bytes: %s", size, diff)
		}
	}
}

// client sends requests one by one.
type client struct {
	*testing.T
	net.Conn
}

func (c client) send(q kmsg.Request) {
	c.Helper()
	if _, err := c.Write(kmsg.NewRequestFormatter().AppendRequest(nil, q, 1)); err != nil {
		c.Fatal(err)
	}
}

func (c client) ask(q kmsg.Request) kmsg.Response {
	c.Helper()
	c.send(q)
	size := make([]byte, 4)
	if _, err := io.ReadFull(c, size); err != nil {
		c.Fatal(err)
	}
	answer := make([]byte, binary.BigEndian.Uint32(size))
	if _, err := io.ReadFull(c, answer); err != nil {
		c.Fatal(err)
	}
	r := q.ResponseKind()
	if err := r.ReadFrom(answer[4:]); err != nil { // behind the correlation id
		c.Fatal(err)
	}
	return r
}

func join(member string) *kmsg.JoinGroupRequest {
	q := kmsg.NewPtrJoinGroupRequest()
	q.SetVersion(1)
	q.Group, q.MemberID, q.ProtocolType = "g", member, "consumer"
	q.SessionTimeoutMillis, q.RebalanceTimeoutMillis = 10_000, 10_000
	q.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
	return q
}

// TestAMemberThatIsGoneLeavesItsGroup: a member's connection ends while it waits for the answer to its join. It leaves
// the group when its session times out, as at a real broker.
func TestAMemberThatIsGoneLeavesItsGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var network kfake.VirtualNetwork
		cluster, err := embedded.Start(network.Listen, kfake.Ports(9092))
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		dial := func() client {
			c, err := network.DialContext(t.Context(), "tcp", cluster.ListenAddrs()[0])
			if err != nil {
				t.Fatal(err)
			}
			return client{t, c}
		}
		one, other := dial(), dial()
		t.Cleanup(func() { _ = one.Close() })
		member, joins := "", 0
		rejoin := func() int32 {
			r := one.ask(join(member)).(*kmsg.JoinGroupResponse)
			sync := kmsg.NewPtrSyncGroupRequest()
			sync.SetVersion(1)
			sync.Group, sync.Generation, sync.MemberID = "g", r.Generation, r.MemberID
			if s := one.ask(sync).(*kmsg.SyncGroupResponse); r.ErrorCode != 0 || s.ErrorCode != 0 {
				t.Fatalf("join %d: %d, %d", joins, r.ErrorCode, s.ErrorCode)
			}
			member, joins = r.MemberID, joins+1
			return r.Generation
		}
		generation := rejoin()
		other.send(join(""))
		synctest.Wait()
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			<-time.After(3 * time.Second)
			beat := kmsg.NewPtrHeartbeatRequest()
			beat.SetVersion(1)
			beat.Group, beat.Generation, beat.MemberID = "g", generation, member
			if one.ask(beat).(*kmsg.HeartbeatResponse).ErrorCode == kerr.RebalanceInProgress.Code {
				generation = rejoin()
			}
		}
		describe := kmsg.NewPtrDescribeGroupsRequest()
		describe.SetVersion(1)
		describe.Groups = []string{"g"}
		g := one.ask(describe).(*kmsg.DescribeGroupsResponse).Groups[0]
		if joins != 3 || len(g.Members) != 1 || g.State != "Stable" { // when it began, when the other came, when that was gone
			t.Errorf("after %d joins the group is %s with %d members; want 3 joins, Stable, 1", joins, g.State, len(g.Members))
		}
	})
}
