package forecast

import (
	"encoding/binary"
	"math/big"
	"math/bits"
)

// lattice yields evenly spread points in place of random bits: word d of point i is (i+½)·a_d modulo 2^64, with
// irrational a_d/2^64 (Kronecker's sequence; Niederreiter 1992, chapter 3). Draws read one word for each random number,
// the most important ones first.
type lattice struct {
	steps []uint64 // a_d
	point uint64
	word  int
}

// wellSpread is the number of words from square roots of primes, which spread best. Later words hardly matter.
const wellSpread = 16

func newLattice() *lattice {
	l := &lattice{}
	for prime := int64(2); len(l.steps) < wellSpread; prime++ {
		if big.NewInt(prime).ProbablyPrime(0) {
			root := new(big.Int).Sqrt(new(big.Int).Lsh(big.NewInt(prime), 128)) // √prime·2^64
			l.steps = append(l.steps, new(big.Int).And(root, new(big.Int).SetUint64(1<<64-1)).Uint64())
		}
	}
	return l
}

// next moves to the next point.
func (l *lattice) next() *lattice {
	l.point++
	l.word = 0
	return l
}

// Read implements [io.Reader]. Eight bytes are a word. Each byte that is left over takes a word of its own.
func (l *lattice) Read(b []byte) (int, error) {
	n := 0
	for ; n+8 <= len(b); n += 8 {
		binary.LittleEndian.PutUint64(b[n:], l.coordinate())
	}
	for ; n < len(b); n++ {
		b[n] = byte(l.coordinate() >> 56)
	}
	return n, nil
}

func (l *lattice) coordinate() uint64 {
	d := l.word
	l.word++
	if d < len(l.steps) {
		return l.point*l.steps[d] - l.steps[d]/2
	}
	// Later words use other odd numbers, far from each other and from simple fractions (splitmix64).
	z := uint64(d) * 0x9e3779b97f4a7c15
	z = (z ^ bits.RotateLeft64(z, 32)) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return l.point * (z ^ z>>31 | 1)
}

// Uint64 makes it a source of math/rand/v2.
func (l *lattice) Uint64() uint64 { return l.coordinate() }
