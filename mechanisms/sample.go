package mechanisms

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/louver/louver/mechanisms/smooth"
)

// MaxUsers is the largest sample: below it, the utilities fit into 62 bits. [New] refuses a query that expects more
// users. A draw from a larger sample fails. That reveals that the sample is larger, but nothing else can be done.
const MaxUsers = 1 << 28

// Point is a grid index and how many users hold it. Index −1 is a value below the grid, N+1 one above.
type Point struct{ Index, Count int64 }

// Sample is the multiset of one window's values, with one value for each user. Values beyond the grid count at its
// ends, and also for [Outside]. It is immutable and safe for concurrent use.
type Sample struct {
	values []int64 // distinct indices in 0..N, ascending
	upTo   []int64 // upTo[j] users hold values[:j+1]
	n      int64
	most   int64 // users at the value that most of them hold
	under  int64 // users below the grid …
	over   int64 // … and above it

	once sync.Once
	sums *smooth.Values // for draws that need sums
}

// NewSample builds a sample from points and copies them. Their type is [Point] or one like it. It drops points without
// users, sorts the others and merges repeated ones.
func NewSample[P ~struct{ Index, Count int64 }](g *Grid, points []P) *Sample {
	if !ascend(points) {
		points = slices.Clone(points)
		slices.SortFunc(points, byIndex)
	}
	s := &Sample{values: make([]int64, 0, len(points)), upTo: make([]int64, 0, len(points))}
	for _, x := range points {
		p := Point(x)
		if p.Count <= 0 {
			continue
		}
		switch {
		case p.Index < 0:
			s.under += min(p.Count, 1<<40)
		case p.Index > g.last:
			s.over += min(p.Count, 1<<40)
		}
		s.n += min(p.Count, 1<<40) // more than any mechanism accepts, and their sums do not overflow
		value := min(max(p.Index, 0), g.last)
		if last := len(s.values) - 1; last >= 0 && s.values[last] == value {
			s.upTo[last] = s.n
			continue
		}
		s.values = append(s.values, value)
		s.upTo = append(s.upTo, s.n)
	}
	before := int64(0)
	for _, upTo := range s.upTo {
		s.most, before = max(s.most, upTo-before), upTo
	}
	return s
}

// ascend reports whether no point is below the one before it.
func ascend[P ~struct{ Index, Count int64 }](points []P) bool {
	for i := 1; i < len(points); i++ {
		if Point(points[i]).Index < Point(points[i-1]).Index {
			return false
		}
	}
	return true
}

// added returns the sample with the sums of its values. The first draw that needs them adds them up.
func (s *Sample) added() *smooth.Values {
	s.once.Do(func() { s.sums = smooth.NewValues(s.values, s.upTo) })
	return s.sums
}

func byIndex[P ~struct{ Index, Count int64 }](a, b P) int {
	return cmp.Compare(Point(a).Index, Point(b).Index)
}

// outside returns how many users hold a value beyond the grid.
func (s *Sample) outside() int64 { return s.under + s.over }

// Users returns the exact number of users. It is private.
func (s *Sample) Users() int64 { return s.n }

// Check returns an error if there are more than [MaxUsers].
func (s *Sample) Check() error {
	if s.n > MaxUsers {
		return fmt.Errorf("there are more than %d users in a group, which is the most that a mechanism takes: "+
			"divide the users into more groups", MaxUsers)
	}
	return nil
}

// Below returns how many users hold a value less than the index x. It is private.
func (s *Sample) Below(x int64) int64 { return s.before(s.position(x)) }

// position returns the position of the first distinct value of at least x.
func (s *Sample) position(x int64) int {
	j, _ := slices.BinarySearch(s.values, x)
	return j
}

// AtMost returns how many users hold a value of at most the index x. It is private.
func (s *Sample) AtMost(x int64) int64 { return s.Below(x + 1) }

// before returns how many users hold the j smallest distinct values.
func (s *Sample) before(j int) int64 {
	if j == 0 {
		return 0
	}
	return s.upTo[j-1]
}

// count returns how many users hold the j-th distinct value.
func (s *Sample) count(j int) int64 { return s.upTo[j] - s.before(j) }

// at returns the position among the distinct values of the i-th smallest value, 1 ≤ i ≤ n, ties counted.
func (s *Sample) at(i int64) int {
	j, _ := slices.BinarySearch(s.upTo, i)
	return j
}
