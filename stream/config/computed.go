package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows/period"
)

// Computed is a figure of every window and group that is computed from a histogram of the same stream. It costs
// nothing.
type Computed struct {
	Head
	// From is the histogram of a window. It is nil if the figure is computed from a [SoFar].
	From *Release
	// Query says what is computed, and Figure computes it.
	Query  mechanisms.Query
	Figure *mechanisms.Computed
	// Objective is the share of the users that should not be above the limit of the figure, such as 0.999. It is 0 if
	// there is none.
	Objective decimal.Decimal
	// Over are the lengths of the newest time over which the users are added up for the objective, ascending.
	Over []time.Duration
}

// Kind is Derived.
func (f *Computed) Kind() Kind { return Derived }

// Cost is nothing: what it is computed from is paid.
func (f *Computed) Cost() Cost { return Cost{} }

// WithDelta is the figure itself.
func (f *Computed) WithDelta(bool) Figure { return f }

// About says which values count and what the figure should be.
func (f *Computed) About() About {
	about := About{Query: &f.Query, Above: f.Query.Above, Below: f.Query.Below}
	if f.Objective.IsPositive() {
		about.Objective = number(&f.Objective)
	}
	return about
}

// Series describes the only value.
func (f *Computed) Series() []record.Series {
	return []record.Series{f.from(record.Series{Name: f.From.Name, Mechanism: f.From.Mechanism.Name(), Unit: "users"})}
}

// from describes the only value, computed from this histogram. Numbers of users are in the histogram's unit.
func (f *Computed) from(of record.Series) record.Series {
	one := record.Series{Name: f.Name, Statistic: string(f.Query.Statistic), Mechanism: of.Mechanism,
		Unit: f.Query.Statistic.Unit(f.Unit), From: of.Name, Above: f.Query.Above, Below: f.Query.Below}
	if f.Query.Statistic.Family() == mechanisms.OfUsers {
		one.Unit = of.Unit
	}
	if p := f.Query.Probabilities(); len(p) == 1 {
		one.P = &p[0]
	}
	for _, d := range f.Over {
		one.Over = append(one.Over, period.Name(d))
	}
	return one
}

// Objective says what a share from a histogram should be: at most a small share of the users may be bad, which means
// above a limit. Bad and all users are added up over the newest windows. It costs nothing, because everything that is
// added up has been published.
type Objective struct {
	Stream *Stream
	// Share is the figure that has the objective, with its histogram.
	Share *Computed
}

// Objectives are those of a stream's shares.
func (s *Stream) Objectives() (all []Objective) {
	for _, f := range All[*Computed](s) {
		if f.Objective.IsPositive() {
			all = append(all, Objective{s, f})
		}
	}
	return all
}

// OnlyReader reports whether nothing but objectives is computed from the histogram.
func (o Objective) OnlyReader() bool {
	from := o.Share.From
	return len(from.Rollups)+len(from.Last) == 0 && !slices.ContainsFunc(All[*Computed](o.Stream), func(f *Computed) bool {
		return f.From == from && !f.Objective.IsPositive()
	})
}

// Name is STREAM/RELEASE.
func (o Objective) Name() string { return o.Stream.Name + "/" + o.Share.Name }

// Limit says which users are bad: "above 800 ms".
func (o Objective) Limit() string {
	return strings.TrimSpace(fmt.Sprintf("above %s %s", o.Share.Query.Above, o.Stream.Unit))
}

// Bad is the share of the users that may be bad.
func (o Objective) Bad() decimal.Decimal { return decimal.NewFromInt(1).Sub(o.Share.Objective) }

// Burn is an alert on how fast bad users use up what the objective allows. It is raised if they do so Times as fast as
// allowed, over the newest windows of a long and of a short stretch of time. The short one ends the alert soon after
// its cause.
type Burn struct {
	Times       decimal.Decimal
	Long, Short time.Duration
	// Page says that somebody should look at once. Otherwise a ticket is enough.
	Page bool
}

// Burns returns the burns of the Site Reliability Workbook (Google, 2018, chapter 5, table 5-8), the fastest first.
func Burns() []Burn {
	const day = 24 * time.Hour
	return []Burn{
		{decimal.RequireFromString("14.4"), time.Hour, 5 * time.Minute, true},
		{decimal.NewFromInt(6), 6 * time.Hour, 30 * time.Minute, true},
		{decimal.NewFromInt(3), day, 2 * time.Hour, false},
		{decimal.NewFromInt(1), 3 * day, 6 * time.Hour, false},
	}
}

// LongestSpan is the longest stretch of time over which users are added up.
const LongestSpan = 3 * 24 * time.Hour

