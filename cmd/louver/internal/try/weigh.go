package try

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/cmd/louver/internal/feed"
)

// trial is what was tried, and the best of it.
type trial struct {
	draft  draft
	rows   [][]*cell // a row for each length of windows
	best   *cell     // of the rows
	worth  []float64 // which part of each figure about the values was useful, in the order of the draft's
	groups string    // a line about a column of groups that was not taken; "" for none
}

// whole is the draft without groups.
func (d draft) whole() draft {
	d.Groups, d.Columns.Group = nil, ""
	return d
}

// weigh tries plans, and decides about what was guessed. Guessed groups are taken if most of their figures are useful
// in the windows that are best without them, with any ε that protects people as well.
func (c *Command) weigh(ctx context.Context, d draft, e *events, sizes []time.Duration,
	epsilons []decimal.Decimal) (*trial, error) {
	if d.Columns.Group == "" || c.Group != "" {
		return d.best(ctx, e, sizes, epsilons)
	}
	found, err := d.whole().best(ctx, e, sizes, epsilons)
	if err != nil {
		return nil, err
	}
	rows, err := d.try(ctx, e, []time.Duration{found.best.window}, epsilons)
	if err != nil {
		return nil, err
	}
	most := 0.
	for _, grouped := range rows[0] {
		if grouped.care() < found.best.care() {
			break
		}
		if most = max(most, grouped.share()); grouped.most() {
			found, err = d.best(ctx, e, sizes, epsilons)
			if err == nil {
				found.groups = "  --no-group takes no groups: with more users in each, less ε or shorter windows may do.\n"
			}
			return found, err
		}
	}
	found.groups = fmt.Sprintf("  With the %d groups of column %s, at most %.0f %% would be useful in such windows. "+
		"--group %s takes them.\n", len(d.Groups), d.Columns.Group, 100*most, feed.Quoted(d.Columns.Group))
	return found, nil
}

// best tries plans and chooses one. Then it tries what this one can say of the values. Where no flag names
// a figure, it keeps the usual one unless most of its values are not useful, and most of another figure are.
func (d draft) best(ctx context.Context, e *events, sizes []time.Duration, epsilons []decimal.Decimal) (*trial, error) {
	rows, err := d.try(ctx, e, sizes, epsilons)
	if err != nil {
		return nil, err
	}
	best, abouts := choose(rows), d.abouts()
	d = d.sized(e, best.window)
	most := best.shareOf(abouts[0], d.Lower, d.Upper)
	found := &trial{draft: d, rows: rows, best: best, worth: []float64{most}}
	s, _, err := d.stream(best.plan)
	if err != nil {
		return nil, err
	}
	some, bags := e.windows(s)
	for _, a := range abouts[1:] {
		other := &cell{plan: best.plan}
		other.about = a
		if err := other.draw(ctx, d, some, bags); err != nil {
			return nil, err
		}
		share := other.shareOf(a, d.Lower, d.Upper)
		found.worth = append(found.worth, share)
		if d.Figure == a.String() || d.Figure == "" && most < enough && share >= enough && share > most {
			found.best, most = other, share
		}
	}
	for _, row := range rows {
		if i := slices.Index(row, best); i >= 0 {
			row[i] = found.best
		}
	}
	return found, nil
}
