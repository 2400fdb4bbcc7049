package codec

import (
	"bytes"
	"math"
	"strconv"
	"time"

	"github.com/louver/louver/stream/groupname"
)

// kind is a field's type, as far as the format knows it.
type kind uint8

const (
	none     kind = iota // missing
	other                // of a type that no part of an event has; those that follow have a text
	text                 // a string
	number               // a number, written as in JSON
	truth                // true or false: the name of a group, and nothing else
	cell                 // a text or a number, in a format without types
	exact                // the number n·10^exp; this kind and those that follow have no text
	binary64             // a number: the float64 whose bits are n; finite
	instant              // a time, n Unix nanoseconds
)

// field is a field of a record as its format found it.
type field struct {
	kind kind
	exp  int8
	n    int64
	text []byte
}

// fields are those of the roles, and then those of the conditions.
type fields [numFields]field

// rules make events from fields. All formats share them.
type rules struct {
	grid      Grid
	groups    groupNames
	maxFuture int64
	// These parts are not fields of the record's value.
	keyed, stamped, grouped bool
	open                    bool // any name is a group
	// missing says that the last record was rejected because a field is missing.
	missing bool
	clocked bool // the time is in two fields
	zone    *time.Location
	both    []byte    // the text of these two
	digits  [2][]byte // of the last user and group that were whole numbers
	bad     field     // the value, if the last record was rejected because of it
	last    minute
	where   []condition
	skip    Skip // why the last record was skipped
}

// Missing implements Decoder.
func (r *rules) Missing() bool { return r.missing }

// Doubt implements Decoder.
func (r *rules) Doubt() string {
	if r.bad.kind == text && mayBeDecimal(r.bad.text) {
		return causeDecimal
	}
	return ""
}

// Skipped implements Decoder.
func (r *rules) Skipped() Skip { return r.skip }

func newRules(s Spec) rules {
	return rules{
		grid: s.Grid, groups: newGroupNames(s.Groups), maxFuture: s.MaxFuture.Nanoseconds(),
		keyed: s.User == KeyField, stamped: s.Time == TimestampField, grouped: s.Group != "",
		open: s.Open, clocked: s.Clock != "", zone: s.Zone, where: newConditions(s.Where),
	}
}

// groupNames finds the index of a group. Few names are compared one by one, which is faster than a map. A name that is
// none of them as it is written may be one in its canonical form.
type groupNames struct {
	few       []string
	many      map[string]int
	canonical map[string]int
}

// fewGroups is the most names that are compared one by one.
const fewGroups = 8

func newGroupNames(names []string) groupNames {
	n := groupNames{canonical: make(map[string]int, len(names))}
	for i, name := range names {
		if form, err := groupname.Canonical([]byte(name)); err == nil {
			n.canonical[string(form)] = i
		}
	}
	if len(names) <= fewGroups {
		n.few = names
		return n
	}
	n.many = make(map[string]int, len(names))
	for i, name := range names {
		n.many[name] = i
	}
	return n
}

// quickly returns the index of a name that is one of the few as it is written, and otherwise a negative number. It is
// small enough to need no call.
func (n *groupNames) quickly(name []byte) int {
	for i, few := range n.few {
		if few == string(name) {
			return i
		}
	}
	return -1
}

// find returns the index of any other name.
func (n *groupNames) find(name []byte) (int, bool) {
	if i, ok := n.many[string(name)]; ok {
		return i, true
	}
	form, err := groupname.Canonical(name)
	if err != nil {
		return 0, false
	}
	i, ok := n.canonical[string(form)]
	return i, ok
}

