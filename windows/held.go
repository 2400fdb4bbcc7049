package windows

import (
	"fmt"
	"slices"
)

// Held is a part with its place in the log.
type Held struct {
	Part // with Payload nil if it is not held
	// Offsets of its messages in the log, in the order of the payload.
	Offsets []int64
	size    int64 // of the payload, held or not
}

// assembly is a part that still lacks messages.
type assembly struct {
	first  chunk
	size   int64             // of the payload so far
	shares map[uint32][]byte // nil: there is no room
	at     map[uint32]int64
}

// part is the part that a complete assembly makes, without its payload.
func (a *assembly) part() *Held {
	h := &Held{Part: a.first.Part, size: a.size}
	for i := range a.first.of {
		h.Offsets = append(h.Offsets, a.at[i])
	}
	return h
}

// payload joins the shares of a complete assembly.
func (a *assembly) payload() []byte {
	if a.first.of == 1 {
		return a.shares[0]
	}
	payload := make([]byte, 0, a.size)
	for i := range a.first.of {
		payload = append(payload, a.shares[i]...)
	}
	return payload
}

// Size returns the bytes of the payloads of parts, held or not.
func Size(parts []*Held) (bytes int64) {
	for _, h := range parts {
		bytes += h.size
	}
	return bytes
}

// Assemble makes the payload of a part that is not held from its messages, which come in the order of [Held.Offsets].
// If there is only one, the payload is a piece of it.
func (h *Held) Assemble(messages [][]byte) ([]byte, error) {
	var payload []byte
	for i, data := range messages {
		c, _, err := decode(data)
		if err != nil {
			return nil, err
		}
		if c == nil || c.Attempt != h.Attempt || c.Slice != h.Slice || int(c.index) != i {
			return nil, fmt.Errorf("the message at offset %d of the log is not chunk %d of the part", h.Offsets[i], i)
		}
		if len(messages) == 1 {
			return c.Payload, nil
		}
		payload = append(slices.Grow(payload, max(0, int(h.size)-len(payload))), c.Payload...)
	}
	return payload, nil
}
