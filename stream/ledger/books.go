package ledger

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

// Books add up ledger entries, in the ledger's order: which windows are decided, and what each budget has been charged.
// All of it follows from public figures.
//
// Books are not safe for concurrent use.
type Books struct {
	streams  map[string]*streamBook
	accounts map[string]*budget.Account
	// continues lists the budgets that a budget took over, as far as entries named them. elsewhere holds the accounts
	// of those that are kept in other books.
	continues map[string][]string
	elsewhere map[string]*budget.Account
	// lasting holds the instances of continual figures, each of which is a held charge of an account.
	lasting instances
	// ahead is what forecasts expect beside windows, by budget. Entries do not say it.
	ahead map[string]ahead
}

// ahead is what will be charged beside windows if streams go on unchanged.
type ahead struct {
	held      []budget.Held
	schedules []budget.Schedule
}

// Planned says what a stream will be charged beside its windows from a moment on, where its next window starts: held
// charges, such as the periods of running totals, and schedules, such as those of discoveries. found says when the last
// period of each discovery ended.
type Planned interface {
	Ahead(next int64, found map[string]time.Time) ([]budget.Held, []budget.Schedule)
}

// Expect lets forecasts of a budget expect what a stream of it is charged beside its windows. It changes nothing that
// is charged, and does nothing if another budget has paid for the stream's last window.
func (b *Books) Expect(name, stream string, plan Planned) {
	e, ok := b.Latest(stream)
	if !ok || e.Budget != name {
		return
	}
	held, schedules := plan.Ahead(e.WindowStart.Add(e.Every).UnixNano(), b.Lanes(stream))
	for i, s := range schedules {
		if s.Cap.Lane != "" { // its users are those who were chosen last
			schedules[i].Cap.Era = b.lastEra(stream, s.Cap.Lane)
		}
	}
	have := b.ahead[name]
	b.ahead[name] = ahead{append(have.held, held...), append(have.schedules, schedules...)}
}

type streamBook struct {
	lanes  map[lane]*decided
	latest Entry // the last window's entry, without its groups
	// unpaid is the end of the first window in the current run of withheld ones. It is zero if the last window was
	// paid.
	unpaid time.Time
}

func newStreamBook() *streamBook { return &streamBook{lanes: map[lane]*decided{}} }

// decided is what a lane has decided.
type decided struct {
	ends []int64    // of its windows, Unix nanoseconds, sorted
	cap  budget.Cap // of the latest one, if it has one
}

// of returns what a lane has decided, which may be nothing.
func (b *Books) of(stream string, at lane) decided {
	if s := b.streams[stream]; s != nil && s.lanes[at] != nil {
		return *s.lanes[at]
	}
	return decided{}
}

// NewBooks opens empty books.
func NewBooks() *Books {
	return &Books{
		streams: map[string]*streamBook{}, accounts: map[string]*budget.Account{}, continues: map[string][]string{},
		elsewhere: map[string]*budget.Account{}, lasting: newInstances(), ahead: map[string]ahead{},
	}
}

// Link says that other books keep the account of a budget. Budgets here that continue it use that account.
func (b *Books) Link(name string, other *Books) {
	account := other.open(name)
	b.elsewhere[name] = account
	for heir, old := range b.continues {
		if slices.Contains(old, name) {
			b.accounts[heir].Continue(account)
		}
	}
}

// Add adds the next entry. A window that is already in the books is charged again, because a second draw costs again.
func (b *Books) Add(e Entry) error {
	charge, err := e.Charge()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	account := b.account(e)
	account.Add(charge)
	if err := b.lasting.add(e, account); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	s := b.streams[e.Stream]
	if s == nil {
		s = newStreamBook()
		b.streams[e.Stream] = s
	}
	d := s.lanes[e.lane()]
	if d == nil {
		d = &decided{}
		s.lanes[e.lane()] = d
	}
	if at, found := slices.BinarySearch(d.ends, charge.End); !found {
		if at == len(d.ends) && charge.Cap != (budget.Cap{}) {
			d.cap = charge.Cap
		}
		d.ends = slices.Insert(d.ends, at, charge.End)
	}
	e.Groups, e.Continual, e.Ended, e.Periods, e.Rollups, e.List = nil, nil, nil, nil, nil, nil
	e.Together, e.Objectives = nil, nil
	if e.Lane != "" && s.latest.Stream == "" {
		s.latest = e // until there is a window
		s.latest.Price, s.latest.Releases, s.latest.Discovery, s.latest.Reason = nil, nil, nil, ""
		s.latest.Cap = budget.Cap{}
	}
	if e.Lane == "" && !e.WindowEnd.Before(s.latest.WindowEnd) {
		s.latest = e
		switch {
		case e.Reason == "":
			s.unpaid = time.Time{}
		case s.unpaid.IsZero():
			s.unpaid = e.WindowEnd
		}
	}
	return nil
}

