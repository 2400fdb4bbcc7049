package rules

import (
	"fmt"
	"math"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
)

// knowledge says what is known about how often a window's band misses the truth.
type knowledge int

const (
	// exactly: each window misses with this probability, independently of the windows before.
	exactly knowledge = iota
	// atMost: each window misses with at most this probability, whatever the windows before did.
	atMost
	// nominal: this share of the windows misses if the band keeps its level. Misses may cluster.
	nominal
)

// band says what is known about the band of a series, louver_release_low to louver_release_high, from its definition
// alone.
type band struct {
	// miss is the probability that the band of one window is entirely on a given side of the truth.
	miss  float64
	known knowledge
	// reach is the distance from the value to each end if it is the same for all windows, else 0.
	reach float64
	// basis says in words where the band comes from.
	basis string
	// together says that all groups together are looked at as one more group, and without is their name if they are not.
	together bool
	without  string
}

// bandOf returns the band of a release's series: what the basis of its records will be. ok is false if they have no
// band.
//
// A count has noise Z of a known law and the band v ± t for the published error t. It lies above a truth n if n + Z − t
// > n, with probability P(Z > t), which is a^(t+1)/(1+a), a = e^−ε, for geometric. Cutting counts at 0 does not matter
// here: it moves only values below 0. The same holds for the other side.
//
// Each end of a paid interval is beyond the truth with probability at most (1 − level)/2, for any data (see
// mechanisms).
//
// The published error of a mean or sum holds for at least 95 % of draws, so one side misses in at most 5 %. It does not
// cover what the mechanism's clip cuts off.
//
// The band of a median or quantile follows from how far the last values of the series lie apart. It is designed to miss
// 2.5 % on each side. But the law of the noise alone does not imply this, and bands of different windows are computed
// from the same releases.
func bandOf(s *config.Stream, r *config.Release) (b band, ok bool) {
	q := r.Query
	epsilon := q.Epsilon.String()
	if r.Mechanism.Counts() {
		noise := mechanisms.NoisyCount{Epsilon: q.Epsilon.InexactFloat64(), Mechanism: r.Mechanism.Name()}
		t := noise.Error95()
		return band{miss: noise.Tail(t), known: exactly, reach: float64(t),
			basis: "the noise of a count with ε " + epsilon}, true
	}
	if q.Interval != nil {
		eta := (1 - q.Interval.InexactFloat64()) / 2
		basis := fmt.Sprintf("the paid interval of level %s, ε %s", q.Interval, epsilon)
		return band{miss: eta, known: atMost, basis: basis}, true
	}
	if least, ok := q.BandFrom(); ok && s.Counting() != nil {
		basis := fmt.Sprintf("the 95 %% band, from the scatter of earlier figures, ε %s (with fewer than %d users "+
			"there is none, and the alert is silent)", epsilon, least)
		return band{miss: 0.025, known: nominal, basis: basis}, true
	}
	if math.IsNaN(r.Mechanism.Errors(mechanisms.Public{})[0].Error95) {
		return band{}, false
	}
	basis := "the published error of the noise with ε " + epsilon
	if mechanisms.Clips(r.Mechanism) {
		basis += ", which does not include what the mechanism's clip cuts off"
	}
	return band{miss: 0.05, known: atMost, basis: basis}, true
}
