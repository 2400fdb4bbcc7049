package ledger

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows/period"
)

// stretch is what is added up over a stretch: the numbers of a histogram, or the users of an objective.
type stretch struct {
	// Release is the histogram, or the share that has the objective. Over is the length, such as 1h.
	Release string `json:"release"`
	Over    string `json:"over"`
	// Of is a digest of all that the windows must have in common.
	Of string `json:"of"`
	// Newest is the number of the newest window since 1970.
	Newest int64 `json:"newest"`
	// Windows counts the windows of the stream that were released.
	Windows track `json:"windows,omitempty"`
	// Groups are what was added up of the groups of the newest window, in its order. An objective has one track for all
	// groups: two numbers for each.
	Groups   []namedTrack `json:"groups,omitempty"`
	Together track        `json:"together,omitempty"`
}

// track holds blocks, the oldest first.
type track []block

type namedTrack struct {
	Name   string `json:"name"`
	Blocks track  `json:"blocks,omitempty"`
}

// block is what is added up over neighbouring windows. At is its number: that of its windows, divided by how many a
// block has.
type block struct {
	At int64 `json:"at"`
	tally
}

// tally says what was added up: of how many windows, how many of these had lost part of their input, and the numbers.
type tally struct {
	Released   int64 `json:"released"`
	Incomplete int64 `json:"incomplete,omitempty"`
	// Draws is how often each number was drawn, of all groups together.
	Draws   int64    `json:"draws,omitempty"`
	Numbers *Numbers `json:"numbers,omitempty"`
}

// plus adds another tally, with sums that stay within most in both directions. It shares nothing that it changes.
func (t tally) plus(o tally, most int64) tally {
	sum := &tally{}
	sum.add(t, most)
	sum.add(o, most)
	return *sum
}

// add adds another tally to one that shares nothing.
func (t *tally) add(o tally, most int64) {
	t.Released, t.Incomplete, t.Draws = t.Released+o.Released, t.Incomplete+o.Incomplete, t.Draws+o.Draws
	switch {
	case o.Numbers == nil:
	case t.Numbers == nil:
		t.Numbers = &Numbers{slices.Clone(o.Numbers.Raw), slices.Clone(o.Numbers.Coarse)}
	default:
		add(t.Numbers.Raw, o.Numbers.Raw, most)
		add(t.Numbers.Coarse, o.Numbers.Coarse, most)
	}
}

func add(to, more []int64, most int64) {
	for i := range to {
		to[i] = min(max(to[i]+more[i], -most), most)
	}
}

// with returns the blocks from first on, with a tally added to one of them if it is not nil.
func (t track) with(at, first int64, of *tally, most int64) track {
	next := slices.DeleteFunc(slices.Clone(t), func(b block) bool { return b.At < first })
	if of == nil || at < first {
		return next
	}
	i, found := slices.BinarySearchFunc(next, at, func(b block, at int64) int { return cmp.Compare(b.At, at) })
	if !found {
		next = slices.Insert(next, i, block{At: at})
	}
	next[i].tally = next[i].plus(*of, most)
	return next
}

// sum adds up all blocks.
func (t track) sum(most int64) tally {
	var all tally
	for _, b := range t {
		all.add(b.tally, most)
	}
	return all
}

// like reports whether all blocks have as many numbers as the given ones.
func (t track) like(n *Numbers) bool {
	return !slices.ContainsFunc(t, func(b block) bool {
		return b.Numbers == nil || len(b.Numbers.Raw) != len(n.Raw) || len(b.Numbers.Coarse) != len(n.Coarse)
	})
}

// windowTally is what a window adds to a stretch or a roll-up: for the stream, for each group, and for all groups
// together. Groups are nil if the window is withheld.
type windowTally struct {
	windows  *tally
	groups   []tally
	together *tally
	most     int64
}

// tallies returns what the i-th release of an entry, a histogram, adds.
func (e Entry) tallies(i int) windowTally {
	w := windowTally{most: histogram.MostUsers}
	if e.Reason != "" {
		return w
	}
	one := tally{Released: 1}
	if e.Incomplete {
		one.Incomplete = 1
	}
	w.windows = &one
	for _, g := range e.Groups {
		of := one
		of.Numbers = g.Values[i].Numbers
		w.groups = append(w.groups, of)
	}
	if e.Together != nil {
		of := one
		of.Draws = int64(len(e.Groups))
		of.Numbers = e.sumOfGroups(i)
		w.together = &of
	}
	return w
}