// account returns the account of the entry's budget, with its limit and the budgets that it continues.
func (b *Books) account(e Entry) *budget.Account {
	a := b.open(e.Budget)
	a.SetLimit(e.Limit)
	b.continued(e.Budget, e.Continues)
	return a
}

// continued records that a budget took over others.
func (b *Books) continued(name string, old []string) {
	for _, old := range old {
		if old == name || slices.Contains(b.continues[name], old) {
			continue
		}
		b.continues[name] = append(b.continues[name], old)
		account := b.elsewhere[old]
		if account == nil {
			account = b.open(old)
		}
		b.accounts[name].Continue(account)
	}
}

func (b *Books) open(name string) *budget.Account {
	a := b.accounts[name]
	if a == nil {
		a = budget.NewAccount(budget.Limit{})
		b.accounts[name] = a
	}
	return a
}

// Settle decides whether a window can be paid, and which instances look at it. It fills in the entry's Reason,
// Continual and Standing, and does not add the entry. The decisions depend only on earlier entries, on the entry's
// window, prices and limit, and on which instances it ends. What was drawn stays.
func (b *Books) Settle(e *Entry) error {
	e.Reason = ""
	charge, err := e.Charge()
	if err != nil {
		return err
	}
	a := b.account(*e)
	if len(e.Price) > 0 && !a.Fits(charge) {
		e.Reason, charge.Items = record.BudgetExhausted, nil
	}
	b.lasting.settle(e, a, charge)
	e.Standing, err = b.Standing(*e)
	return err
}

// Finish fills in what follows from what was drawn for the instances that look at a settled window.
func (b *Books) Finish(e *Entry) error {
	if err := b.lasting.finish(e); err != nil {
		return fmt.Errorf("%s: %w", e.Name(), err)
	}
	return nil
}

// Standing returns the state of the books after an entry that is not added yet.
func (b *Books) Standing(e Entry) (Standing, error) {
	charge, err := e.Charge()
	if err != nil {
		return Standing{}, err
	}
	arms, err := e.arms()
	if err != nil {
		return Standing{}, err
	}
	return b.standing(e, append(arms, charge)...), nil
}

// standing returns the state of the books at an entry, as if the charges in plus were added.
func (b *Books) standing(e Entry, plus ...budget.Charge) Standing {
	a, end := b.account(e), e.WindowEnd.UnixNano()
	return Standing{
		StreamSpent: e.withPaidElsewhere(epsilon(a.StreamTotal(e.Stream, plus...))),
		BudgetSpent: epsilon(a.Spent(end, plus...)),
		WindowsLeft: a.WindowsLeft(e.Stream, e.Cap, e.Price, end, plus...),
		Lost: Lost{
			Stream: e.withPaidElsewhere(epsilon(a.LostIn(e.Stream, math.MinInt64, math.MaxInt64, plus...))),
			Budget: epsilon(a.Lost("", end, plus...)), Used: a.Used(e.Stream, e.Cap.Lane, e.Price, end, plus...),
		},
	}
}

// complete reports whether the books have the accounts of all budgets that the entry's budget continues.
func (b *Books) complete(e Entry) bool {
	return !slices.ContainsFunc(e.Continues, func(old string) bool {
		return b.elsewhere[old] == nil && (b.accounts[old] == nil || b.accounts[old].Limit().Equal(budget.Limit{}))
	})
}

func epsilon(s budget.Spending) *decimal.Decimal {
	if s.Unbounded {
		return nil
	}
	return &s.Epsilon
}

// Has reports whether the window of an entry, in the entry's lane, is decided: released or withheld.
func (b *Books) Has(e Entry) bool {
	_, found := slices.BinarySearch(b.of(e.Stream, e.lane()).ends, e.WindowEnd.UnixNano())
	return found
}

// Last returns the end of the latest decided window of a stream's epoch, or false if there is none.
func (b *Books) Last(stream string, epoch uint32) (time.Time, bool) {
	return b.LastOf(stream, epoch, "")
}

