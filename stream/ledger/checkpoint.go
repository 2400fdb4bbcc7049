package ledger

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

// checkpoint is a [State] as it is stored. Times are in whole seconds. Its parts have names, and a program that does
// not know one of them reads the entries instead. `louver audit` compares checkpoints, so the same entries have to lead
// to the same bytes as long as [version] stays.
type checkpoint struct {
	Version   int    `json:"v"`
	App       string `json:"app"`
	Partition int    `json:"partition"`
	// Entries counts the entries in the state, and Offset is the offset of the last one. Chain is the digest of all of
	// them, and Before of all but the last.
	Entries int64          `json:"entries"`
	Offset  int64          `json:"offset"`
	Chain   digest         `json:"chain"`
	Before  digest         `json:"before"`
	Budgets []storedBudget `json:"budgets"`
	Streams []storedStream `json:"streams"`
}

type storedBudget struct {
	Budget    string            `json:"budget"`
	Limit     budget.Limit      `json:"limit"`
	Continues []string          `json:"continues,omitempty"`
	Charges   []storedCharges   `json:"charges,omitempty"`
	Steps     []storedContinual `json:"steps,omitempty"`
	Lists     []storedList      `json:"lists,omitempty"`
	Followers []storedShown     `json:"followers,omitempty"`
}

type storedCharges struct {
	Stream string        `json:"stream"`
	Cap    budget.Cap    `json:"cap,omitzero"`
	Items  []budget.Item `json:"items"`
	Ends   runs          `json:"ends"`
}

type storedStream struct {
	Stream string         `json:"stream"`
	Epochs []storedEpoch  `json:"epochs"`
	Latest stored         `json:"latest"` // without its groups
	Unpaid *record.Second `json:"unpaid_since,omitempty"`
	Recent []storedRecent `json:"recent,omitempty"`
	Every  string         `json:"every,omitempty"` // of the last of Recent
	// Rollups are the periods of histograms that are not over, and Stretches what is added up over the newest time.
	Rollups   []sums    `json:"rollups,omitempty"`
	Stretches []stretch `json:"stretches,omitempty"`
}

type storedEpoch struct {
	Epoch uint32     `json:"epoch"`
	Lane  string     `json:"row,omitempty"`
	Ends  runs       `json:"ends"`
	Cap   budget.Cap `json:"cap,omitzero"`
}

// storedRecent holds consecutive windows that published the same series.
type storedRecent struct {
	series
	Ends    []int64  `json:"ends"`
	Figures []string `json:"figures"`
}

// runs are moments in order, as runs of equal steps: the first moment, the step, and the number of moments. A year of
// minutes is a single run.
type runs [][3]int64

func runsOf(ends []int64) runs {
	r := runs{}
	for _, end := range ends {
		end /= int64(time.Second)
		last := len(r) - 1
		switch {
		case last >= 0 && r[last][2] == 1:
			r[last][1], r[last][2] = end-r[last][0], 2
		case last >= 0 && end == r[last][0]+r[last][1]*r[last][2]:
			r[last][2]++
		default:
			r = append(r, [3]int64{end, 0, 1})
		}
	}
	return r
}

// mostEnds bounds how many windows a checkpoint may unpack to. farthest bounds the end of a window, in Unix seconds.
const (
	mostEnds = 1 << 28
	farthest = math.MaxInt64 / int64(time.Second)
)

// ends unpacks runs of at most left windows in all, and subtracts them from left.
func (r runs) ends(left *int64) ([]int64, error) {
	n := int64(0)
	for _, run := range r {
		first, step, count := run[0], run[1], run[2]
		if first < -farthest || first > farthest || step < 0 || count < 1 || count > *left ||
			count > 1 && step > (farthest-first)/(count-1) {
			return nil, fmt.Errorf("a run of %d windows with a step of %d s from %d on; want at most %d",
				count, step, first, *left)
		}
		n, *left = n+count, *left-count
	}
	out := make([]int64, 0, n)
	for _, run := range r {
		for i := range run[2] {
			out = append(out, (run[0]+i*run[1])*int64(time.Second))
		}
	}
	if !slices.IsSorted(out) {
		return nil, fmt.Errorf("windows out of order")
	}
	return out, nil
}

