package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/record"
)

// Group holds what was released about one group of the window.
type Group struct {
	Name string `json:"name"`
	// Users is the window's released count; nil if none was drawn.
	Users *int64 `json:"users,omitempty"`
	// Reason is TooFewUsers if values were withheld for that.
	Reason string `json:"reason,omitempty"`
	// Values holds one value for each release of the entry; empty if the window is withheld.
	Values []Value `json:"values,omitempty"`
}

// Value is one released figure. The zero Value is a withheld one.
type Value struct {
	// Mechanism is the mechanism that the draw chose, or "" if it did not choose. The choice is released: see
	// mechanisms.Draw.
	Mechanism string `json:"mechanism,omitempty"`
	// Value is an exact decimal, as mechanisms.Scale says, or a whole number of users. It is nil if withheld.
	Value *decimal.Decimal `json:"value,omitempty"`
	// [RankError], [PercentileLow] and [PercentileHigh] make RankError95, PLow and PHigh. Each is nil if there is none.
	RankError95 *decimal.Decimal `json:"rank_error_95,omitempty"`
	PLow        *decimal.Decimal `json:"p_low,omitempty"`
	PHigh       *decimal.Decimal `json:"p_high,omitempty"`
	// Error95 is the 95 % error of the value's noise, in the value's unit. It is nil if no public figure bounds it.
	Error95 *decimal.Decimal `json:"error_95,omitempty"`
	// Raw is the value as it was drawn, before impossible values were cut off. It is nil if nothing can be cut.
	Raw *decimal.Decimal `json:"raw,omitempty"`
	// Band says between which values the exact figure lies. It is nil where nothing public says that.
	Band *Band `json:"band,omitempty"`
	// Quality is "useful", "rough" or "noise", as mechanisms.Query.Judge says, or "" if nothing public bounds the
	// error. It is decided when the value is drawn, so it stays the same if the rule changes.
	Quality string `json:"quality,omitempty"`
	// Clip is the interval that values were cut to before they were added up, both ends included. It is nil if none was
	// found.
	Clip *[2]decimal.Decimal `json:"clip,omitempty"`
	// Outside says how many users were outside that interval, and what that may have done to the value. It is nil
	// without a Clip.
	Outside *Outside `json:"outside,omitempty"`
	// Interval is the paid value interval, or the interval of a figure from a histogram. Smoothed is the free estimate
	// from this and earlier releases. Each is nil if there is none.
	Interval *Interval `json:"interval,omitempty"`
	Smoothed *Smoothed `json:"smoothed,omitempty"`
	// Numbers are the noisy numbers of a histogram; nil for all else.
	Numbers *Numbers `json:"numbers,omitempty"`
}

// Numbers are the noisy numbers of a histogram: of users in each bucket, and in each group of buckets. The counts that
// are shown follow from them.
type Numbers struct {
	Raw    []int64 `json:"raw"`
	Coarse []int64 `json:"coarse,omitempty"`
}

// Interval is an interval that holds the true statistic with probability Level.
type Interval struct {
	Level decimal.Decimal `json:"level"`
	Low   decimal.Decimal `json:"low"`
	High  decimal.Decimal `json:"high"`
}

// Smoothed is an estimate from this and earlier releases. Low and High are those of the value's band, if its basis is
// scatter or shape, and nil otherwise.
type Smoothed struct {
	Value decimal.Decimal  `json:"value"`
	Low   *decimal.Decimal `json:"low,omitempty"`
	High  *decimal.Decimal `json:"high,omitempty"`
}

// Drawn is the value that was last drawn for a group, and the end of the window that it is from.
type Drawn struct {
	Figure Value     `json:"figure"`
	Since  time.Time `json:"since"`
}

// Equal reports whether both are written alike in the ledger.
func (d Drawn) Equal(o Drawn) bool { return alike(d, o) }

// Equal reports whether both are written alike in the ledger.
func (s *Smoothed) Equal(o *Smoothed) bool { return alike(s, o) }

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

// Limits are the least and the largest number that the exact figure can be. nil is no limit.
type Limits struct{ Least, Most *decimal.Decimal }

// fromZero are the limits of numbers of users, and of other sums of amounts that are not negative.
var fromZero = Limits{Least: &decimal.Zero}

