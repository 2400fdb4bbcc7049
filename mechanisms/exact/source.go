// Package exact draws from distributions without approximating them.
//
// Random bits come from a [Source]. Whole numbers, coins with rational probability and the discrete Laplace law need
// only integers. If a probability is a real number, as in a choice with weights w·e^{−κk}, a uniform number is compared
// with it, and both are computed to as many digits as the comparison needs. First both are float64 with a bound on the
// error. In the rare case that this leaves the answer open, both become intervals of ever longer numbers, and the
// uniform number gets more random bits. So float64 decides only what it can prove, and every answer follows the ideal
// law, bit for bit (the interval refining of Haney et al., 2022).
//
// As with every exact sampler, the time taken depends on the answer. Louver releases these draws on a public schedule.
package exact

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
)

// Source supplies random bits from a reader. It is not safe for concurrent use.
//
// After the reader fails, Err reports the failure for ever and further bits are worthless: they only let loops end. The
// caller checks Err once, at the end, and discards the outcome if there is an error.
type Source struct {
	reader  io.Reader
	buffer  [256]byte
	read    int // bytes in the buffer
	unread  int // bytes in the buffer not yet used
	err     error
	filler  uint64
	refined int
}

// firstRead is the number of bytes in the first read. Most draws need no more; each further read is twice as long, up
// to the whole buffer.
const firstRead = 64

// NewSource returns a source of the reader's bits, which must be uniform and independent. It reads ahead.
func NewSource(reader io.Reader) *Source {
	s := &Source{}
	s.Reset(reader)
	return s
}

// Reset switches to another reader and discards bits that were read ahead.
func (s *Source) Reset(reader io.Reader) {
	s.reader, s.read, s.unread, s.err, s.refined = reader, 0, 0, nil, 0
}

// Err returns the reader's first error.
func (s *Source) Err() error { return s.err }

// Refined counts the decisions that float64 left open.
func (s *Source) Refined() int { return s.refined }

// Uint64 returns 64 random bits.
func (s *Source) Uint64() uint64 {
	if s.unread == 0 && s.err == nil {
		s.read = min(max(firstRead, 2*s.read), len(s.buffer))
		if _, err := io.ReadFull(s.reader, s.buffer[:s.read]); err != nil {
			s.err = fmt.Errorf("reading random bits: %w", err)
		}
		s.unread = s.read
	}
	if s.err != nil {
		s.filler += 0x9e3779b97f4a7c15 // scrambled Weyl sequence: covers all residues, so every loop ends
		return (s.filler ^ s.filler>>29) * 0xbf58476d1ce4e5b9
	}
	v := binary.LittleEndian.Uint64(s.buffer[s.read-s.unread:])
	s.unread -= 8
	return v
}

// Below returns a uniform whole number in 0 ≤ x < n, for n ≥ 1 (Lemire 2019: the high word of a product, rejecting the
// surplus).
func (s *Source) Below(n uint64) uint64 {
	hi, lo := bits.Mul64(s.Uint64(), n)
	if lo < n {
		for surplus := -n % n; lo < surplus; {
			hi, lo = bits.Mul64(s.Uint64(), n)
		}
	}
	return hi
}

// Coin returns true with probability num/den, for 0 ≤ num ≤ den, den ≥ 1.
func (s *Source) Coin(num, den uint64) bool { return s.Below(den) < num }