// stretches returns the stretches of a stream with an entry's window. What is not changed is shared with before.
func (e Entry) stretches(before []stretch) (all []stretch, err error) {
	for i, of := range e.Releases {
		names, digest, w := []string{""}, "", windowTally{}
		switch {
		case len(of.Last) > 0 && of.Buckets != nil:
			digest, err = e.alike(of)
			w, names = e.tallies(i), e.GroupNames()
		case len(of.Over) > 0:
			digest, w, err = e.usersOver(of)
		}
		if err != nil {
			return nil, err
		}
		for _, over := range slices.Concat(of.Last, of.Over) {
			length, err := period.Parse(over)
			if err != nil || length < e.Every || length%e.Every != 0 {
				return nil, fmt.Errorf("%s: the newest %q of %q; want a multiple of %s", e.Name(), over, of.Name,
					e.Every)
			}
			s := stretch{Release: of.Name, Over: over, Of: digest, Newest: math.MinInt64}
			if at := slices.IndexFunc(before, func(b stretch) bool {
				return b.Release == s.Release && b.Over == over && b.Of == digest && b.fits(w)
			}); at >= 0 {
				s = before[at]
			}
			all = append(all, s.with(e, names, w))
		}
	}
	return all, nil
}

// fits reports whether the numbers of a window can be added. The digest says so, unless a checkpoint is damaged.
func (s stretch) fits(w windowTally) bool {
	if len(w.groups) == 0 {
		return true
	}
	n := w.groups[0].Numbers
	return s.Together.like(n) && !slices.ContainsFunc(s.Groups, func(t namedTrack) bool { return !t.Blocks.like(n) })
}

// shape is how the stretch is divided. Of a length that is no length, it has no windows.
func (s stretch) shape(every time.Duration) period.Stretch {
	length, _ := period.Parse(s.Over)
	return period.NewStretch(length, every)
}

// with adds a window. One that is older than the newest counts in the block that it belongs to, if that is still there.
func (s stretch) with(e Entry, names []string, w windowTally) stretch {
	shape := s.shape(e.Every)
	number := shape.Window(e.WindowStart)
	late, before := number < s.Newest, s.Groups
	s.Newest = max(s.Newest, number)
	at, first := shape.Block(number), shape.First(s.Newest)
	s.Windows = s.Windows.with(at, first, w.windows, w.most)
	if s.Together = s.Together.with(at, first, w.together, w.most); e.Together == nil && !late {
		s.Together = nil
	}
	if s.Groups = slices.Clone(before); !late { // the groups are those of the newest window
		s.Groups = make([]namedTrack, len(names))
	}
	places := make(map[string]int, len(before))
	for i, t := range before {
		places[t.Name] = i
	}
	for g, name := range names {
		i, known := places[name]
		var blocks track
		if known {
			blocks = before[i].Blocks
		}
		var of *tally
		if w.groups != nil {
			of = &w.groups[g]
		}
		if blocks = blocks.with(at, first, of, w.most); !late {
			s.Groups[g] = namedTrack{name, blocks}
		} else if known {
			s.Groups[i].Blocks = blocks
		}
	}
	return s
}

// newest reports whether the stretch ends with an entry's window.
func (s stretch) newest(e Entry) bool { return s.Newest == s.shape(e.Every).Window(e.WindowStart) }

// Last reports whether a roll-up is over the newest time, so that every window has one.
func (up Rollup) Last() bool { return strings.HasPrefix(up.Period, record.LastPrefix) }

// rollup returns the roll-up of a histogram over a stretch that ends with an entry's window.
func (s stretch) rollup(e Entry) (up Rollup, err error) {
	since, of := s.shape(e.Every).Since(s.Newest)
	windows := s.Windows.sum(histogram.MostUsers)
	up = Rollup{Release: s.Release, Period: record.LastPrefix + s.Over, Since: record.Whole(since),
		Windows: record.Windows{Of: of, Released: windows.Released, Incomplete: windows.Incomplete}}
	if windows.Released == 0 {
		return up, nil
	}
	sums := totals{groups: make([]tally, len(s.Groups))}
	for g, t := range s.Groups {
		sums.groups[g] = t.Blocks.sum(histogram.MostUsers)
	}
	if len(s.Together) > 0 {
		sums.together = new(s.Together.sum(histogram.MostUsers))
	}
	return up, e.rollUp(&up, sums)
}

// Objective is what the objective of a share adds up: the users above its limit and all users, over the newest time. It
// costs nothing, because it follows from what was drawn for the share's histogram.
type Objective struct {
	// Release is the share.
	Release string `json:"release"`
	// Over are the sums over each of its stretches, in the order of the release.
	Over []Over `json:"over"`
}

