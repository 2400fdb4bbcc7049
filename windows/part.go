package windows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"math"
	"slices"
)

// Part holds what the records of one input partition between two offsets contribute to one slice of a stream.
//
// Parts of one slice merge in any order, and may overlap: each policy that chooses does so by a total order, so
// choosing among chosen records gives the same result as choosing among all. Where contributions add up,
// [Gathering.Parts] returns parts that do not overlap. This needs the users' hashes, so every part has them: see the
// package documentation.
type Part struct {
	Origin
	Slice   Window
	Payload []byte // what [Bag.Seal] returned
}

// Origin says where parts come from, and which of them were written together.
type Origin struct {
	Stream    string
	Epoch     uint32 // of the stream's definition
	Partition int    // of the input topic
	From, To  int64  // the records with From ≤ offset < To
	Attempt   [16]byte
}

// Mark follows the parts that were written together with it. Marks of one partition form a chain, in which each begins
// at or below the end of the one before. If one begins above, parts are missing.
type Mark struct {
	Origin
	// Partitions is how many partitions of the input topic a window that is cut here takes.
	Partitions int
	// Lost is how many records between From and To were deleted before they were read.
	Lost int64
	// Slices are the starts of the slices that have a part, ascending, in Unix nanoseconds.
	Slices []int64
	// Since is when the mark before it in the chain was written, in Unix nanoseconds of its writer's clock: everything
	// below From was in the log by then. 0 means that it is not known.
	Since int64
	// The mark cuts the windows that end in (After, Through]: only records below To count in them. Those that end at
	// After or before were cut earlier. A mark with Through = After cuts none.
	After, Through int64
}

// A message in the log of parts and marks has this form, with big-endian numbers:
//
//	version, kind, 0, 0         1 byte each
//	CRC-32C of all other bytes  4
//	attempt                     16
//	from, to                    8 each
//	epoch, partition            4 each
//	length of the name          4, and the stream's name
//
// In a part, this follows:
//
//	start and end of the slice             8 each
//	index of the chunk, of how many        4 each
//	its share of the payload               the rest
//
// In a mark, this follows:
//
//	after, through, lost, since   8 each
//	partitions                    4
//	number of slices              4, and their starts, 8 each
const (
	messageVersion = 3
	messageHeader  = 8 + 16 + 2*8 + 3*4

	kindPart = 0
	kindMark = 1
)

// partOverhead returns how many bytes of each of a part's messages are not payload.
func (o Origin) partOverhead() int { return messageHeader + len(o.Stream) + 2*8 + 2*4 }

