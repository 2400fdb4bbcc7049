package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

// ErrUnreadable marks an entry that cannot be read or contradicts itself. While its charge is unknown nothing may be
// released, so it leads to a privacy stop.
var ErrUnreadable = errors.New("ledger entry unreadable")

// ErrVersion marks an entry of another version than this program reads and writes. It comes with [ErrUnreadable].
var ErrVersion = errors.New("format version")

// version is the version of entries and of checkpoints. Raise it if a reader of this version would misread the form of
// all entries.
//
// What comes later needs no new version. A field that a reader may ignore without misreading a charge, a decision or a
// record is just added, and is optional. What a reader must not ignore comes with a kind of its own: an entry names the
// kinds of figures that it has, and a program refuses an entry with a kind that it does not know. A field that changes
// what an existing kind means is named like a kind too. Each kind has one row, in [named] or in [kinds].
//
// Versions 1 to 4 were those of development builds, before the first release. They are refused.
const version = 5

// named are the kinds of figures that are not continual, and of what is added up. Continual ones are in [kinds].
var named = []struct {
	kind string
	has  func(e Entry) bool
}{
	{"discovery", func(e Entry) bool { return e.Discovery != nil }},
	{"release", windowHas(func(r record.Series) bool { return r.From == "" })},
	{"computed", windowHas(func(r record.Series) bool { return r.From != "" })},
	{"last", windowHas(func(r record.Series) bool { return len(r.Last) > 0 })},
	{"together", func(e Entry) bool { return e.Together != nil }},
	{"objective", windowHas(func(r record.Series) bool { return len(r.Over) > 0 })},
}

func windowHas(of func(record.Series) bool) func(Entry) bool {
	return func(e Entry) bool { return e.Discovery == nil && slices.ContainsFunc(e.Releases, of) }
}

// kinds names the kinds of figures that the entry has.
func (e Entry) kinds() []string {
	all := []string{}
	for _, row := range named {
		if row.has(e) {
			all = append(all, row.kind)
		}
	}
	for _, row := range kinds {
		if slices.ContainsFunc(e.Continual, func(s Continual) bool { return row.of(s) != nil }) {
			all = append(all, row.name)
		}
	}
	return all
}

// known reports whether this program knows a kind.
func known(kind string) bool {
	for _, row := range named {
		if row.kind == kind {
			return true
		}
	}
	return slices.ContainsFunc(kinds, func(row kindRow) bool { return row.name == kind })
}

// stored is the form of an entry in the ledger. Decimals are text, times RFC 3339 in whole seconds.
type stored struct {
	Version     int            `json:"v"`
	Kinds       []string       `json:"kinds"`
	WindowStart record.Second  `json:"window_start"`
	WindowEnd   record.Second  `json:"window_end"`
	DueAt       record.Second  `json:"due_at"`
	ReleasedAt  record.Second  `json:"released_at"`
	Every       string         `json:"every"`
	Until       *record.Second `json:"until,omitempty"`
	// Charge is the amount that was charged. If the window is withheld, it is all zero, and Price is what it would have
	// cost.
	Status string        `json:"status"`
	Charge storedCharge  `json:"charge"`
	Price  []budget.Item `json:"price,omitempty"`
	Entry
}

type storedCharge struct {
	Epsilon decimal.Decimal `json:"epsilon"`
	Delta   decimal.Decimal `json:"delta"`
	Items   []budget.Item   `json:"items,omitempty"`
}

// Key is the key of the entry's ledger record: a budget's entries are all in one partition.
func (e Entry) Key() []byte { return []byte(e.Budget) }

// Encode writes the entry as one ledger record's value. It refuses an entry that [Decode] would refuse.
func (e Entry) Encode() ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	s, err := e.stored()
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

func (e Entry) stored() (stored, error) {
	price, err := budget.Canonical(e.Price)
	if err != nil {
		return stored{}, fmt.Errorf("%s: %w", e.Name(), err)
	}
	charge, err := e.Charge()
	if err != nil {
		return stored{}, err
	}
	s := stored{
		Version: version, Kinds: e.kinds(), Entry: e, Status: record.OK,
		WindowStart: record.Whole(e.WindowStart), WindowEnd: record.Whole(e.WindowEnd),
		DueAt: record.Whole(e.DueAt), ReleasedAt: record.Whole(e.ReleasedAt), Every: budget.FormatPer(e.Every),
		Charge: storedCharge{charge.Epsilon, charge.Delta, price},
	}
	if !e.Until.IsZero() {
		until := record.Whole(e.Until)
		s.Until = &until
	}
	if e.Reason != "" {
		s.Status, s.Price, s.Charge.Items = record.Withheld, price, nil
	}
	return s, nil
}

