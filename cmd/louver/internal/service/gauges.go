package service

import (
	"context"
	"encoding/json"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/outputs"
)

// expected describes the figures that streams will publish, before there are any.
func expected(streams []*config.Stream, now time.Time) (all []outputs.Record) {
	none := json.Number("0")
	for _, s := range streams {
		b := s.Budget
		left := budget.NewAccount(budget.Limit{Epsilon: b.Epsilon, Delta: b.Delta, Per: b.Per}).WindowsLeftUnder(s.Name,
			s.Cap(0), s.Price(), now.UnixNano())
		for _, g := range s.Groups {
			for _, r := range s.Series() {
				e := outputs.Record{Stream: s.Name, Group: g, Release: r.Name, Statistic: r.Statistic, Mechanism: r.Mechanism,
					Unit:        r.Unit,
					StreamSpent: &none, Budget: b.Name, BudgetSpent: &none, BudgetLimit: json.Number(b.Epsilon.String()),
					BudgetLeft: left}
				if r.P != nil {
					p := json.Number(r.P.String())
					e.P = &p
				}
				all = append(all, e)
			}
		}
	}
	return all
}

// restore sets the gauges from the newest ledger entry of each stream. The output topics may no longer hold it, because
// their retention is the user's choice. Streams without an entry show zeros only after that: before, zero could also
// mean that nothing was read yet.
func restore(ctx context.Context, reader *outputs.Reader, app string, streams []*config.Stream,
	gauges *outputs.Gauges) error {
	wanted := map[int]map[string]bool{} // the streams by the partition that their budget is or was in
	for _, s := range streams {
		for _, b := range []string{s.Budget.Name, s.Continues} {
			if b == "" {
				continue
			}
			at := topics.Place(b, topics.Partitions)
			if wanted[at] == nil {
				wanted[at] = map[string]bool{}
			}
			wanted[at][s.Name] = true
		}
	}
	run, ctx := errgroup.WithContext(ctx)
	for partition, names := range wanted {
		run.Go(func() error {
			newest := map[string]ledger.Entry{}
			err := reader.Tail(ctx, topics.Names{App: app}.Ledger(), partition, func(m outputs.Message) error {
				e, err := ledger.Decode(m.Value)
				if err == nil && names[e.Stream] && !e.WindowEnd.Before(newest[e.Stream].WindowEnd) {
					newest[e.Stream] = e
				}
				return err
			}, func() bool { return len(newest) == len(names) })
			if err != nil {
				return err
			}
			for _, e := range newest {
				if err := showEntry(gauges, e); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := run.Wait(); err != nil {
		return err
	}
	gauges.Expect(expected(streams, time.Now()))
	return nil
}

// paying says of each budget whether it pays for the schedules of the streams.
func paying(streams []*config.Stream, now time.Time) map[string]bool {
	file, pays := config.File{Streams: streams}, map[string]bool{}
	for _, s := range streams {
		if _, known := pays[s.Budget.Name]; !known {
			pays[s.Budget.Name] = file.Payer(s.Budget, now).Runway().Pays
		}
	}
	return pays
}

// showEntry updates the gauges from an entry.
func showEntry(gauges *outputs.Gauges, e ledger.Entry) error {
	records, err := e.Records()
	if err != nil {
		return err
	}
	for _, out := range records {
		r, _, err := outputs.Decode(out.Value)
		if err != nil {
			return err
		}
		gauges.Update(r)
	}
	return nil
}
