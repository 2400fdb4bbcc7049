package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
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
