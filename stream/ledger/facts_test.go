package ledger_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/ledger"
)

// facts are the places of entries that do not follow from others.
const facts = `app budget cap.count cap.era charge.items[].rho discovery.error_95 discovery.found[].value
discovery.rules.always[] discovery.rules.keep discovery.rules.max discovery.rules.other discovery.rules.source
discovery.threshold discovery.tombstones[] due_at ended[].instance ended[].step ended[].stream epoch groups[].name
groups[].users groups[].values[].clip[] groups[].values[].error_95 groups[].values[].interval.high
groups[].values[].interval.level groups[].values[].interval.low groups[].values[].mechanism
groups[].values[].numbers.coarse[] groups[].values[].numbers.raw[] groups[].values[].outside.cut_95
groups[].values[].outside.error_95 groups[].values[].outside.outside_95 groups[].values[].outside.value
groups[].values[].p_high groups[].values[].p_low groups[].values[].quality groups[].values[].rank_error_95
groups[].values[].raw groups[].values[].smoothed.high groups[].values[].smoothed.low groups[].values[].smoothed.value
groups[].values[].value incomplete incomplete_in[] input limit.epsilon limit.order list.rules.keep list.rules.max
list.rules.source list.tombstones[] output price[].epsilon price[].rho price[].times prior.hash prior.upto released_at
releases[].buckets.lower releases[].delta releases[].epsilon releases[].mechanism releases[].name releases[].p
releases[].statistic releases[].unit steps[].alarm.excess_95 steps[].alarm.hold steps[].at_most steps[].cost[].epsilon
steps[].cost[].rho steps[].cost[].times steps[].definition steps[].last steps[].on_change.first[].epsilon
steps[].on_change.first[].rho steps[].on_change.first[].times steps[].on_change.release.epsilon
steps[].on_change.release.mechanism steps[].on_change.release.p steps[].on_change.release.statistic
steps[].on_change.release.unit steps[].on_change.values[].figure.band.basis steps[].on_change.values[].figure.quality
steps[].on_change.values[].figure.rank_error_95 steps[].on_change.values[].figure.value
steps[].so_far.figures[].epsilon steps[].so_far.figures[].mechanism steps[].so_far.figures[].name
steps[].so_far.figures[].p steps[].so_far.figures[].unit steps[].so_far.groups[].numbers[].coarse[]
steps[].so_far.groups[].numbers[].raw[] steps[].so_far.leaves steps[].so_far.longest steps[].so_far.max_total
steps[].so_far.most steps[].so_far.release.buckets.lower steps[].so_far.release.statistic steps[].so_far.release.unit
steps[].so_far.unit steps[].so_far.until steps[].so_far.update steps[].total.groups[].draws[] steps[].total.leaves
steps[].total.longest steps[].total.max_total steps[].total.most steps[].total.release.statistic
steps[].total.release.unit steps[].total.since steps[].total.unit steps[].total.until steps[].total.update stream
until window_end window_start`

// TestWhatIsNotNoticed changes each place of each entry in the golden ledgers, and derives the entry anew from its
// facts. Whatever else an entry says is then noticed. A new field is either a fact, and listed above, or derived.
func TestWhatIsNotNoticed(t *testing.T) {
	places := map[string]bool{}
	for _, name := range []string{"entries", "histogram_entries", "days_entries", "totals_entries", "found_entries",
		"turns_entries", "left_entries", "bands_entries", "order_entries", "so_far_entries"} {
		state, lines := ledger.NewState("louver", 0), linesOf(t, name+".jsonl")
		for i, line := range lines {
			for place, text := range changes(line) {
				e, err := ledger.Decode([]byte(text))
				if err != nil {
					continue // refused when it is read
				}
				from := state
				if place == "continues[]" { // an account continues what any entry said before, even one that was only derived
					from = ledger.NewState("louver", 0)
					for j, before := range lines[:i] {
						addLine(t, from, before, j)
					}
				}
				again, err := from.Derive(ledger.Facts(e))
				if err != nil {
					continue
				}
				derived, err := again.Encode()
				has, err2 := e.Encode()
				if err == nil && err2 == nil && bytes.Equal(derived, has) {
					places[place] = true
				}
			}
			addLine(t, state, line, i)
		}
	}
	if diff := cmp.Diff(strings.Fields(facts), slices.Sorted(maps.Keys(places))); diff != "" {
		t.Error(diff)
	}
}

func addLine(t *testing.T, s *ledger.State, line string, offset int) {
	t.Helper()
	e, err := ledger.Decode([]byte(line))
	if err == nil {
		err = s.Add(e, []byte(line), int64(offset))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// changes returns the line of an entry with one change in each of its places, by the place. The places in the elements
// of a list are one place.
func changes(line string) map[string]string {
	all := map[string]string{}
	var whole any
	read(line, &whole)
	var walk func(place string, value any, set func(any))
	walk = func(place string, value any, set func(any)) {
		switch x := value.(type) {
		case map[string]any:
			for name, v := range x {
				walk(strings.TrimPrefix(place+"."+name, "."), v, func(v any) { x[name] = v })
			}
		case []any:
			for i, v := range x {
				walk(place+"[]", v, func(v any) { x[i] = v })
			}
		default:
			set(another(value))
			text, _ := json.Marshal(whole)
			all[place] = string(text)
			set(value)
		}
	}
	walk("", whole, nil)
	return all
}

func read(text string, to any) {
	d := json.NewDecoder(bytes.NewBufferString(text))
	d.UseNumber()
	_ = d.Decode(to)
}

// another is another value of the same sort.
func another(value any) any {
	switch x := value.(type) {
	case bool:
		return !x
	case json.Number:
		n, _ := x.Int64()
		return n + 1
	case string:
		if at, err := time.Parse(time.RFC3339, x); err == nil {
			return at.Add(time.Second).Format(time.RFC3339)
		}
		if d, err := decimal.NewFromString(x); err == nil {
			return d.Add(decimal.New(1, d.Exponent())).String()
		}
		return x + "x"
	}
	return fmt.Sprint(value)
}
