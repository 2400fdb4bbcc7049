package service

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/log"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// expected describes the figures that streams will publish, before there are any. Where groups are found nobody knows
// which ones there will be, so only those figures are described that are of no group: discoveries, and whether watches
// are armed.
func expected(streams []*config.Stream, now time.Time) (all []outputs.Record) {
	none := json.Number("0")
	for _, s := range streams {
		b := s.Budget
		left := budget.NewAccount(b.Limit).WindowsLeft(s.Name, s.Cap(0), s.Price(), now.UnixNano())
		for _, f := range s.Figures {
			groups := s.Groups
			if s.Found != nil && config.Kinds[f.Kind()].Whole {
				groups = []string{""}
			}
			for _, r := range f.Series() {
				for _, g := range groups {
					e := outputs.Record{Stream: s.Name, Group: g, Release: r.Name, Statistic: r.Statistic,
						Mechanism: r.Mechanism, Unit: r.Unit, StreamSpent: &none, Budget: b.Name, BudgetSpent: &none,
						BudgetLimit: json.Number(b.Epsilon.String()), BudgetLeft: left,
						LossFields: &record.LossFields{StreamLost: &none, BudgetLost: &none}}
					if r.P != nil {
						e.P = new(json.Number(r.P.String()))
					}
					all = append(all, e)
				}
			}
		}
	}
	return all
}

// restore sets the gauges from the newest ledger entry of each stream. The output topics may no longer hold it, because
// their retention is the user's choice. Streams without an entry show zeros only after that: before, zero could also
// mean that nothing was read yet.
func restore(ctx context.Context, reader *outputs.Reader, app string, streams []*config.Stream,
	gauges *outputs.Gauges, now func() time.Time) error {
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
	topic := topics.Names{App: app}.Ledger()
	if err := reader.Await(ctx, topic); err != nil {
		return err
	}
	run, ctx := errgroup.WithContext(ctx)
	for partition, names := range wanted {
		run.Go(func() error {
			newest := map[string]ledger.Entry{}
			found := map[string]ledger.Entry{} // the newest discovery of each row
			of := log.Partition{Topic: topic, Number: partition}
			err := of.Tail(ctx, reader.Fetch, func(e ledger.Entry, _ *fetch.Record) error {
				if !names[e.Stream] {
					return nil
				}
				if e.Discovery != nil { // a window comes soon enough
					found[e.Stream+"/"+e.Lane] = e
					return nil
				}
				if !e.WindowEnd.Before(newest[e.Stream].WindowEnd) {
					newest[e.Stream] = e
				}
				return nil
			}, func() bool {
				for name := range names {
					if _, known := newest[name]; !known {
						return false
					}
				}
				return true
			})
			if err != nil {
				return err
			}
			for _, e := range slices.Concat(slices.Collect(maps.Values(found)), slices.Collect(maps.Values(newest))) {
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
	gauges.Expect(expected(streams, now()))
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
		if out.Value == nil { // it ends a series
			continue
		}
		r, _, err := outputs.Decode(out.Value)
		if err != nil {
			return err
		}
		gauges.Update(r)
	}
	return nil
}