// MarshalText writes a digest in hexadecimal.
func (d digest) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(d[:])), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("digest %q; want %d digits", text, hex.EncodedLen(len(d)))
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// Checkpoint encodes the state for [Restore]. It is nil if the state has no entries or the offset of the last one is
// unknown. Its size grows with the number of streams and budgets, and with what adaptive streams have published lately,
// but not with the number of consecutive windows.
func (s *State) Checkpoint() ([]byte, error) {
	if s.offset < 0 {
		return nil, nil
	}
	c := checkpoint{
		Version: version, App: s.app, Partition: s.partition,
		Entries: s.entries, Offset: s.offset, Chain: s.chain, Before: s.before,
		Budgets: []storedBudget{}, Streams: []storedStream{},
	}
	for _, name := range s.Books.Budgets() {
		a := s.Books.accounts[name]
		b := storedBudget{
			Budget: name, Limit: a.Limit(),
			Continues: s.Books.continues[name], Steps: s.Books.lasting.stored(name),
			Lists:     s.history.lists.stored(name),
			Followers: s.history.lists.followers(name),
		}
		for _, of := range a.Charges() {
			b.Charges = append(b.Charges, storedCharges{of.Stream, of.Cap, of.Items, runsOf(of.Ends)})
		}
		c.Budgets = append(c.Budgets, b)
	}
	for _, name := range s.Books.Streams() {
		book := s.Books.streams[name]
		latest, err := book.latest.stored()
		if err != nil {
			return nil, err
		}
		one := storedStream{Stream: name, Latest: latest, Recent: s.history.lately.streams[name].stored()}
		for _, at := range slices.SortedFunc(maps.Keys(book.lanes), lane.compare) {
			of := book.lanes[at]
			one.Epochs = append(one.Epochs, storedEpoch{at.epoch, at.name, runsOf(of.ends), of.cap})
		}
		if !book.unpaid.IsZero() {
			unpaid := record.Whole(book.unpaid)
			one.Unpaid = &unpaid
		}
		if len(one.Recent) > 0 {
			one.Every = budget.FormatPer(s.history.lately.streams[name].every)
		}
		if open := s.history.rollups.streams[name]; open != nil {
			one.Rollups, one.Stretches = open.open, open.stretches
		}
		c.Streams = append(c.Streams, one)
	}
	return json.Marshal(c)
}

func (r *recent) stored() (all []storedRecent) {
	if r == nil {
		return nil
	}
	var of *series
	for _, p := range r.windows {
		if p.of != of {
			of = p.of
			all = append(all, storedRecent{series: *of})
		}
		last := &all[len(all)-1]
		last.Ends = append(last.Ends, p.End/int64(time.Second))
		last.Figures = append(last.Figures, p.text)
	}
	return all
}

// Restore reads a partition's [State.Checkpoint]. The state then needs the partition's entries from [State.From] on.
// Every error is an [ErrCheckpoint].
func Restore(text []byte, app string, partition int) (*State, error) {
	s, err := restore(text, app, partition)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	return s, nil
}

