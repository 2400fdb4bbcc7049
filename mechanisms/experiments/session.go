package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// session holds the settings of a run of experiments.
type session struct {
	folder    string
	quick     bool
	vertebral string
	log       func(format string, arguments ...any)
}

// reps returns how often to repeat an experiment.
func (s *session) reps(usual, quick int) int {
	if s.quick {
		return quick
	}
	return usual
}

// clock returns how long one draw takes, in microseconds.
func (s *session) clock(draw func() error) (float64, error) {
	start, draws := time.Now(), 0
	for ; time.Since(start) < time.Duration(s.reps(50, 1))*time.Millisecond; draws++ {
		if err := draw(); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(start).Microseconds()) / float64(draws), nil
}

// repeatable returns the same bits for the same arguments, so that a run can be repeated: AES in counter mode, with a
// key derived from them. No real release uses it.
func repeatable(arguments ...any) *stream {
	key := sha256.Sum256([]byte(fmt.Sprint(arguments...)))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // 32 bytes are a valid key
	}
	return &stream{cipher.NewCTR(block, make([]byte, aes.BlockSize))}
}

type stream struct{ cipher.Stream }

var _ io.Reader = (*stream)(nil)

func (s *stream) Read(p []byte) (int, error) {
	clear(p)
	s.XORKeyStream(p, p)
	return len(p), nil
}

// uniform returns a number in (0, 1).
func (s *stream) uniform() float64 {
	var word [8]byte
	s.XORKeyStream(word[:], word[:])
	return (float64(binary.LittleEndian.Uint64(word[:])>>12) + 0.5) * 0x1p-52
}