// LeastWindows is how many windows the long stretch of a burn has at least.
const LeastWindows = 4

// Burns returns the burns on which the objective has alerts. The short stretch is at least one window.
func (o Objective) Burns() (all []Burn) {
	for _, b := range Burns() {
		if o.Omits(b) == "" {
			b.Short = max(b.Short, o.Stream.Window.Every)
			all = append(all, b)
		}
	}
	return all
}

// Omits says why there is no alert on a burn; "" if there is one.
func (o Objective) Omits(b Burn) string {
	switch {
	case o.Windows(b.Long) < LeastWindows:
		return fmt.Sprintf("it has fewer than %d windows of %s", LeastWindows, Duration(o.Stream.Window.Every))
	case b.Times.Mul(o.Bad()).GreaterThanOrEqual(decimal.NewFromInt(1)):
		return fmt.Sprintf("if all users were bad, it would be %s times as many as allowed",
			rate(decimal.NewFromInt(1).
				Div(o.Bad())))
	}
	return ""
}

func rate(times decimal.Decimal) string { return times.RoundDown(1).String() }

// Spans are the stretches of time over which users are added up, ascending.
func (o Objective) Spans() (all []time.Duration) {
	for _, b := range o.Burns() {
		all = append(all, b.Long, b.Short)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Windows is how many windows a stretch of time has.
func (o Objective) Windows(span time.Duration) int64 { return int64(span / o.Stream.Window.Every) }

// Buckets returns the buckets of the histogram, the number of the one that ends at the limit, and the noise of each
// drawn number.
func (o Objective) Buckets() (b *histogram.Buckets, bucket int, noise histogram.Noise) {
	b = mechanisms.Buckets(o.Share.From.Mechanism)
	return b, o.Share.Figure.Bucket(), o.NoiseOn(b.Levels())
}

// NoiseOn is the noise of each number that the histogram would draw on so many levels, for its ε.
func (o Objective) NoiseOn(levels int) histogram.Noise {
	from := o.Share.From
	return mechanisms.HistogramNoise(from.Mechanism.Name(), from.Query.Epsilon.InexactFloat64(), levels)
}

// FalsePages is the default for the probability that noise alone raises any alert of an objective within [PagesPer].
var FalsePages = decimal.New(5, -2)

// PagesPer is the time that this probability is for.
const PagesPer = 30 * 24 * time.Hour

// Margin returns how many more bad users than the objective allows it takes to raise an alert on a burn. Then noise
// alone raises any of the objective's alerts within 30 days with a probability of at most falsePages, as long as no
// long stretch has more bad users than allowed.
//
// Noise passes the margin at one moment with a probability of at most falsePages/(burns·groups·windows in 30 days), by
// [histogram.Buckets.Evidence], and sums change once a window. All together are bounded by the sum (union bound).
func (o Objective) Margin(b Burn, falsePages float64) float64 {
	moments := float64(len(o.Burns())) * float64(len(o.Stream.Groups)) * float64(PagesPer/o.Stream.Window.Every)
	buckets, bucket, noise := o.Buckets()
	return buckets.Evidence(bucket, o.Bad().InexactFloat64(), noise, o.Windows(b.Long), falsePages/moments)
}

// sure is a number of σ: each of three Gaussian numbers stays below it with a probability of 1 − 0.05/3.
const sure = 2.13

// Seen returns the least burn that raises an alert with a probability of about 95 %, if it lasts for the whole long
// stretch, in a group with so many users a window. At this burn, the margin and both rates are exceeded by more than
// their noise. No burn is larger than 1/[Objective.Bad].
func (o Objective) Seen(b Burn, falsePages float64, users int64) float64 {
	buckets, bucket, noise := o.Buckets()
	bad, times := o.Bad().InexactFloat64(), b.Times.InexactFloat64()
	passes := func(span time.Duration, burn, margin float64) float64 {
		windows := o.Windows(span)
		noisy := margin + sure*buckets.Deviation(bucket, burn*bad, noise, windows)
		return burn + noisy/(bad*float64(windows)*float64(users))
	}
	return max(passes(b.Long, 1, o.Margin(b, falsePages)), passes(b.Long, times, 0), passes(b.Short, times, 0))
}

// Definition is a short name for everything that the alerts of the objective depend on, except how likely a false one
// may be.
func (o Objective) Definition() string {
	drawn := o.Share.From.Series()[0]
	// These are numbers and names, so it never fails.
	text, _ := json.Marshal([]any{o.Share.Objective, drawn.Mechanism, drawn.Epsilon, drawn.Buckets,
		o.Share.Figure.Bucket(), len(o.Stream.Groups), o.Stream.Window.Every})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4])
}
