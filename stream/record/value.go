package record

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/groupname"
)

// Schema is the content of the field schema of every [Value].
const Schema = "louver.release.v1"

// The status of a record.
const (
	OK       = "ok"
	Withheld = "withheld"
)

// The reasons for which a value is withheld.
const (
	// BudgetExhausted: the window did not fit its budget. Nothing was drawn and nothing is charged.
	BudgetExhausted = "budget_exhausted"
	// TooFewUsers: the released count of the group was below the stream's min_users. Charged in full.
	TooFewUsers = "too_few_users"
	// NotArmed is the reason for which a watch says nothing about a group: it has fired in another group, and is not
	// armed again yet. It is also that of a total, or number of active users, that begins anew with the next window.
	NotArmed = "not_armed"
)

// StatisticWatch is the statistic of a watch's records. Its mechanism is MechanismWatch.
const (
	StatisticWatch = "watch"
	MechanismWatch = "sparse_vector"
)

// StatisticGroups is the statistic of the records of a discovery. Its mechanism is MechanismGroups.
const (
	StatisticGroups = "groups"
	MechanismGroups = "truncated_geometric"
)

// Value is the value of an output record: what it says of a figure. Numbers are kept as they are written. Names and
// order are public, and described in record.schema.json; go generate ./cmd/louver brings deploy/RECORD.md up to date.
type Value struct {
	Schema      string          `json:"schema"`
	ID          string          `json:"id"`
	Stream      string          `json:"stream"`
	Group       string          `json:"group"`
	Release     string          `json:"release"`
	WindowStart time.Time       `json:"window_start"`
	WindowEnd   time.Time       `json:"window_end"`
	DueAt       time.Time       `json:"due_at"`
	Incomplete  bool            `json:"incomplete"`
	Statistic   string          `json:"statistic"`
	P           *json.Number    `json:"p"`
	Mechanism   string          `json:"mechanism"`
	Unit        string          `json:"unit"`
	Value       *json.Number    `json:"value"`
	Raw         *json.Number    `json:"raw,omitempty"` // only if impossible values may have been cut off
	*BandFields                 // not in records of earlier releases
	Status      string          `json:"status"`
	Reason      *string         `json:"reason"`
	Epsilon     json.Number     `json:"epsilon"`
	Delta       json.Number     `json:"delta"`
	RankError95 *json.Number    `json:"rank_error_95"`
	Error95     *json.Number    `json:"error_95"`
	Quality     Quality         `json:"quality"`
	Clip        *[2]json.Number `json:"clip,omitempty"`    // only if values were cut
	Outside     *Outside        `json:"outside,omitempty"` // this and the next two only with a clip
	Outside95   *int64          `json:"outside_95,omitempty"`
	Cut95       *json.Number    `json:"cut_95,omitempty"`
	MaxWindows  *Cap            `json:"max_windows,omitempty"` // only if not everybody counts in every window
	Users       *int64          `json:"users"`
	PLow        *json.Number    `json:"p_low"`
	PHigh       *json.Number    `json:"p_high"`
	Interval    *Interval       `json:"interval"`
	Smoothed    *Smoothed       `json:"smoothed"`
	StreamSpent *json.Number    `json:"stream_epsilon_spent"`
	Budget      string          `json:"budget"`
	BudgetSpent *json.Number    `json:"budget_epsilon_spent"`
	BudgetLimit json.Number     `json:"budget_epsilon_limit"`
	BudgetLeft  int64           `json:"budget_windows_left"`
	// Records of earlier releases do not have these.
	*LossFields
	// Only histograms have buckets, and only figures that are computed from one say from which.
	Buckets *Distribution `json:"buckets,omitempty"`
	From    string        `json:"from,omitempty"`
	// Only roll-ups have Windows. Counts are in these, and in records of all groups together.
	Windows *Windows `json:"windows,omitempty"`
	Counts  string   `json:"counts,omitempty"`
	// Together says that the record is of all groups together. Its group is the name that the stream gives them.
	Together bool `json:"together,omitempty"`
	// Only shares with an objective have these.
	Over []Over `json:"over,omitempty"`
	// Only watches, figures that are published on change and running totals have these. Numbers of active users have an
	// Instance too.
	Since    *time.Time   `json:"since,omitempty"`
	Changed  *bool        `json:"changed,omitempty"` // only figures on change, even where they are withheld
	Instance int64        `json:"instance,omitempty"`
	Excess95 *json.Number `json:"excess_95,omitempty"`
	// Only numbers of active users have it.
	Active string `json:"active,omitempty"`
	// Only running totals have these.
	MaxTotal *json.Number `json:"max_total,omitempty"`
	Final    *bool        `json:"final,omitempty"` // even where they are withheld
	// Only records of a stream whose groups are found have these: windows the first two, and discoveries the rest.
	// Windows before the first discovery have no List.
	List        *time.Time `json:"list,omitempty"`
	Other       bool       `json:"other,omitempty"`
	Threshold   int64      `json:"threshold,omitempty"`
	ListedUntil *time.Time `json:"listed_until,omitempty"` // only of a name that is on the list
	Joined      *int64     `json:"joined,omitempty"`       // only in the record about all names
	Left        *int64     `json:"left,omitempty"`
	// Found says that the groups of the stream are found, so that their names may be any text. Only writers know it.
	Found bool `json:"-"`
}