// Over are sums over one stretch, which ends with the entry's window.
type Over struct {
	// Over is the length of the stretch. It has Of windows, of which Windows are added up.
	Over    string `json:"over"`
	Of      int64  `json:"of"`
	Windows int64  `json:"windows"`
	// Sums are the users above the limit, and all users, of each group, in multiples of [histogram.Unit]. They are
	// unbiased, and may be negative. There are none if no window is added up.
	Sums [][2]int64 `json:"sums,omitempty"`
}

// mostSum bounds the sums of objectives, so that they are exact in a double.
const mostSum = 1 << 53

// usersOver returns what a window adds to the sums of an objective: one tally with two numbers for each group. The
// digest is of all that windows have in common.
func (e Entry) usersOver(share record.Series) (digest string, w windowTally, err error) {
	i := e.release(share.From)
	if i < 0 || share.Above == nil {
		return "", w, fmt.Errorf("%s: %q adds up users above a limit of %q, which is no histogram of the entry",
			e.Name(), share.Name, share.From)
	}
	if digest, err = e.alike(e.Releases[i]); err != nil {
		return "", w, err
	}
	d := sha256.Sum256([]byte(digest + " " + share.Above.String()))
	digest, w.most = hex.EncodeToString(d[:16]), mostSum
	if e.Reason != "" {
		return digest, w, nil
	}
	h, err := e.histogramAt(i)
	if err != nil {
		return "", w, err
	}
	at := slices.IndexFunc(h.free, func(f freeFigure) bool { return e.Releases[f.at].Name == share.Name })
	if at < 0 {
		return "", w, fmt.Errorf("%s: %q is not computed from %q", e.Name(), share.Name, share.From)
	}
	n, bucket := &Numbers{}, h.free[at].figure.Bucket()
	for _, g := range e.Groups {
		if err := h.fits(g.Values[i].Numbers); err != nil {
			return "", w, fmt.Errorf("%s: %w", e.Name(), err)
		}
		above, all := h.estimate(*g.Values[i].Numbers).Above(bucket)
		for _, x := range []int64{above, all} {
			n.Raw = append(n.Raw, min(max(x, -mostSum), mostSum))
		}
	}
	w.windows = &tally{Released: 1}
	w.groups = []tally{{Released: 1, Numbers: n}}
	return digest, w, nil
}

// objective adds the sums over a stretch to those of the objectives before.
func (s stretch) objective(e Entry, all []Objective) []Objective {
	_, of := s.shape(e.Every).Since(s.Newest)
	sum := s.Groups[0].Blocks.sum(mostSum)
	over := Over{Over: s.Over, Of: of, Windows: sum.Released}
	if n := sum.Numbers; n != nil {
		for g := range len(n.Raw) / 2 {
			over.Sums = append(over.Sums, [2]int64{n.Raw[2*g], n.Raw[2*g+1]})
		}
	}
	if n := len(all); n == 0 || all[n-1].Release != s.Release {
		all = append(all, Objective{Release: s.Release})
	}
	last := &all[len(all)-1]
	last.Over = append(last.Over, over)
	return all
}

// over returns what the record of a share says of its objective in the g-th group; nil if it has none.
func (e Entry) over(release string, g int) (all []record.Over) {
	for _, o := range e.Objectives {
		if o.Release != release {
			continue
		}
		for _, over := range o.Over {
			x := record.Over{Over: over.Over, Of: over.Of, Windows: over.Windows}
			if g < len(over.Sums) {
				x.Above, x.Users = users(over.Sums[g][0]), users(over.Sums[g][1])
			}
			all = append(all, x)
		}
	}
	return all
}

// users writes a number of multiples of [histogram.Unit] exactly.
func users(n int64) *json.Number {
	d := decimal.NewFromInt(n).Mul(unit)
	return new(json.Number(d.String()))
}

var unit = decimal.RequireFromString(strconv.FormatFloat(histogram.Unit, 'f', -1, 64))

// checkObjectives checks that objectives are of shares of the entry, with sums of all groups.
func (e Entry) checkObjectives() error {
	for _, o := range e.Objectives {
		i := e.release(o.Release)
		if i < 0 || len(e.Releases[i].Over) != len(o.Over) {
			return fmt.Errorf("an objective of %q, which is no share with these stretches", o.Release)
		}
		for at, over := range o.Over {
			_, err := period.Parse(over.Over)
			if err != nil || over.Over != e.Releases[i].Over[at] || over.Windows < 0 || over.Windows > over.Of ||
				over.Windows > 0 && len(over.Sums) != len(e.Groups) {
				return fmt.Errorf("the objective of %q has %d of %d windows over %q, with sums of %d groups", o.Release,
					over.Windows, over.Of, over.Over, len(over.Sums))
			}
		}
	}
	return nil
}