// Decode reads what Encode wrote. Every error is an [ErrUnreadable].
func Decode(value []byte) (Entry, error) {
	e, err := decode(value)
	if err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return e, nil
}

func decode(value []byte) (Entry, error) {
	var s stored
	// The version and the kinds are read even if another release wrote fields of other types.
	err := json.Unmarshal(value, &s)
	if err != nil && s.Version == 0 {
		return Entry{}, err
	}
	if err := checkVersion(s.Version); err != nil {
		return Entry{}, err
	}
	if at := slices.IndexFunc(s.Kinds, func(kind string) bool { return !known(kind) }); at >= 0 {
		return Entry{}, fmt.Errorf("%w %d with figures of the kind %q, which this release of louver does not "+
			"know: run the release that wrote it, or a later one", ErrVersion, version, s.Kinds[at])
	}
	if err != nil {
		return Entry{}, err
	}
	e, err := s.entry()
	if err != nil {
		return Entry{}, err
	}
	if err := e.check(); err != nil {
		return Entry{}, err
	}
	if has := e.kinds(); !slices.Equal(s.Kinds, has) {
		return Entry{}, fmt.Errorf("%s: it names the kinds %q, and has %q", e.Name(), s.Kinds, has)
	}
	charge, err := e.Charge()
	if err != nil {
		return Entry{}, err
	}
	if !charge.Epsilon.Equal(s.Charge.Epsilon) || !charge.Delta.Equal(s.Charge.Delta) {
		return Entry{}, fmt.Errorf("%s: charges epsilon %s and delta %s, its items %s and %s",
			e.Name(), s.Charge.Epsilon, s.Charge.Delta, charge.Epsilon, charge.Delta)
	}
	return e, nil
}

// entry converts the stored form, without checks.
func (s stored) entry() (Entry, error) {
	e := s.Entry
	e.WindowStart, e.WindowEnd = s.WindowStart.UTC(), s.WindowEnd.UTC()
	e.DueAt, e.ReleasedAt = s.DueAt.UTC(), s.ReleasedAt.UTC()
	if s.Until != nil {
		e.Until = s.Until.UTC()
	}
	var err error
	if e.Every, err = time.ParseDuration(s.Every); err != nil {
		return Entry{}, fmt.Errorf("%s: every: %w", e.Name(), err)
	}
	switch {
	case s.Status == record.OK && s.Reason == "" && len(s.Price) == 0:
		e.Price = s.Charge.Items
	case s.Status == record.Withheld && s.Reason == record.BudgetExhausted && len(s.Charge.Items) == 0:
		e.Price = s.Price
	default:
		return Entry{}, fmt.Errorf("%s: status %q with reason %q does not go with its charge and price",
			e.Name(), s.Status, s.Reason)
	}
	return e, nil
}

// checkVersion returns an [ErrVersion] that says what to do about another version than ours.
func checkVersion(v int) error {
	switch {
	case v == version:
		return nil
	case v == 0:
		return fmt.Errorf("%w missing, want %d", ErrVersion, version)
	case v > version:
		return fmt.Errorf("%w %d, want %d: run the release of louver that wrote it, or a later one", ErrVersion, v,
			version)
	}
	return fmt.Errorf("%w %d, want %d: a development build of louver wrote it; go on with that build, or choose another "+
		"app id, whose budgets are fresh and do not count what was charged here", ErrVersion, v, version)
}