// event makes the event of a record, if it meets the conditions.
func (r *rules) event(rec *Record, f *fields, e *Event) Reason {
	if len(r.where) > 0 && r.unmet(f) {
		return Unwanted
	}
	var ok bool
	r.missing = false
	if r.grid == nil {
		e.Value = 1
	} else if e.Value, ok = r.value(&f[roleValue]); !ok {
		r.missing, r.bad = f[roleValue].kind == none, f[roleValue]
		return BadValue
	}
	if r.keyed {
		e.User = rec.Key
	} else {
		e.User = name(&f[roleUser], &r.digits[0])
	}
	if len(e.User) == 0 {
		r.missing = !r.keyed && f[roleUser].kind == none
		return BadUser
	}
	// A record without its own timestamp could claim any time in the future.
	if rec.Time < 0 {
		return BadTime
	}
	e.Time = rec.Time
	if !r.stamped {
		at := &f[roleTime]
		if r.clocked {
			both := r.withClock(at, &f[roleClock])
			at = &both
		}
		if e.Time, ok = r.instant(at); !ok {
			r.missing = at.kind == none
			return BadTime
		}
	}
	e.Group = 0
	switch {
	case r.open:
		// The rule looks at this name only. Nothing says how a name is wrong: nobody may learn that it was sent.
		var err error
		if e.Name, err = groupname.Canonical(label(&f[roleGroup], &r.digits[1])); err != nil {
			r.missing = f[roleGroup].kind == none
			return BadGroup
		}
	case r.grouped:
		group := label(&f[roleGroup], &r.digits[1])
		e.Group, ok = r.groups.quickly(group), len(group) > 0 // an empty name counts as missing
		if ok && e.Group < 0 {
			e.Group, ok = r.groups.find(group)
		}
		if !ok {
			r.missing = f[roleGroup].kind == none
			return BadGroup
		}
	}
	if e.Time-rec.Time > r.maxFuture { // both are at least 0: no overflow
		return Future
	}
	return OK
}

// value places a field on the grid. Its text is a number, also in a string: so write it JSON's mapping of Protocol
// Buffers, for 64 bits, and Debezium, for decimals.
func (r *rules) value(f *field) (int64, bool) {
	var i int64
	var err error
	switch {
	case f.kind < text || f.kind == truth || f.kind == instant:
		return 0, false
	case f.kind < exact:
		i, err = r.grid.Parse(f.text)
	case f.kind == exact:
		i = r.grid.Decimal(f.n, int(f.exp))
	default:
		i, err = r.grid.Index(math.Float64frombits(uint64(f.n)))
	}
	return i, err == nil
}

// withClock is a date and a time of day, both of which are texts.
func (r *rules) withClock(date, clock *field) field {
	for _, f := range []*field{date, clock} {
		if f.kind != text && f.kind != cell {
			return field{kind: min(f.kind, other)}
		}
	}
	r.both = append(append(r.both[:0], bytes.TrimSpace(date.text)...), ' ')
	r.both = append(r.both, bytes.TrimSpace(clock.text)...)
	return field{kind: text, text: r.both}
}

// instant reads a field as a time, as [ParseTime] does.
func (r *rules) instant(f *field) (int64, bool) {
	if f.kind < text || f.kind == truth {
		return 0, false
	}
	if f.kind >= exact {
		return r.textless(f)
	}
	if ns, ok := r.last.parse(f.text); ok {
		return ns, true
	}
	if !calendrical(f.text) {
		return epoch(f.text)
	}
	c, ok := parseCalendar(f.text, r.zone)
	if ok {
		r.last.remember(f.text, c)
	}
	return c.ns, ok
}

// textless reads a field without a text as a time.
func (r *rules) textless(f *field) (int64, bool) {
	switch f.kind {
	case instant:
		return f.n, true
	case exact:
		return epochOf(f.n)
	}
	r.both = strconv.AppendFloat(r.both[:0], math.Float64frombits(uint64(f.n)), 'g', -1, 64)
	return epoch(r.both)
}

// name returns the text of a user or a group: a string, or an integer in decimal; empty if it is neither. An integer
// without a text is written into a buffer.
func name(f *field, digits *[]byte) []byte {
	if f.kind == text || f.kind == cell {
		return f.text
	}
	return numbered(f, digits)
}

// label is name of a group, which may also be true or false.
func label(f *field, digits *[]byte) []byte {
	if f.kind == truth {
		return f.text
	}
	return name(f, digits)
}

// numbered is name of a number.
func numbered(f *field, digits *[]byte) []byte {
	switch f.kind {
	case number:
		return integer(f.text)
	case exact:
		if f.exp == 0 {
			*digits = strconv.AppendInt((*digits)[:0], f.n, 10)
			return *digits
		}
	}
	return nil
}

// integer returns a number in JSON's notation if it is written as an integer, and otherwise nil. −0 is 0.
func integer(number []byte) []byte {
	digits := number
	if len(number) > 0 && number[0] == '-' {
		digits = number[1:]
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return nil
		}
	}
	if len(digits) == 1 && digits[0] == '0' {
		return digits
	}
	return number
}
