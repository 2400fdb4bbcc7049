package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows/period"
)

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
