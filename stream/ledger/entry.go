package ledger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/record"
)

// Entry is one record of the ledger: one window of one stream, with its charge and everything that was drawn.
// Times have whole seconds and are UTC. Encode writes the fields that have no name in JSON.
type Entry struct {
	App    string `json:"app"`
	Stream string `json:"stream"`
	// Lane is the name of a discovery; "" for a window. Each lane is decided and capped on its own.
	Lane   string `json:"row,omitempty"`
	Budget string `json:"budget"`
	// Input and Output are the topics of the stream when the window was decided.
	Input  string `json:"input"`
	Output string `json:"output"`
	// OutputFormat is how the records are written: "" is JSON, else [record.FormatAvro].
	OutputFormat string `json:"output_format,omitempty"`
	// Epoch is the number of the stream's definition that the window followed, from 0.
	Epoch uint32 `json:"epoch,omitempty"`
	// WindowStart and WindowEnd bound the window: [start, end).
	WindowStart, WindowEnd time.Time `json:"-"`
	// DueAt is when the window closed by the public schedule, ReleasedAt when it was drawn.
	DueAt, ReleasedAt time.Time `json:"-"`
	// Every is the step from one window of the stream to the next.
	Every time.Duration `json:"-"`
	// Until is the end of the stream's last window, or zero if the schedule is endless.
	Until time.Time `json:"-"`
	// Limit is the budget's limit when the window was decided.
	Limit budget.Limit `json:"limit"`
	// Continues names the budgets whose charges this one took over, and those that they took over in turn, nearest
	// first. Books must have seen their entries before they decide a window of this budget.
	Continues []string `json:"continues,omitempty"`
	// PaidElsewhere is what budgets that do not count here had paid for the stream; nil for nothing.
	PaidElsewhere PaidElsewhere `json:"before,omitempty"`
	// Price is the cost of the window to one user if it is paid.
	Price []budget.Item `json:"-"`
	// Cap limits the windows in which one user counts. Its era is the start of the first window that it covers, in Unix
	// seconds. The zero value is no limit.
	Cap budget.Cap `json:"cap,omitzero"`
	// Reason is BudgetExhausted if the whole window is withheld. It is "" if the window is paid; then Price is its
	// charge.
	Reason string `json:"reason,omitempty"`
	// Incomplete says that part of the window's input was lost before it was released.
	Incomplete bool `json:"incomplete,omitempty"`
	// IncompleteIn lists the partitions of the input that lost something, as far as they are known.
	IncompleteIn []int `json:"incomplete_in,omitempty"`
	// Releases describe the values of each group, in order.
	Releases []record.Series `json:"releases"`
	// Together are all groups together; nil if the stream does not publish them.
	Together *Together `json:"together,omitempty"`
	// Objectives are what objectives add up, up to this window.
	Objectives []Objective `json:"objectives,omitempty"`
	// Groups are the public groups in order. If the stream has none, there is one group "".
	Groups []Group `json:"groups"`
	// List says which list the groups come from; nil if the stream's definition names them. A window whose list is
	// empty has no groups, and costs nothing.
	List *List `json:"list,omitempty"`
	// Discovery is what a discovery found; nil for a window.
	Discovery *Discovery `json:"discovery,omitempty"`
	// Periods are those of roll-ups on local days that hold the window. All other roll-ups begin at multiples of their
	// length since 1970.
	Periods []Period `json:"periods,omitempty"`
	// Rollups are the roll-ups whose periods end with the window.
	Rollups []Rollup `json:"rollups,omitempty"`
	// Standing is the state of the books after this entry.
	Standing Standing `json:"books"`
	// Prior says which earlier releases the adaptive base measure had learnt from. It is nil if no such measure was
	// used.
	Prior *Prior `json:"prior,omitempty"`
	// Continual is what the stream's continual figures did in the window, in the order of the definition. Ended
	// are the instances of any stream of the budget that end without having looked at this window.
	Continual []Continual `json:"steps,omitempty"`
	Ended     []Instance  `json:"ended,omitempty"`
}

// Standing is the state of the books after an entry, including its own charge. See [Books.Standing].
type Standing struct {
	// StreamSpent is the ε that the stream has been charged in its whole life, or nil if no ε bounds it. Like
	// BudgetSpent, it is the sum that the books decide by.
	StreamSpent *decimal.Decimal `json:"stream_epsilon_spent"`
	// BudgetSpent is the ε that counts in the budget's period at the window's end, or nil if no ε bounds it.
	BudgetSpent *decimal.Decimal `json:"budget_epsilon_spent"`
	// WindowsLeft is how many more windows at this price the rest of the budget would pay.
	WindowsLeft int64 `json:"budget_windows_left"`
	// Lost is what people read instead.
	Lost Lost `json:"lost"`
}