// Outside is the noisy number of users whose values lay outside the interval that values were cut to, and with 95 %
// probability the largest error of its noise.
type Outside struct {
	Value   int64 `json:"value"`
	Error95 int64 `json:"error_95"`
}

// What the numbers of a record count if it is not users.
const (
	// UserWindows: a user who is there in ten windows counts ten times.
	UserWindows = "user_windows"
	// UserGroups: a user who is in two groups counts twice.
	UserGroups = "user_groups"
	// UserWindowGroups: a user who is in two groups of each of ten windows counts twenty times.
	UserWindowGroups = "user_window_groups"
)

// LastPrefix begins what stands behind a figure's name if it is over the newest time, as in p99.last_1h.
const LastPrefix = "last_"

// Over is what an objective adds up over the newest time: the users above its limit, and all users. Both are unbiased
// estimates, exact to the 65,536th part of a user, and may be negative. They are nil if no window is added up.
type Over struct {
	// Over is the length of that time, such as 1h. It has Of windows, of which Windows are added up.
	Over    string       `json:"over"`
	Of      int64        `json:"of"`
	Windows int64        `json:"windows"`
	Above   *json.Number `json:"above"`
	Users   *json.Number `json:"users"`
}

// Windows says how many windows a roll-up has.
type Windows struct {
	// Of is how many the period has, Released how many were released and added up, and Incomplete how many of these had
	// lost part of their input.
	Of         int64 `json:"of"`
	Released   int64 `json:"released"`
	Incomplete int64 `json:"incomplete"`
}

// Interval is an interval that was paid for, or the interval of a figure from a histogram.
type Interval struct {
	Level json.Number `json:"level"`
	Low   json.Number `json:"low"`
	High  json.Number `json:"high"`
}

// Smoothed is a free estimate from this and earlier releases; Low and High are nil if no band is allowed.
type Smoothed struct {
	Value json.Number  `json:"value"`
	Low   *json.Number `json:"low"`
	High  *json.Number `json:"high"`
}

// Quality is a value's quality as mechanisms.Query.Judge says; "" is written as null.
type Quality string

// MarshalJSON implements [json.Marshaler].
func (q Quality) MarshalJSON() ([]byte, error) { return nullable(string(q)) }

// nullable writes a word, or null if there is none.
func nullable(word string) ([]byte, error) {
	if word == "" {
		return []byte("null"), nil
	}
	return json.Marshal(word)
}

// Held reports whether the record is that of a watch, a release on change, a running total or a number of active users.
// Then its ε is that of an instance, or of a day, and not that of a window.
func (f Value) Held() bool {
	return f.Statistic == StatisticWatch || f.Changed != nil || f.Final != nil || f.Active != ""
}

// Look is what a record says of the instance of its figure. Without an instance its number is 0.
type Look struct {
	Instance int64
	// Looks says that the instance looked at the window, and Fires that it fired there.
	Looks, Fires bool
	Leaf         bool  // it is of a number of active users, which is charged leaf by leaf
	Since        int64 // of a total: when its instance began, Unix seconds
}

// Look returns what the record says of the instance of its figure, if the figure has instances: see [Value.Held].
func (f Value) Look() Look {
	l := Look{Instance: f.Instance, Looks: f.Value != nil}
	switch {
	case f.Value == nil:
	case f.Active != "":
		l.Leaf = true
	case f.Since == nil:
	case f.Final != nil:
		l.Since = f.Since.Unix()
	case f.Changed != nil: // the next record says whether the instance has ended: by another number
	default: // a watch says since when its alarm lasts
		l.Fires = f.Since.Equal(f.WindowEnd)
		l.Looks = l.Fires
	}
	return l
}

// Last reports whether the record adds up the newest time, so that every window has one.
func (f Value) Last() bool {
	return f.Windows != nil && strings.Contains(f.Release, "."+LastPrefix)
}