// LastOf returns the end of the latest decided period of a discovery of a stream's epoch, or false if there is none.
func (b *Books) LastOf(stream string, epoch uint32, of string) (time.Time, bool) {
	ends := b.of(stream, lane{epoch, of}).ends
	if len(ends) == 0 {
		return time.Time{}, false
	}
	return time.Unix(0, ends[len(ends)-1]).UTC(), true
}

// Lanes returns the end of the last period of each discovery of a stream.
func (b *Books) Lanes(stream string) map[string]time.Time {
	ends := map[string]time.Time{}
	if s := b.streams[stream]; s != nil {
		for at, d := range s.lanes {
			if last := time.Unix(0, d.ends[len(d.ends)-1]).UTC(); at.name != "" && last.After(ends[at.name]) {
				ends[at.name] = last
			}
		}
	}
	return ends
}

// lastEra returns the era in which the users of a discovery of a stream were chosen last.
func (b *Books) lastEra(stream, discovery string) int64 {
	era, last := int64(0), int64(math.MinInt64)
	for at, d := range b.streams[stream].lanes {
		if end := d.ends[len(d.ends)-1]; at.name == discovery && end > last {
			era, last = d.cap.Era, end
		}
	}
	return era
}

// Streams returns the names of the streams with entries, sorted.
func (b *Books) Streams() []string { return slices.Sorted(maps.Keys(b.streams)) }