// Lost is what one person can have lost at most, by the least bound that holds: see [budget.Account.Lost].
type Lost struct {
	// Stream is for the stream in its whole life, and Budget for the budget's period at the window's end. They are nil
	// if no ε bounds that.
	Stream *decimal.Decimal `json:"stream"`
	Budget *decimal.Decimal `json:"budget"`
	// Used is how many of the stream's windows with this price are paid, of those that end in that period.
	Used int64 `json:"windows_used"`
}

// Sums returns both sums of ε as text for people.
func (s Standing) Sums() (stream, budget string) { return text(s.StreamSpent), text(s.BudgetSpent) }

// Words returns the losses as text for people.
func (l Lost) Words() (stream, budget string) { return text(l.Stream), text(l.Budget) }

// equal reports whether the books decide by the same sums.
func (s Standing) equal(t Standing) bool {
	return text(s.StreamSpent) == text(t.StreamSpent) && text(s.BudgetSpent) == text(t.BudgetSpent) &&
		s.WindowsLeft == t.WindowsLeft
}

// text writes a sum for people.
func text(d *decimal.Decimal) string {
	if d == nil {
		return "no bound"
	}
	return d.String()
}

// Prior is the public past that the adaptive base measure was computed from.
type Prior struct {
	// Upto is how many of the stream's last entries before this one were learnt from.
	Upto int64 `json:"upto"`
	// Hash is the hash of the measures that were used, in hexadecimal.
	Hash string `json:"hash"`
}

// Name identifies the entry in messages: its stream and the start of its window.
func (e Entry) Name() string {
	if e.Lane != "" {
		return fmt.Sprintf("stream %q, discovery %q of %s", e.Stream, e.Lane, record.Whole(e.WindowEnd))
	}
	return fmt.Sprintf("stream %q, window of %s", e.Stream, record.Whole(e.WindowStart))
}

// Charge returns what the window was charged: its price, or nothing if it is withheld for its budget. It fails if the
// price or the window is malformed, which never happens with entries from [Decode].
func (e Entry) Charge() (budget.Charge, error) {
	items := e.Price
	if e.Reason != "" {
		items = nil
	}
	c, err := budget.NewCharge(e.Stream, e.WindowStart.UnixNano(), e.WindowEnd.UnixNano(), items)
	c.Cap = e.Cap
	return c, err
}

// WithholdBelow withholds the values of every group in which the release `count` is below minimum. That count stays.
// Histograms stay too, because roll-ups add them up, and so do the figures that are computed from them. Withheld values
// are dropped, but remain charged.
func (e *Entry) WithholdBelow(count string, minimum int64) {
	for c, r := range e.Releases {
		if r.Name != count {
			continue
		}
		for g := range e.Groups {
			group := &e.Groups[g]
			if v := group.Values; len(v) == 0 || v[c].Value == nil || v[c].Value.Cmp(decimal.NewFromInt(minimum)) >= 0 {
				continue
			}
			group.Reason = record.TooFewUsers
			for i := range group.Values {
				if of := e.Releases[i]; i != c && of.Buckets == nil && of.From == "" {
					group.Values[i] = Value{}
				}
			}
		}
	}
}

// GroupNames lists the names of the groups, in order.
func (e Entry) GroupNames() []string {
	names := make([]string, len(e.Groups))
	for i, g := range e.Groups {
		names[i] = g.Name
	}
	return names
}

// group returns the place of a group, or −1.
func (e Entry) group(name string) int {
	return slices.IndexFunc(e.Groups, func(g Group) bool { return g.Name == name })
}

// Looks reports whether any instance looks at the window.
func (e Entry) Looks() bool { return slices.ContainsFunc(e.Continual, Continual.Looks) }

// Publishes reports whether the entry has a continual figure with values, and not only watches. A stream of
// such figures needs no other ones.
func (e Entry) Publishes() bool {
	return slices.ContainsFunc(e.Continual, Continual.HasValues)
}

// lane is a lane of a stream under one definition.
type lane struct {
	epoch uint32
	name  string
}

func (r lane) compare(o lane) int {
	return cmp.Or(cmp.Compare(r.epoch, o.epoch), cmp.Compare(r.name, o.name))
}

func (e Entry) lane() lane { return lane{e.Epoch, e.Lane} }

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
		return errors.New("it rates a value that is withheld")
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
