// Package exact draws from distributions without approximating them.
//
// Random bits come from a [Source]. Whole numbers, coins with rational probability and the discrete Laplace law need
// integers only. Where a probability is a real number, such as a choice with weights w·e^{−κk}, a uniform number is
// compared with it, and both are known to as many digits as the comparison needs: first as float64 with a bound of
// the error, and in the rare case that the bound leaves the answer open as intervals of ever longer numbers, the
// uniform one getting more random bits. The float64 values therefore decide only what they can prove, and the law of
// every answer is the ideal one, bit for bit (the interval refining of Haney et al., 2022).
//
// The time taken depends on the answer, as with every exact sampler; what is drawn here is released on a public
// schedule.
package exact

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
)

// Source hands out random bits of a reader. It is not safe for concurrent use.
//
// When the reader fails, Err reports it for good and the bits that follow are worthless: they only let loops end. The
// caller checks Err once, at the end, and then discards the outcome.
type Source struct {
	reader  io.Reader
	buffer  [256]byte
	read    int // bytes in the buffer
	unread  int // of them
	err     error
	ersatz  uint64
	refined int
}

// firstRead is how many bytes are read at first. Most draws need no more; those that do read twice as many each time, up
// to the whole buffer.
const firstRead = 64

// NewSource returns a source of the reader's bits, which must be uniform and independent. It reads ahead.
func NewSource(reader io.Reader) *Source {
	s := &Source{}
	s.Reset(reader)
	return s
}

// Reset makes the source read from another reader and forgets bits read ahead.
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
		s.ersatz += 0x9e3779b97f4a7c15 // Weyl sequence, scrambled: covers all residues, so that every loop ends
		return (s.ersatz ^ s.ersatz>>29) * 0xbf58476d1ce4e5b9
	}
	v := binary.LittleEndian.Uint64(s.buffer[s.read-s.unread:])
	s.unread -= 8
	return v
}

// Below returns a uniform whole number in 0 ≤ x < n, for n ≥ 1 (Lemire 2019: a product's high word, rejecting the
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