func (o Origin) begin(kind byte, size int) []byte {
	b := make([]byte, 8, messageHeader+len(o.Stream)+size)
	b[0], b[1] = messageVersion, kind
	b = append(b, o.Attempt[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(o.From))
	b = binary.BigEndian.AppendUint64(b, uint64(o.To))
	b = binary.BigEndian.AppendUint32(b, o.Epoch)
	b = binary.BigEndian.AppendUint32(b, uint32(o.Partition))
	b = binary.BigEndian.AppendUint32(b, uint32(len(o.Stream)))
	return append(b, o.Stream...)
}

// checksum returns the checksum of a message, which may be in several pieces. Kafka has its own, but not every client
// verifies it.
func checksum(message []byte, rest ...[]byte) uint32 {
	sum := crc32.Update(crc32.Checksum(message[:4], castagnoliTable), castagnoliTable, message[8:])
	for _, piece := range rest {
		sum = crc32.Update(sum, castagnoliTable, piece)
	}
	return sum
}

// Messages splits the part into messages of at most limit bytes, which a [Gathering] puts together again. If the limit
// leaves no room for payload, each message has one byte of it.
func (p Part) Messages(limit int) (messages [][]byte) {
	for head, share := range p.Split(limit) {
		messages = append(messages, append(head, share...))
	}
	return messages
}

// Split yields the messages in two pieces each, of which the second is a share of the payload that is not copied.
func (p Part) Split(limit int) iter.Seq2[[]byte, []byte] {
	return func(yield func(head, share []byte) bool) {
		room := max(limit-p.partOverhead(), 1)
		of := max((len(p.Payload)+room-1)/room, 1)
		for i := range of {
			share := p.Payload[min(i*room, len(p.Payload)):min((i+1)*room, len(p.Payload))]
			b := p.begin(kindPart, 2*8+2*4)
			b = binary.BigEndian.AppendUint64(b, uint64(p.Slice.Start))
			b = binary.BigEndian.AppendUint64(b, uint64(p.Slice.End))
			b = binary.BigEndian.AppendUint32(b, uint32(i))
			b = binary.BigEndian.AppendUint32(b, uint32(of))
			binary.BigEndian.PutUint32(b[4:], checksum(b, share))
			if !yield(b, share) {
				return
			}
		}
	}
}

// Message encodes the mark.
func (m Mark) Message() []byte {
	b := m.begin(kindMark, 4*8+2*4+8*len(m.Slices))
	b = binary.BigEndian.AppendUint64(b, uint64(m.After))
	b = binary.BigEndian.AppendUint64(b, uint64(m.Through))
	b = binary.BigEndian.AppendUint64(b, uint64(m.Lost))
	b = binary.BigEndian.AppendUint64(b, uint64(m.Since))
	b = binary.BigEndian.AppendUint32(b, uint32(m.Partitions))
	b = binary.BigEndian.AppendUint32(b, uint32(len(m.Slices)))
	for _, s := range m.Slices {
		b = binary.BigEndian.AppendUint64(b, uint64(s))
	}
	binary.BigEndian.PutUint32(b[4:], checksum(b))
	return b
}

// chunk is one message of a part: the part with its share of the payload.
type chunk struct {
	Part
	index, of uint32
}

// decode decodes a message: it returns either a chunk or a mark. The payload is part of data, not copied.
func decode(data []byte) (*chunk, *Mark, error) {
	if len(data) < messageHeader {
		return nil, nil, fmt.Errorf("message has %d bytes; its header alone has %d", len(data), messageHeader)
	}
	if data[0] != messageVersion || data[1] > kindMark || data[2] != 0 || data[3] != 0 {
		return nil, nil, fmt.Errorf("message begins with %x; want version %d", data[:4], messageVersion)
	}
	if binary.BigEndian.Uint32(data[4:]) != checksum(data) {
		return nil, nil, errors.New("message does not match its checksum")
	}
	r := &reader{rest: data[8:]}
	var o Origin
	copy(o.Attempt[:], r.bytes(16, "attempt"))
	o.From, o.To = int64(r.uint64("from")), int64(r.uint64("to"))
	o.Epoch, o.Partition = r.uint32("epoch"), int(int32(r.uint32("partition")))
	o.Stream = string(r.bytes(int(int32(r.uint32("stream"))), "stream"))
	if o.From > o.To || o.Partition < 0 {
		r.fail("offsets %d to %d of partition %d", o.From, o.To, o.Partition)
	}
	if data[1] == kindMark {
		m := decodeMark(o, r)
		if r.err != nil {
			return nil, nil, fmt.Errorf("mark: %w", r.err)
		}
		return nil, m, nil
	}
	c := &chunk{Part: Part{Origin: o}}
	c.Slice = Window{int64(r.uint64("slice start")), int64(r.uint64("slice end"))}
	c.index, c.of = r.uint32("index"), r.uint32("of")
	switch {
	case r.err != nil:
	case c.Slice.Start >= c.Slice.End:
		r.fail("the slice starts at %s, not before its end %s", format(c.Slice.Start), format(c.Slice.End))
	case c.index >= c.of || c.of > math.MaxInt32:
		r.fail("chunk has index %d of %d", c.index, c.of)
	}
	if r.err != nil {
		return nil, nil, fmt.Errorf("part: %w", r.err)
	}
	c.Payload = r.rest
	return c, nil, nil
}

func decodeMark(o Origin, r *reader) *Mark {
	m := &Mark{Origin: o}
	m.After, m.Through, m.Lost = int64(r.uint64("after")), int64(r.uint64("through")), int64(r.uint64("lost"))
	m.Since = int64(r.uint64("since"))
	m.Partitions = int(int32(r.uint32("partitions")))
	n := r.uint32("slices")
	if r.err == nil && int(n) != len(r.rest)/8 || len(r.rest)%8 != 0 {
		r.fail("%d slices in %d bytes", n, len(r.rest))
	}
	if r.err == nil && (m.Through < m.After || m.Lost < 0 || m.Partitions < 0) {
		r.fail("windows from %s to %s, %d lost, %d partitions",
			format(m.After), format(m.Through), m.Lost, m.Partitions)
	}
	for range n {
		if r.err != nil {
			return nil
		}
		m.Slices = append(m.Slices, int64(r.uint64("slice")))
	}
	return m
}

// Held is a part with its place in the log.
type Held struct {
	Part // with Payload nil if it is not held
	// Offsets of its messages in the log, in the order of the payload.
	Offsets []int64
	size    int64 // of the payload, held or not

	// place is that of its mark, if each record must count once, and marked is where in the log the mark is.
	place  place
	marked int64
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
