package ledger

import (
	"errors"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/record"
)

// Band is an interval in the value's unit that holds the exact figure of the window with probability Level.
type Band struct {
	// Low, High and Level are nil together: then percentiles alone are known, and Basis is record.OfRanks.
	Low   *decimal.Decimal `json:"low,omitempty"`
	High  *decimal.Decimal `json:"high,omitempty"`
	Level *decimal.Decimal `json:"level,omitempty"`
	// Basis says what the band follows from.
	Basis record.Basis `json:"basis"`
	// Usual95 is by how much, in the value's unit, the value differs from that of another window at most, in 95 % of
	// the pairs of windows between which nothing changed but who came. It is nil if that is not known.
	Usual95 *decimal.Decimal `json:"usual_95,omitempty"`
}

// check returns an error for a band that contradicts itself, or that is in an entry without bands.
func (b *Band) check(bands bool) error {
	switch {
	case b == nil:
		return nil
	case !bands:
		return errors.New("it has a band, and its entry has none")
	case b.Basis == "":
		return errors.New("a band without a basis")
	case (b.Low == nil) != (b.High == nil) || (b.Low == nil) != (b.Level == nil):
		return errors.New("part of a band; want low, high and level together")
	case b.Low != nil && b.Low.GreaterThan(*b.High):
		return fmt.Errorf("a band from %s to %s; want low first", b.Low, b.High)
	case b.Level != nil && (b.Level.Sign() <= 0 || b.Level.Cmp(decimal.NewFromInt(1)) >= 0):
		return fmt.Errorf("a band of level %s; want more than 0 and less than 1", b.Level)
	case b.Usual95 != nil && b.Usual95.Sign() < 0:
		return fmt.Errorf("a usual difference of %s; want 0 or more", b.Usual95)
	}
	return nil
}

// Outside says how many users had values outside the interval that values were cut to.
type Outside struct {
	// Value is the noisy number of these users, which may be negative. With 95 % probability its noise is at most
	// Error95.
	Value   int64 `json:"value"`
	Error95 int64 `json:"error_95"`
	// Most is the largest number of these users that the draw leaves plausible, one-sided at 95 %.
	Most int64 `json:"outside_95"`
	// Cut95 is how far they may have moved the value at most, in its unit. It is nil if nothing public bounds that.
	Cut95 *decimal.Decimal `json:"cut_95,omitempty"`
}

// check returns an error for numbers of users that cannot be.
func (o *Outside) check() error {
	if o.Error95 < 0 || o.Most < o.Value || o.Most < 0 || o.Cut95 != nil && o.Cut95.Sign() < 0 {
		return fmt.Errorf("%d ± %d users outside, at most %d; want an error of 0 or more, and at most no fewer than "+
			"that", o.Value, o.Error95, o.Most)
	}
	return nil
}

// check returns an error for a value that contradicts itself. bands says whether its entry has bands.
func (v Value) check(bands bool) error {
	switch {
	case v.Value == nil && (v.Raw != nil || v.Band != nil || v.Outside != nil):
		return errors.New("it says how good a value is that is withheld")
	case v.Clip == nil && v.Outside != nil:
		return errors.New("it says how many users are outside an interval, and has no interval")
	case v.Outside != nil:
		if err := v.Outside.check(); err != nil {
			return err
		}
	}
	return v.Band.check(bands)
}
