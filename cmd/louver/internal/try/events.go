package try

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/cmd/louver/internal/feed"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/replay"
	"github.com/louver/louver/windows"
)

const (
	// mostEvents is how many events are kept, 40 bytes each. Of a longer file only the beginning is tried.
	mostEvents = 4_000_000
	// mostGroups is the most groups. A column with more values is unlikely to hold groups.
	mostGroups = 100
	// mostPlaces is how many digits behind the point are kept.
	mostPlaces = 9
)

// event is what counts of a row.
type event struct {
	user  windows.UserHash
	time  int64 // Unix nanoseconds
	value int64 // in units of events.unit; after encode, the index of a point of the grid; 1 where events are counted
	group int32 // ungrouped: the row has no group that could be used
}

const ungrouped = -1

// errSkipped says that no row meets the conditions.
var errSkipped = errors.New("all rows are skipped")

// events are those of a file.
type events struct {
	all         []event
	unit        int32           // value = number · 10^unit
	offset      decimal.Decimal // of the grid that values are read by
	users       map[windows.UserHash]struct{}
	groups      []string
	first, last int64
	unnamed     int // of all, those that are ungrouped
	left        int // rows that a stream would reject
	skipped     int // rows that do not meet the conditions
	why         string
	cut         bool // the file is longer
	times       replay.Times
	hasher      *windows.Hasher
}

// read reads the events of a file once, as a stream would. If the groups are a guess, rows without one are kept, and a
// column of too many is given up.
func read(ctx context.Context, name string, in io.Reader, columns replay.Columns, options replay.Options,
	places int, guessed bool) (*events, error) {
	e := &events{users: map[windows.UserHash]struct{}{}, first: math.MaxInt64}
	spec := codec.Spec{Format: "json", User: columns.User, Value: columns.Value, Time: columns.Time,
		MaxFuture: config.DefaultMaxFuture}
	if columns.Value != "" {
		// The bounds are not known yet. This grid holds every number with its digits, up to 10^15 of the last.
		e.unit = -int32(min(places, mostPlaces))
		e.offset = decimal.New(1, 15+e.unit)
		grid, err := mechanisms.NewGrid(e.offset.Neg(), e.offset, decimal.New(1, e.unit))
		if err != nil {
			return nil, err
		}
		spec.Grid = grid
	}
	plain, err := codec.New(spec)
	if err != nil {
		return nil, err
	}
	spec.Group, spec.Open = columns.Group, columns.Group != ""
	decoder, err := codec.New(spec)
	if err != nil {
		return nil, err
	}
	file, err := replay.New(name, in, columns, options)
	if err != nil {
		return nil, feed.FileError(err)
	}
	var key [16]byte
	if _, err := rand.Read(key[:]); err != nil {
		return nil, err
	}
	e.hasher = windows.NewHasher(key)
	index, now := map[string]int32{}, time.Now().UnixNano()
	for r, err := range file.Records(ctx) {
		if err != nil {
			return nil, feed.FileError(err)
		}
		if e.cut = len(e.all) == mostEvents; e.cut {
			break
		}
		var x codec.Event
		record, bare := codec.Record{Value: r.Value, Time: now}, false
		reason := decoder.Decode(record, &x)
		if bare = reason == codec.BadGroup && guessed; bare {
			reason = plain.Decode(record, &x)
		}
		if reason != codec.OK {
			e.reject(1, r.Line, feed.Meaning(reason, columns))
			continue
		}
		group, known := index[string(x.Name)]
		switch {
		case bare:
			group = ungrouped
			e.unnamed++
		case !known && len(index) == mostGroups && guessed:
			decoder, index, e.groups = plain, map[string]int32{"": 0}, nil
			group = 0
		case !known && len(index) == mostGroups:
			return nil, feed.FileError(fmt.Errorf("%s:%d: group %q has more than %d different values; want a column "+
				"with fewer", name, r.Line, columns.Group, mostGroups))
		case !known:
			group = int32(len(index))
			index[string(x.Name)] = group
			e.groups = append(e.groups, string(x.Name))
		}
		user := e.hasher.User(x.User)
		e.users[user] = struct{}{}
		e.first, e.last = min(e.first, x.Time), max(e.last, x.Time)
		e.all = append(e.all, event{user: user, time: x.Time, value: x.Value, group: group})
	}
	e.times = file.Times()
	if n := e.times.Untimed; n.Count > 0 {
		e.reject(n.Count, n.First, feed.Meaning(codec.BadTime, columns))
	}
	if e.skipped = file.Skipped(); e.skipped > 0 && len(e.all)+e.left == 0 {
		return nil, errSkipped
	}
	if len(e.all) == 0 {
		return nil, feed.FileError(fmt.Errorf("%s: no row can be used: %s; want other columns", name, e.why))
	}
	if spec.Group == "" {
		e.groups = nil
	}
	return e, nil
}