func restore(text []byte, app string, partition int) (*State, error) {
	var c checkpoint
	parts := json.NewDecoder(bytes.NewReader(text))
	parts.DisallowUnknownFields() // a part that a later release needs
	err := parts.Decode(&c)
	if err != nil && c.Version == 0 {
		return nil, err
	}
	if err := checkVersion(c.Version); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	if parts.More() {
		return nil, errors.New("more than one value of JSON")
	}
	if c.App != app || c.Partition != partition || c.Entries < 1 || c.Offset < c.Entries-1 {
		return nil, fmt.Errorf(
			"it is of partition %d of app %q, with %d entries up to offset %d; want partition %d of app %q",
			c.Partition, c.App, c.Entries, c.Offset, partition, app)
	}
	state := NewState(app, partition)
	state.entries, state.offset, state.chain, state.before = c.Entries, c.Offset, c.Chain, c.Before
	state.history.lately.entries, state.history.rollups.entries = c.Entries, c.Entries
	state.awaits, state.unproven = true, true
	// Each entry decides one window, and charges at most that and a leaf of each figure that is charged so.
	charged, decided := min(c.Entries, mostEnds), min(c.Entries, mostEnds)
	for _, b := range c.Budgets {
		if slices.ContainsFunc(b.Steps, storedContinual.leafwise) {
			charged = min(c.Entries*int64(1+len(b.Steps)), mostEnds)
		}
	}
	for _, b := range c.Budgets {
		if err := state.Books.restoreBudget(b, &charged); err != nil {
			return nil, fmt.Errorf("budget %q: %w", b.Budget, err)
		}
		if err := state.history.lists.restore(b.Budget, b.Lists, b.Followers); err != nil {
			return nil, fmt.Errorf("budget %q: %w", b.Budget, err)
		}
	}
	for _, s := range c.Streams {
		if err := state.restoreStream(s, &decided); err != nil {
			return nil, fmt.Errorf("stream %q: %w", s.Stream, err)
		}
	}
	return state, nil
}

func (b *Books) restoreBudget(s storedBudget, windows *int64) error {
	a := b.open(s.Budget)
	a.SetLimit(s.Limit)
	b.continued(s.Budget, s.Continues)
	for _, c := range s.Charges {
		ends, err := c.Ends.ends(windows)
		if err != nil {
			return err
		}
		if err := a.AddAll(budget.Charges{Stream: c.Stream, Cap: c.Cap, Items: c.Items, Ends: ends}); err != nil {
			return err
		}
	}
	return b.lasting.restore(s.Budget, s.Steps, a)
}

func (s *State) restoreStream(from storedStream, windows *int64) (err error) {
	if s.Books.streams[from.Stream] != nil {
		return errors.New("it is listed twice")
	}
	book := newStreamBook()
	if book.latest, err = from.Latest.entry(); err != nil {
		return err
	}
	if err := book.latest.checkWindow(); err != nil {
		return err
	}
	if _, err := budget.Canonical(book.latest.Price); err != nil {
		return err
	}
	if s.Books.accounts[book.latest.Budget] == nil {
		return fmt.Errorf("it is charged to budget %q, which is not listed", book.latest.Budget)
	}
	for _, e := range from.Epochs {
		at := lane{e.Epoch, e.Lane}
		if book.lanes[at] != nil {
			return fmt.Errorf("epoch %d is listed twice", e.Epoch)
		}
		ends, err := e.Ends.ends(windows)
		if err != nil {
			return err
		}
		if len(ends) == 0 {
			return fmt.Errorf("epoch %d has no windows; want at least one", e.Epoch)
		}
		book.lanes[at] = &decided{ends, e.Cap}
	}
	if from.Unpaid != nil {
		book.unpaid = from.Unpaid.UTC()
	}
	s.Books.streams[from.Stream] = book
	if len(from.Rollups)+len(from.Stretches) > 0 {
		s.history.rollups.streams[from.Stream] = &summed{from.Rollups, from.Stretches, book.latest.ReleasedAt}
	}
	if len(from.Recent) == 0 {
		return nil
	}
	r := &recent{released: book.latest.ReleasedAt}
	if r.every, err = budget.ParsePer(from.Every); err != nil || r.every <= 0 {
		return fmt.Errorf("every %q; want a positive duration", from.Every)
	}
	for _, group := range from.Recent {
		if len(group.Ends) != len(group.Figures) || len(group.Ends) == 0 {
			return fmt.Errorf("%d windows with %d figures", len(group.Ends), len(group.Figures))
		}
		of := &series{Groups: group.Groups, Releases: group.Releases}
		for i, end := range group.Ends {
			r.windows = append(r.windows, Past{end * int64(time.Second), of, group.Figures[i]})
		}
	}
	s.history.lately.streams[from.Stream] = r
	return nil
}
