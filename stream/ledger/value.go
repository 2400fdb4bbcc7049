package ledger

import (
	"time"

	"github.com/shopspring/decimal"
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
	// without a Clip, and in entries of earlier releases.
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
// scatter or shape, and nil otherwise. In entries without bands they are a 90 % band of the estimate.
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
