package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
)

// Charged reports whether any window was ever charged to a budget, according to the ledger: see [control.Charged]. An
// entry that cannot be read is an error.
func Charged(ctx context.Context, client *fetch.Client, names topics.Names, budget string) (charged bool, err error) {
	partition := topics.Place(budget, topics.Partitions)
	_, err = client.ReadAll(ctx, names.Ledger(), partition, 0, func(r *fetch.Record) error {
		e, err := ledger.Decode(r.Value)
		if err != nil {
			return fmt.Errorf("%s/%d at offset %d: %w", names.Ledger(), partition, r.Offset, err)
		}
		charged = charged || e.Budget == budget
		return nil
	})
	if damaged := (*fetch.BatchError)(nil); errors.As(err, &damaged) {
		err = fmt.Errorf("%w: %w", ledger.ErrUnreadable, err)
	}
	return charged, err
}
