package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

// ErrUnreadable marks an entry that cannot be read or contradicts itself. While its charge is unknown nothing may be
// released, so it leads to a privacy stop.
var ErrUnreadable = errors.New("ledger entry unreadable")

// version is the version of entries. Raise it with a change that a reader of this version would misread, such as a
// charge that it would miss. A new optional field needs no new version.
const version = 1

// A reader of version 1 would misread entries of discoveries and entries with a list. A reader of version 2 would
// misread two more kinds. It would add what a discovery with a cap of its own costs to what the stream's windows cost.
// And it would not publish the records that end the series of groups that left. A reader of version 3 would add up
// costs under a limit with an order at another one.
const (
	entryListsVersion  = 2
	entryRowsVersion   = 3
	entryNewestVersion = 4
)

// format is the format of the output records that an entry gives. It is written down so that a later format can leave
// the bytes of earlier records as they are.
const format = 1

// stored is the form of an entry in the ledger. Decimals are text, times RFC 3339 in whole seconds.
type stored struct {
	Version     int            `json:"v"`
	Format      int            `json:"format"`
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
		Version: version, Format: format, Entry: e, Status: record.OK,
		WindowStart: record.Whole(e.WindowStart), WindowEnd: record.Whole(e.WindowEnd),
		DueAt: record.Whole(e.DueAt), ReleasedAt: record.Whole(e.ReleasedAt), Every: budget.FormatPer(e.Every),
		Charge: storedCharge{charge.Epsilon, charge.Delta, price},
	}
	switch groups, _ := e.ending(); {
	case !e.Limit.Order.IsZero():
		s.Version = entryNewestVersion
	case e.Cap.Lane != "" || len(groups) > 0:
		s.Version = entryRowsVersion
	case e.List != nil || e.Discovery != nil:
		s.Version = entryListsVersion
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
	// The version is read even if another release wrote fields of other types.
	err := json.Unmarshal(value, &s)
	if (err == nil || s.Version != 0) && (s.Version < version || s.Version > entryNewestVersion) {
		return Entry{}, fmt.Errorf("format version %s; want %d to %d: it was written by another release of louver",
			versionText(s.Version), version, entryNewestVersion)
	}
	if err != nil {
		return Entry{}, err
	}
	if s.Format != format {
		return Entry{}, fmt.Errorf("output records of format %d; want %d: it was written by another release of louver",
			s.Format, format)
	}
	e, err := s.entry()
	if err != nil {
		return Entry{}, err
	}
	if err := e.check(); err != nil {
		return Entry{}, err
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

func versionText(v int) string {
	if v == 0 {
		return "missing"
	}
	return fmt.Sprint(v)
}
