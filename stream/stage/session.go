package stage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"go.uber.org/zap"

	"github.com/louver/louver/stream/kafkaconn"
	"github.com/louver/louver/stream/txn"
)

// TransactionTimeout is after how long a broker aborts the transaction of a worker that has fallen silent.
const TransactionTimeout = 30 * time.Second

// Sessions runs session again and again until ctx ends. A session that was fenced, does not know the outcome of its
// transaction or lost the broker is followed by another, which begins at what is committed; any other error is final.
func Sessions(ctx context.Context, env Env, at Partition, session func(context.Context) error) error {
	wait := kafkaconn.NewBackOff()
	again := env.Monitor.Retrying(fmt.Sprintf("%s/%d begins again and again at what is committed", at.Topic, at.Number),
		fmt.Sprintf("%s/%d goes on", at.Topic, at.Number))
	for {
		began := time.Now()
		settled := time.AfterFunc(time.Minute, func() { again(nil) })
		err := session(ctx)
		settled.Stop()
		if ctx.Err() != nil {
			return nil
		}
		if !passes(err) {
			return err
		}
		env.Metrics.AbortedTxns.Inc()
		env.Log.Debug("begin again at what is committed", zap.String("topic", at.Topic), zap.Int("partition", at.Number), zap.Error(err))
		again(err)
		if time.Since(began) > time.Minute {
			wait.Reset()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait.NextBackOff()):
		}
	}
}

// passes says that another session may succeed. What a broker answers may pass, but for a right that is missing.
func passes(err error) bool {
	var code kafka.Error
	return errors.Is(err, txn.ErrFenced) || errors.Is(err, txn.ErrUnknownOutcome) || kafkaconn.Retriable(err) ||
		errors.As(err, &code) && !kafkaconn.Unauthorised(err) && !kafkaconn.Refused(err)
}
