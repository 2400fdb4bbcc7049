package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
)

// Payments reads from the ledger which streams a budget has paid for, and which topics they read.
func Payments(ctx context.Context, client *fetch.Client, names topics.Names, budget string) ([]control.Payment, error) {
	partition := topics.Place(budget, topics.Partitions)
	type reader struct{ stream, topic string }
	at := map[reader]int{}
	var all []control.Payment
	_, err := client.ReadAll(ctx, names.Ledger(), partition, 0, func(r *fetch.Record) error {
		e, err := ledger.Decode(r.Value)
		if err != nil {
			return fmt.Errorf("%s/%d at offset %d: %w", names.Ledger(), partition, r.Offset, err)
		}
		if e.Budget != budget {
			return nil
		}
		by := reader{e.Stream, e.Input}
		i, seen := at[by]
		if !seen {
			i, at[by] = len(all), len(all)
			all = append(all, control.Payment{Stream: e.Stream, Topic: e.Input})
		}
		if e.WindowEnd.After(all[i].Last) {
			all[i].Last = e.WindowEnd
		}
		return nil
	})
	if damaged := (*fetch.BatchError)(nil); errors.As(err, &damaged) {
		err = fmt.Errorf("%w: %w", ledger.ErrUnreadable, err)
	}
	return all, err
}
