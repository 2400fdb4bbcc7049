package stage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/ledger"
)

// TransactionTimeout is when a broker aborts the transaction of a silent worker.
const TransactionTimeout = 30 * time.Second

// calm is how long a worker has to run without an error before the next error counts as the first again.
const calm = time.Minute

// supervise runs the worker of a partition until ctx ends. It restarts the worker after every error except a final one,
// which it returns. Before a restart it makes sure that this process still owns the partition: otherwise two living
// workers would keep fencing each other.
func (r *running) supervise(ctx context.Context, at Partition) error {
	wait := kafkaconn.NewBackOff()
	again := r.env.Monitor.Retrying(fmt.Sprintf("%s/%d keeps failing and restarting from the last commit", at.Topic,
		at.Number),
		fmt.Sprintf("%s/%d works again", at.Topic, at.Number))
	denied := func(error) {} // all workers that lack the same right share a line
	for first := true; ; first = false {
		began := time.Now()
		lacked := denied
		settled := time.AfterFunc(calm, func() { again(nil); lacked(nil) })
		var err error
		if !first {
			err = r.membership.Confirm(ctx)
		}
		if err == nil {
			err = r.work(ctx, at, &r.membership)
		}
		settled.Stop()
		if ctx.Err() != nil {
			return nil
		}
		if Final(err) {
			return err
		}
		if errors.Is(err, txn.ErrFenced) || errors.Is(err, txn.ErrUnknownOutcome) {
			r.env.Metrics.AbortedTxns.Inc()
		}
		r.env.Log.Debug("restarting from the last commit", zap.String("topic", at.Topic),
			zap.Int("partition", at.Number), zap.Error(err))
		if right := kafkaconn.Missing(err); right != "" {
			denied = r.env.Monitor.Retrying("partitions keep failing without the right "+right,
				"partitions work again with the right "+right)
			denied(err)
		} else {
			again(err)
		}
		if time.Since(began) > calm {
			wait.Reset()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait.NextBackOff()):
		}
	}
}

// Final reports whether an error ends the process: a privacy stop, or a configuration that does not fit. All other
// errors lead to a retry, for ever.
func Final(err error) bool {
	return errors.Is(err, ledger.ErrUnreadable) || errors.Is(err, control.ErrForgotten) ||
		errors.Is(err, topics.ErrUnfit)
}

// running is the set of workers of a stage.
type running struct {
	env        Env
	group      string
	work       Worker
	membership Membership
	workers    map[Partition]*worker
	fail       context.CancelCauseFunc
}

type worker struct {
	stop context.CancelFunc
	done sync.WaitGroup
}

// keep stops the workers of all other partitions and waits for them.
func (r *running) keep(assigned map[Partition]bool) {
	leaving := map[Partition]*worker{}
	for p, w := range r.workers {
		if !assigned[p] {
			w.stop()
			leaving[p] = w
			delete(r.workers, p)
		}
	}
	for p, w := range leaving {
		w.done.Wait()
		r.env.noLag(r.group, p)
		r.env.Health.Gone(p)
	}
}

func (r *running) start(ctx context.Context, assigned map[Partition]bool) {
	for p := range assigned {
		if r.workers[p] != nil {
			continue
		}
		ctx, stop := context.WithCancel(ctx)
		w := &worker{stop: stop}
		r.workers[p] = w
		r.env.Health.Assigned(p)
		w.done.Go(func() {
			if err := r.supervise(ctx, p); err != nil {
				r.fail(err)
			}
		})
	}
}