// reject notes rows that a stream would reject.
func (e *events) reject(count, line int, why string) {
	if e.left += count; e.why == "" {
		e.why = fmt.Sprintf("first on line %d: %s", line, why)
	}
}

// number is a value's number.
func (e *events) number(value int64) decimal.Decimal { return decimal.New(value, e.unit).Sub(e.offset) }

// encode replaces the values by points of the grid.
func (e *events) encode(grid *mechanisms.Grid) error {
	half := e.offset.Shift(-e.unit).IntPart()
	var text []byte
	for i := range e.all {
		text = strconv.AppendInt(text[:0], e.all[i].value-half, 10)
		text = strconv.AppendInt(append(text, 'e'), int64(e.unit), 10)
		point, err := grid.Parse(text)
		if err != nil {
			return fmt.Errorf("value: %w", err)
		}
		e.all[i].value = point
	}
	return nil
}

// sample returns some of the values, spread over the file.
func (e *events) sample() (some []int64) {
	const kept = 100_000
	stride := (len(e.all)-1)/kept + 1
	for i := 0; i < len(e.all); i += stride {
		some = append(some, e.all[i].value)
	}
	return some
}

// numbers returns how many events each user has in each window of that size that starts at a multiple of it, by groups
// or in all.
func (e *events) numbers(size time.Duration, byGroup bool) (all []int64) {
	type of struct {
		user   windows.UserHash
		window int64
		group  int32
	}
	at := map[of]int{}
	for i := range e.all {
		x := of{e.all[i].user, e.all[i].time / int64(size), 0}
		if byGroup {
			if x.group = e.all[i].group; x.group == ungrouped {
				continue
			}
		}
		k, known := at[x]
		if !known {
			k = len(all)
			at[x], all = k, append(all, 0)
		}
		all[k]++
	}
	return all
}

// bounds chooses bounds and a step by some values, apart from those that flags give, and what counts as high. At most
// one value in a hundred is beyond either bound, and there are up to 100,000 steps.
func (e *events) bounds(sample []int64, lower, upper *decimal.Decimal) (low, high, step, above decimal.Decimal) {
	slices.Sort(sample)
	at := func(p float64) decimal.Decimal { return e.number(sample[int(p*float64(len(sample)-1))]) }
	if low = at(0); low.IsNegative() {
		low = round(at(0.01).Neg()).Neg()
	} else {
		low = decimal.Zero
	}
	high = round(at(0.99))
	if lower != nil {
		low = *lower
	}
	if upper != nil {
		high = *upper
	}
	finest := decimal.New(1, e.unit)
	if !high.GreaterThan(low) && upper == nil {
		high = low.Add(finest.Shift(1))
	}
	step = finest
	fits := func(step decimal.Decimal) bool {
		width := high.Sub(low)
		return width.GreaterThanOrEqual(step.Shift(4)) && width.Mod(step).IsZero()
	}
	for fits(step.Shift(1)) {
		step = step.Shift(1)
	}
	if above = round(at(0.75)); above.LessThan(low) || above.GreaterThanOrEqual(high) {
		above = at(0.5)
	}
	above = decimal.Min(decimal.Max(above, low), high.Sub(step))
	return low, high, step, above
}

// round returns the least of 1, 2 and 5 times a power of ten that is no less than a number, or 0 for one below 0.
func round(x decimal.Decimal) decimal.Decimal {
	if !x.IsPositive() {
		return decimal.Zero
	}
	for power := decimal.New(1, int32(x.NumDigits())+x.Exponent()-1); ; power = power.Shift(1) {
		for _, n := range []int64{1, 2, 5} {
			if y := power.Mul(decimal.NewFromInt(n)); y.GreaterThanOrEqual(x) {
				return y
			}
		}
	}
}