// Key is the series that the record belongs to. A slash in a group's name is escaped, so that it divides no key.
func (f Value) Key() string {
	if f.Found || strings.Contains(f.Group, "/") {
		return FoundKey(f.Stream, f.Group, f.Release)
	}
	return f.Stream + "/" + f.Group + "/" + f.Release
}

// Label is the key as people read it: without a group that has no name.
func (f Value) Label() string {
	if f.Group == "" {
		return f.Stream + "/" + f.Release
	}
	return f.Key()
}

// At is the id of the record of a window that starts at a moment: its key with that moment before the release.
func (f Value) At(start Second) string {
	key := f.Key()
	return key[:len(key)-len(f.Release)] + start.String() + "/" + f.Release
}

// FoundKey is the key of a series of a stream whose groups are found: their names may be any text.
func FoundKey(stream, group, release string) string {
	return stream + "/" + groupname.Escape(group) + "/" + release
}

// Cap says in how many windows of a period one user counts.
type Cap struct {
	Count int64  `json:"count"`
	Per   string `json:"per"`
}

// Later reports whether one record of a budget was published after another. If both windows end at the same time, the
// later record has spent more.
func (f Value) Later(o Value) bool {
	if !f.WindowEnd.Equal(o.WindowEnd) {
		return f.WindowEnd.After(o.WindowEnd)
	}
	return Less(Read(o.BudgetSpent), Read(f.BudgetSpent))
}

// BetterWindowsLeft reports whether one record says better than another how many windows their budget could pay for. A
// stream whose windows have a cap, or cost nothing, says that there is no end of them. Other streams of the budget may
// come to an end, so a record with a number is better. Of two such records the later one is better, and of two whose
// windows end at the same time the one with the lower number.
func (f Value) BetterWindowsLeft(o Value) bool {
	if endless, other := f.BudgetLeft >= budget.MostWindows, o.BudgetLeft >= budget.MostWindows; endless != other {
		return other
	}
	if !f.WindowEnd.Equal(o.WindowEnd) {
		return f.WindowEnd.After(o.WindowEnd)
	}
	return f.BudgetLeft < o.BudgetLeft
}

// Read returns a published number, or nil if there is none.
func Read(n *json.Number) *decimal.Decimal {
	if n == nil {
		return nil
	}
	d, err := decimal.NewFromString(n.String())
	if err != nil {
		return nil
	}
	return &d
}

// Less compares two published amounts spent. nil means that no ε bounds the amount, and is the largest.
func Less(a, b *decimal.Decimal) bool {
	return a != nil && (b == nil || a.LessThan(*b))
}

// Series describes one series of values, the same in every group and window. Its JSON names are those of the ledger.
type Series struct {
	Name      string `json:"name"`
	Statistic string `json:"statistic"`
	// P is the probability of a quantile; nil for statistics that have none.
	P         *decimal.Decimal `json:"p,omitempty"`
	Mechanism string           `json:"mechanism"`
	Unit      string           `json:"unit,omitempty"`
	// Epsilon and Delta of one draw, for one user in one group. Values that are drawn jointly all have the ε and δ of
	// the draw.
	Epsilon decimal.Decimal `json:"epsilon"`
	Delta   decimal.Decimal `json:"delta,omitzero"`
	// Buckets are the buckets of a histogram; nil for all else.
	Buckets *Buckets `json:"buckets,omitempty"`
	// Rollups are the lengths of the periods over which a histogram is added up, such as 1h. Last are those of the newest
	// time over which it is added up in every window.
	Rollups []string `json:"rollups,omitempty"`
	Last    []string `json:"last,omitempty"`
	// From is the histogram of the same window that the values are computed from, at no cost; "" if they are drawn.
	// Above and Below are the limits of such a share or count.
	From  string           `json:"from,omitempty"`
	Above *decimal.Decimal `json:"above,omitempty"`
	Below *decimal.Decimal `json:"below,omitempty"`
	// Over are the lengths of the newest time over which the users of a share that has an objective are added up.
	Over []string `json:"over,omitempty"`
}

// Second is a time in whole seconds, UTC, written as RFC 3339.
type Second struct{ time.Time }

// Whole drops fractions of a second: nothing finer than the public schedule may be published.
func Whole(t time.Time) Second { return Second{t.UTC().Truncate(time.Second)} }

// String returns the time as RFC 3339.
func (s Second) String() string { return s.Format(time.RFC3339) }

// MarshalText implements [encoding.TextMarshaler].
func (s Second) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON replaces that of the embedded time, which writes fractions.
func (s Second) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }
