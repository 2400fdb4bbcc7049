package txn_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
)

var coordinator = []kmsg.Key{kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn, kmsg.TxnOffsetCommit,
	kmsg.EndTxn}

// fail lets requests of that kind fail n times.
func fail(b *kafkatest.Broker, key kmsg.Key, err *kerr.Error, n int) *kfake.FaultHandle {
	top := key == kmsg.InitProducerID || key == kmsg.AddOffsetsToTxn || key == kmsg.EndTxn // no entities below
	return b.Fake.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: err, Count: n, TopLevel: top})
}

// What a broker asks to be tried again is, and comes out once.
func TestAnswersThatAskForPatience(t *testing.T) {
	t.Parallel()
	type fault struct {
		key kmsg.Key
		err *kerr.Error
	}
	var faults []fault
	for _, key := range coordinator {
		for _, err := range []*kerr.Error{kerr.ConcurrentTransactions, kerr.NotCoordinator,
			kerr.CoordinatorLoadInProgress,
			kerr.CoordinatorNotAvailable} {
			faults = append(faults, fault{key, err})
		}
	}
	// The last two are answered though the records are written.
	for _, err := range []*kerr.Error{kerr.NotLeaderForPartition, kerr.LeaderNotAvailable, kerr.NotEnoughReplicas,
		kerr.KafkaStorageError, kerr.NotEnoughReplicasAfterAppend, kerr.RequestTimedOut} {
		faults = append(faults, fault{kmsg.Produce, err})
	}
	b := kafkatest.Fake(t)
	for _, f := range faults {
		t.Run(fmt.Sprint(f.key.Name(), " ", f.err.Message), func(t *testing.T) {
			topic := b.Topic(t, 1, nil)
			h := fail(b, f.key, f.err, 2)
			defer h.Remove()
			p := open(t, b.Conn.Client, topic)
			for i, v := range []string{"a", "b"} {
				if err := p.Commit(kafkatest.Context(t), one(topic, v, int64(i))); err != nil {
					t.Fatal(err)
				}
			}
			if h.Hits() < 2 {
				t.Errorf("%d faults were met, want 2", h.Hits())
			}
			wantValues(t, b, topic, "a", "b")
		})
	}
}

// What no other try can change is returned with its meaning, and nothing is
// committed.
func TestAnswersThatAreFinal(t *testing.T) {
	b := kafkatest.Fake(t)
	for _, f := range []struct {
		key  kmsg.Key
		err  *kerr.Error
		want error
	}{
		{kmsg.AddPartitionsToTxn, kerr.ProducerFenced, txn.ErrFenced},
		{kmsg.AddPartitionsToTxn, kerr.InvalidProducerEpoch, txn.ErrFenced},
		{kmsg.AddPartitionsToTxn, kerr.TopicAuthorizationFailed, txn.ErrUnauthorised},
		{kmsg.AddPartitionsToTxn, kerr.TransactionalIDAuthorizationFailed, txn.ErrUnauthorised},
		{kmsg.Produce, kerr.InvalidProducerEpoch, txn.ErrFenced},
		{kmsg.Produce, kerr.OutOfOrderSequenceNumber, txn.ErrFenced},
		{kmsg.Produce, kerr.MessageTooLarge, txn.ErrTooLarge},
		{kmsg.Produce, kerr.TopicAuthorizationFailed, txn.ErrUnauthorised},
		{kmsg.AddOffsetsToTxn, kerr.ProducerFenced, txn.ErrFenced},
		{kmsg.AddOffsetsToTxn, kerr.GroupAuthorizationFailed, txn.ErrUnauthorised},
		{kmsg.TxnOffsetCommit, kerr.IllegalGeneration, txn.ErrFenced},
		{kmsg.TxnOffsetCommit, kerr.UnknownMemberID, txn.ErrFenced},
		{kmsg.EndTxn, kerr.ProducerFenced, txn.ErrFenced},
		{kmsg.EndTxn, kerr.InvalidProducerEpoch, txn.ErrFenced},
	} {
		t.Run(fmt.Sprint(f.key.Name(), " ", f.err.Message), func(t *testing.T) {
			topic := b.Topic(t, 1, nil)
			p := open(t, b.Conn.Client, topic)
			h := fail(b, f.key, f.err, 1)
			defer h.Remove()
			err := p.Commit(kafkatest.Context(t), one(topic, "a", 1))
			if !errors.Is(err, f.want) || errors.Is(err, txn.ErrUnknownOutcome) {
				t.Errorf("%v, want %v", err, f.want)
			}
			h.Remove()
			open(t, b.Conn.Client, topic) // ends what a fenced producer could not
			wantValues(t, b, topic)
		})
	}
	t.Run("Open", func(t *testing.T) {
		defer fail(b, kmsg.InitProducerID, kerr.TransactionalIDAuthorizationFailed, 1).Remove()
		if _, err := txn.Open(kafkatest.Context(t), b.Conn.Client, "x", timeout); !errors.Is(err, txn.ErrUnauthorised) {
			t.Errorf("%v, want a right to be missing", err)
		}
	})
}

// A broker that has a batch from so long ago that it forgot its offset says so;
// the batch is there.
func TestDuplicateIsNoFailure(t *testing.T) {
	b := kafkatest.Fake(t)
	topic := b.Topic(t, 1, nil)
	defer fail(b, kmsg.Produce, kerr.DuplicateSequenceNumber, 1).Remove()
	if err := txn.Send(kafkatest.Context(t), b.Conn.Client, []txn.Record{{Topic: topic}}); err != nil {
		t.Error(err)
	}
}

// The coordinator answers NOT_COORDINATOR also when it has moved away while it
// was writing the commit down, which the new one may then carry out. If the
// context ends there, the outcome must be called unknown.
func TestEndThatFailsHalfWayIsUnknown(t *testing.T) {
	b := kafkatest.Fake(t)
	for _, f := range []struct {
		err     *kerr.Error
		unknown bool
	}{{kerr.NotCoordinator, true}, {kerr.CoordinatorNotAvailable, true}, {kerr.CoordinatorLoadInProgress, false},
		{kerr.ConcurrentTransactions, false}} {
		t.Run(f.err.Message, func(t *testing.T) {
			topic := b.Topic(t, 1, nil)
			p := open(t, b.Conn.Client, topic)
			h := b.Fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Err: f.err, Count: -1, TopLevel: true,
				When: func(q kmsg.Request) bool { return q.(*kmsg.EndTxnRequest).Commit }})
			defer h.Remove()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				_ = h.Wait(ctx, 2)
				cancel()
			}()
			err := p.Commit(ctx, one(topic, "a", 1))
			// The try during which the context ends may itself go unanswered.
			if err == nil || f.unknown && !errors.Is(err, txn.ErrUnknownOutcome) {
				t.Errorf("%v, want an unknown outcome: %v", err, f.unknown)
			}
		})
	}
}

// A worker that does what the documentation says (after any error: open again,
// read what is committed, go on from that) writes everything exactly once,
// whichever requests or answers are lost and wherever another worker gets in
// between.
func TestExactlyOnceUnderAnyFaults(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	rapid.Check(t, func(rt *rapid.T) {
		topic := b.Topic(t, 1, nil)
		client, m := meddle(b)
		trouble := rapid.SliceOfN(rapid.SampledFrom([]string{"", "", "", "request", "answer", "answer", "fence",
			"give up"}), 5, 30).Draw(rt, "trouble")
		var giveUp context.CancelFunc
		next := func() string {
			if len(trouble) == 0 {
				return ""
			}
			what := trouble[0]
			trouble = trouble[1:]
			return what
		}
		var what string
		m.set(func(k protocol.ApiKey) error {
			if !slices.Contains(steps, k) {
				return nil
			}
			switch what = next(); what {
			case "request":
				return io.ErrUnexpectedEOF
			case "fence":
				open(t, b.Conn.Client, topic)
			}
			return nil
		}, func(k protocol.ApiKey) error {
			if !slices.Contains(steps, k) {
				return nil
			}
			switch what {
			case "answer":
				return io.ErrUnexpectedEOF
			case "give up": // the request is answered, but nobody waits
				giveUp()
				return context.Canceled
			}
			return nil
		})
		const total = 5
		var want []string
		for i := range total {
			want = append(want, fmt.Sprint(i))
		}
		work := func() error {
			var ctx context.Context
			ctx, giveUp = context.WithTimeout(kafkatest.Context(t), 20*time.Second)
			defer giveUp()
			p, err := txn.Open(ctx, client, topic, timeout)
			if err != nil {
				return err
			}
			var have []string
			if _, err := b.Fetch(fetch.Options{}).ReadAll(kafkatest.Context(t), topic, 0,
				0, func(r *fetch.Record) error {
					have = append(have, string(r.Value))
					return nil
				}); err != nil {
				return err
			}
			if !slices.Equal(have, want[:min(len(have), total)]) {
				rt.Fatalf("committed %v, want the beginning of %v", have, want)
			}
			for i := len(have); i < total; i++ {
				if err := p.Commit(ctx, one(topic, want[i], int64(i))); err != nil {
					return err
				}
			}
			return nil
		}
		var err error
		for range 40 { // more than there is trouble
			if err = work(); err == nil {
				break
			}
		}
		if err != nil {
			rt.Fatal(err)
		}
		if got := b.ConsumeValues(t, topic, 0); !slices.Equal(got, want) {
			rt.Fatalf("committed %v, want %v", got, want)
		}
	})
}

// The same on a real broker that is killed while transactions are under way.
func TestExactlyOnceWhenTheBrokerIsKilled(t *testing.T) {
	t.Parallel()
	b := kafkatest.Own(t)
	topic := b.Topic(t, 1, nil)
	const total = 100
	var want []string
	for i := range total {
		want = append(want, fmt.Sprint(i))
	}
	halfway := make(chan struct{})
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		<-halfway
		b.Kill(t)
		b.Start(t)
	}()
	sessions := 0
	for done := false; !done; sessions++ {
		if sessions > 20 {
			t.Fatal("no end in sight")
		}
		ctx, cancel := context.WithCancel(kafkatest.Context(t))
		p, err := txn.Open(ctx, b.Conn.Client, topic, timeout)
		if err != nil {
			t.Fatal(err)
		}
		have := b.ConsumeValues(t, topic, 0)
		if !slices.Equal(have, want[:min(len(have), total)]) {
			t.Fatalf("committed %v, want the beginning of 0 to %d", have, total-1)
		}
		done = true
		for i := len(have); i < total; i++ {
			if i == total/2 && sessions == 0 {
				close(halfway)
			}
			if err := p.Commit(ctx, one(topic, want[i], int64(i))); err != nil {
				t.Logf("at %d: %v", i, err)
				done = false
				break
			}
		}
		cancel()
	}
	<-killed
	wantValues(t, b, topic, want...)
	t.Logf("%d sessions", sessions)
}