// check returns an error for an entry that contradicts itself, or that Louver never writes.
func (e Entry) check() error {
	if err := e.checkWindow(); err != nil {
		return err
	}
	fail := e.fail
	if e.Discovery != nil {
		if err := e.checkDiscovery(); err != nil {
			return fail("%w", err)
		}
		return nil
	}
	if e.Lane != "" {
		return fail("row %q, which is no discovery: it was written by a later release of louver", e.Lane)
	}
	if err := e.checkList(); err != nil {
		return fail("%w", err)
	}
	if e.unlisted() {
		if len(e.Price)+len(e.Releases)+len(e.Continual) > 0 || e.Reason != "" {
			return fail("%d items in the price, %d releases and reason %q, but no groups; want none of "+
				"these without groups", len(e.Price), len(e.Releases), e.Reason)
		}
		return nil
	}
	if (len(e.Price) == 0) != (len(e.Releases) == 0) || len(e.Price) == 0 && !e.Publishes() || len(e.Groups) == 0 {
		return fail("%d items in the price, %d releases and %d groups; want at least one each, or a release on change "+
			"or a total", len(e.Price), len(e.Releases), len(e.Groups))
	}
	if err := errors.Join(e.checkSteps(), e.checkHistograms(), e.checkPeriods(), e.checkRollups(),
		e.checkTogether(), e.checkObjectives()); err != nil {
		return fail("%w", err)
	}
	for _, g := range e.Groups {
		if want := len(e.Releases); e.Reason == "" && len(g.Values) != want || e.Reason != "" && len(g.Values) != 0 {
			return fail("group %q has %d values of %d releases in a window with reason %q",
				g.Name, len(g.Values), want, e.Reason)
		}
		if g.Reason != "" && (g.Reason != record.TooFewUsers || e.Reason != "") {
			return fail("group %q has the reason %q in a window with reason %q", g.Name, g.Reason, e.Reason)
		}
		for i, v := range g.Values {
			if v.Value == nil && g.Reason == "" {
				return fail("group %q has no value of %q, and no reason", g.Name, e.Releases[i].Name)
			}
			if err := v.check(); err != nil {
				return fail("%q of group %q: %w", e.Releases[i].Name, g.Name, err)
			}
		}
	}
	return nil
}

// checkPeriods checks the local days of roll-ups.
func (e Entry) checkPeriods() error {
	for _, p := range e.Periods {
		if err := p.check(e.Releases, e.WindowStart, e.WindowEnd, e.Every); err != nil {
			return err
		}
	}
	return nil
}

// checkWindow checks an entry apart from its groups and continual figures: as the books keep the last one of each
// stream.
func (e Entry) checkWindow() error {
	fail := e.fail
	switch {
	case e.Stream == "" || e.Budget == "" || e.Output == "":
		return fail("budget %q and output topic %q; want a stream, a budget and a topic", e.Budget, e.Output)
	case e.OutputFormat != "" && e.OutputFormat != record.FormatAvro:
		return fail("output records as %q; want avro, or nothing for JSON: it was written by a later release of louver",
			e.OutputFormat)
	case e.WindowStart.Nanosecond() != 0 || e.WindowEnd.Nanosecond() != 0:
		return fail("the window has fractions of a second; want whole seconds")
	case e.WindowEnd.Year() > 2200 || e.WindowStart.Year() < 1900:
		return fail("window end %s; want one between 1900 and 2200", record.Whole(e.WindowEnd))
	case !e.WindowEnd.After(e.WindowStart):
		return fail("window end %s; want one after the start", record.Whole(e.WindowEnd))
	case e.Every <= 0:
		return fail("every %s; want a positive duration", e.Every)
	case e.Reason != "" && e.Reason != record.BudgetExhausted:
		return fail("reason %q; want none or %q", e.Reason, record.BudgetExhausted)
	}
	if err := errors.Join(e.Limit.Check(), e.checkCap()); err != nil {
		return fail("%w", err)
	}
	for _, r := range e.Releases {
		if r.Name == "" || r.Epsilon.Sign() <= 0 && r.From == "" || r.From != "" && !r.Epsilon.IsZero() {
			return fail("release %q has epsilon %s; want a name and more than 0, or 0 if it is computed from "+
				"another one", r.Name, r.Epsilon)
		}
	}
	return nil
}

func (e Entry) fail(format string, args ...any) error {
	return fmt.Errorf(e.Name()+": "+format, args...)
}

// checkCap returns an error for a cap that the entry cannot have.
func (e Entry) checkCap() error {
	if err := e.Cap.Check(); err != nil {
		return err
	}
	if e.Cap != (budget.Cap{}) && e.Cap.Lane != e.Lane {
		return fmt.Errorf("cap of row %q; want that of the entry's own row, %q", e.Cap.Lane, e.Lane)
	}
	if e.Cap.Era > e.WindowStart.Unix() {
		return fmt.Errorf("cap of an era that begins at %s, after the window",
			time.Unix(e.Cap.Era, 0).UTC().Format(time.RFC3339))
	}
	return nil
}

func (e Entry) checkSteps() error {
	names := map[string]bool{}
	for _, s := range e.Continual {
		if names[s.Name] {
			return fmt.Errorf("%q is listed twice", s.Name)
		}
		names[s.Name] = true
		if err := s.check(e); err != nil {
			return fmt.Errorf("%q: %w", s.Name, err)
		}
	}
	for _, i := range e.Ended {
		if i.Stream == "" || i.Name == "" || i.Number < 1 {
			return fmt.Errorf("instance %q ends; want a stream, a figure and a number from 1 on", i)
		}
	}
	return nil
}