// NewBand returns the band that a value's interval or error gives, apart from the scatter of its series: see
// [ScatterBand]. computed says that it is computed from a histogram. It is nil if nothing says how far off it is.
func NewBand(v Value, computed bool, limits Limits) *Band {
	basis := record.OfNoise
	switch {
	case computed:
		basis = record.OfHistogram
	case v.Interval != nil:
		basis = record.OfInterval
	case v.Clip != nil:
		basis = record.OfClipped
	}
	switch {
	case v.Value == nil:
		return nil
	case v.Interval != nil:
		return &Band{Low: &v.Interval.Low, High: &v.Interval.High, Level: &v.Interval.Level, Basis: basis}
	case v.Error95 != nil:
		low, high := v.Value.Sub(*v.Error95), v.Value.Add(*v.Error95)
		if least := limits.Least; least != nil && low.LessThan(*least) {
			low = decimal.Min(*least, *v.Value)
		}
		if most := limits.Most; most != nil && high.GreaterThan(*most) {
			high = decimal.Max(*most, *v.Value)
		}
		return &Band{Low: &low, High: &high, Level: &mechanisms.ComputedLevel, Basis: basis}
	case v.RankError95 != nil || v.PLow != nil:
		return &Band{Basis: record.OfRanks}
	}
	return nil
}

// ScatterBand returns the band that the scatter of a series gives its last value.
func ScatterBand(b mechanisms.Band, scale mechanisms.Scale) *Band {
	to := &Band{Basis: record.Basis(b.Basis)}
	if b.Basis == mechanisms.BasisRanks {
		return to
	}
	to.Low, to.High, to.Level = new(scale.Decimal(b.Low)), new(scale.Decimal(b.High)), &mechanisms.ComputedLevel
	if b.Basis == mechanisms.BasisScatter {
		to.Usual95 = new(Error(b.Usual).Mul(scale.Length(1)))
	}
	return to
}

// Fields are what a record says of the band. A value without a band has them too, and they say nothing.
func (b *Band) Fields() *record.BandFields {
	if b == nil {
		return &record.BandFields{}
	}
	return &record.BandFields{Low: optionalDigits(b.Low), High: optionalDigits(b.High), Level: optionalDigits(b.Level),
		Basis: b.Basis, Usual95: optionalDigits(b.Usual95)}
}

// Equal reports whether both are written alike in the ledger.
func (b *Band) Equal(o *Band) bool { return alike(b, o) }

// alike reports whether two things are written alike in the ledger.
func alike(a, b any) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// check returns an error for a band that contradicts itself.
func (b *Band) check() error {
	switch {
	case b == nil:
		return nil
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

// check returns an error for a value that contradicts itself.
func (v Value) check() error {
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
	return v.Band.check()
}

// Error turns an error into a figure with at least four significant digits, rounded up. Whole numbers stay exact. It is
// nil for NaN and infinities.
func Error(size float64) *decimal.Decimal {
	return figure(size, func(d decimal.Decimal) decimal.Decimal {
		return d.RoundCeil(max(0, 4-int32(d.NumDigits())-d.Exponent()))
	})
}

// RankError turns an error in ranks into a figure, rounded up to one decimal. It is nil for NaN and infinities.
func RankError(ranks float64) *decimal.Decimal {
	return figure(ranks, func(d decimal.Decimal) decimal.Decimal { return d.RoundCeil(1) })
}

// percentilePlaces is how many decimals p_low and p_high have: enough for p = 0.9999.
const percentilePlaces = 6

// PercentileLow turns a lower bound in [0, 1] into a figure, rounded down; nil for NaN and infinities.
func PercentileLow(p float64) *decimal.Decimal {
	return figure(p, func(d decimal.Decimal) decimal.Decimal { return d.RoundFloor(percentilePlaces) })
}

// PercentileHigh turns an upper bound in [0, 1] into a figure, rounded up; nil for NaN and infinities.
func PercentileHigh(p float64) *decimal.Decimal {
	return figure(p, func(d decimal.Decimal) decimal.Decimal { return d.RoundCeil(percentilePlaces) })
}

func figure(f float64, round func(decimal.Decimal) decimal.Decimal) *decimal.Decimal {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	d := round(decimal.NewFromFloat(f))
	return &d
}