// Budgets returns the names of the budgets with entries, sorted.
func (b *Books) Budgets() []string {
	var names []string
	for name, a := range b.accounts {
		if !a.Limit().Equal(budget.Limit{}) { // otherwise others only name it as one that they continue
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Latest returns the stream's last entry without its groups, or false if there is none.
func (b *Books) Latest(stream string) (Entry, bool) {
	s := b.streams[stream]
	if s == nil {
		return Entry{}, false
	}
	return s.latest, true
}

// OpenInstances lists the instances of a budget that have not ended, sorted by stream, name and number. The caller must
// not change the list, which is valid until an entry is added.
func (b *Books) OpenInstances(budget string) []OpenInstance { return b.lasting.going[budget] }

// Paid returns what a budget has paid for a stream, and what others had paid before it.
func (b *Books) Paid(name, stream string) PaidElsewhere {
	paid := PaidElsewhere{}
	if latest, ok := b.Latest(stream); ok && latest.Budget == name {
		maps.Copy(paid, latest.PaidElsewhere)
	}
	if a := b.accounts[name]; a != nil {
		paid[name] = epsilon(a.StreamTotal(stream))
	}
	return paid
}

// withPaidElsewhere adds what earlier budgets had paid for the stream to own, which is what the entry's budget has
// paid. nil means that no ε bounds it. A budget that has been taken over since is left out, because own has its
// charges.
func (e Entry) withPaidElsewhere(own *decimal.Decimal) *decimal.Decimal {
	for _, spent := range e.PaidElsewhere.Without(append(slices.Clone(e.Continues), e.Budget)) {
		if own == nil || spent == nil {
			return nil
		}
		own = new(own.Add(*spent))
	}
	return own
}

// PaidElsewhere is what earlier budgets of a stream had paid for it, by name: budgets whose spending the present one
// does not count. nil means that no ε bounds it.
type PaidElsewhere map[string]*decimal.Decimal

// Without returns a copy without some budgets, or nil if none is left.
func (p PaidElsewhere) Without(names []string) PaidElsewhere {
	left := maps.Clone(p)
	maps.DeleteFunc(left, func(name string, _ *decimal.Decimal) bool { return slices.Contains(names, name) })
	if len(left) == 0 {
		return nil
	}
	return left
}

// Cap returns the cap of the latest decided window of a stream's epoch, or of the latest period of one of its
// discoveries, by its name. It is the zero value if there is none.
func (b *Books) Cap(stream string, epoch uint32, of string) budget.Cap {
	return b.of(stream, lane{epoch, of}).cap
}

// Era returns the era of a stream's definition, in Unix seconds. begins is when its first window, or the first period
// of a discovery, begins, in Unix nanoseconds. of makes the cap of an era.
//
// The era is that first moment, unless something was charged under its cap before. That is so where a definition was
// replaced after it had begun, because a clock was wrong. The two definitions choose their users separately, so what
// they cost must add up. Then the era is the last second before that is free.
func (b *Books) Era(stream string, begins int64, of func(era int64) budget.Cap) int64 {
	era := begins / int64(time.Second)
	for b.charged(stream, of(era)) {
		era--
	}
	return era
}

// charged reports whether some budget was charged for a stream under a cap.
func (b *Books) charged(stream string, c budget.Cap) bool {
	for _, accounts := range []map[string]*budget.Account{b.accounts, b.elsewhere} {
		for _, a := range accounts {
			if a.Knows(stream, c) {
				return true
			}
		}
	}
	return false
}

// PublishedInstance is what the records of a continual figure say of one of its instances.
type PublishedInstance struct {
	Number int64
	Cost   []budget.Item
	// From and To are the ends of the first and the last window that it looked at, in Unix nanoseconds.
	From, To int64
	// Until is when it ends at the latest; 0 if that is not known.
	Until int64
	// Leaves are the ends of its leaves, in Unix nanoseconds, if it is charged for each of them. Any day costs it once.
	Leaves []int64
	// Over says that it looks at no more windows, Fired that it has fired. Withheld says that since then none may be
	// armed.
	Over, Fired, Withheld bool
}

// mostPublished bounds the gaps that a record can make.
const mostPublished = 1 << 20

// AddPublished adds the instances of a continual figure, by number, for readers of output topics who do not see the
// ledger. Instances whose records are gone leave gaps, which cost nothing.
func (b *Books) AddPublished(budget, stream, figure string, all []PublishedInstance) error {
	name := continualName{budget, stream, figure}
	for _, s := range all {
		if s.Number < int64(len(b.lasting.of[name]))+1 || s.Number > mostPublished {
			return fmt.Errorf("instance %s follows number %d", name.instance(s.Number), len(b.lasting.of[name]))
		}
		for int64(len(b.lasting.of[name])) < s.Number-1 {
			b.lasting.of[name] = append(b.lasting.of[name], &instance{Over: true})
		}
		b.lasting.withheld[name] = s.Withheld
		a := &instance{Cost: s.Cost, From: s.From, Looked: s.To, Until: s.Until, Over: s.Over, Leafwise: len(s.Leaves) > 0}
		for _, end := range s.Leaves {
			b.open(budget).Add(charge(stream, end, s.Cost, leafCap(figure, s.Number, time.Unix(0, s.From))))
		}
		if s.Fired {
			a.Fired = new("")
		}
		if err := b.lasting.arm(b.open(budget), name, a); err != nil {
			return err
		}
	}
	return nil
}

// Join returns the books of all partitions together, for a report. It takes over the parts: do not use them afterwards.
// The charges of a budget are all in one partition. A stream that has changed its budget may be in several.
func Join(parts []*Books) *Books {
	all := NewBooks()
	streams := map[string][]*streamBook{}
	for _, b := range parts {
		for name, a := range b.accounts {
			// Elsewhere it is only named as one that another budget continues.
			if all.accounts[name] == nil || slices.Contains(b.Budgets(), name) {
				all.accounts[name] = a
			}
		}
		for heir, old := range b.continues {
			all.continues[heir] = append(all.continues[heir], old...)
		}
		for name, s := range b.streams {
			streams[name] = append(streams[name], s)
		}
		maps.Copy(all.lasting.of, b.lasting.of)
		maps.Copy(all.lasting.going, b.lasting.going)
		maps.Copy(all.lasting.withheld, b.lasting.withheld)
	}
	for heir, old := range all.continues {
		for _, name := range old {
			all.accounts[heir].Continue(all.accounts[name])
		}
	}
	for name, books := range streams {
		slices.SortFunc(books, func(s, t *streamBook) int { return s.latest.WindowEnd.Compare(t.latest.WindowEnd) })
		all.streams[name] = books[0]
		for _, later := range books[1:] {
			all.streams[name].append(later)
		}
	}
	return all
}

// append adds the later part of a stream's book. Each epoch is in one part only.
func (s *streamBook) append(later *streamBook) {
	if s.unpaid.IsZero() || later.unpaid.IsZero() || later.unpaid.UnixNano() > later.first() {
		s.unpaid = later.unpaid
	} // else no window was paid since
	s.latest = later.latest
	maps.Copy(s.lanes, later.lanes)
}

// first is the end of the first window, in Unix nanoseconds.
func (s *streamBook) first() int64 {
	first := int64(math.MaxInt64)
	for at, d := range s.lanes {
		if at.name == "" && len(d.ends) > 0 {
			first = min(first, d.ends[0])
		}
	}
	return first
}
