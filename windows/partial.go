package windows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Partial is a sealed bag: what one partition contributes to a window of a stream.
type Partial struct {
	Stream     string
	Window     Window
	Partition  int      // of the input topic
	Partitions int      // how many the input topic has
	Cut        int64    // records of the window below this offset count
	Attempt    [16]byte // random, new for every sealing
	ValuesOnly bool     // whether the payload leaves the users out, as given to [Bag.Seal]
	Payload    []byte   // what [Bag.Seal] returned
}

// A chunk is, numbers big-endian,
//
//	version, flags, 2 bytes of zero    4 bytes
//	CRC-32C of all other bytes         4
//	attempt                           16
//	window start, window end, cut      8 each
//	partition, partitions              4 each
//	index of the chunk, of how many    4 each
//	length of the stream's name        4, and the name
//	its part of the payload            the rest
const (
	chunkVersion = 1
	chunkHeader  = 4 + 4 + 16 + 3*8 + 5*4

	flagValuesOnly = 1
)

// Overhead returns how many bytes of each chunk are not payload.
func (p Partial) Overhead() int { return chunkHeader + len(p.Stream) }

// Chunks cuts the partial into messages of at most limit bytes each, of which an [Assembler] makes it whole again.
// limit must exceed [Partial.Overhead]; below that the chunks have one byte of payload each.
func (p Partial) Chunks(limit int) [][]byte {
	room := max(limit-p.Overhead(), 1)
	of := max((len(p.Payload)+room-1)/room, 1)
	chunks := make([][]byte, of)
	for i := range chunks {
		part := p.Payload[min(i*room, len(p.Payload)):min((i+1)*room, len(p.Payload))]
		b := make([]byte, 8, p.Overhead()+len(part))
		b[0] = chunkVersion
		if p.ValuesOnly {
			b[1] = flagValuesOnly
		}
		b = append(b, p.Attempt[:]...)
		b = binary.BigEndian.AppendUint64(b, uint64(p.Window.Start))
		b = binary.BigEndian.AppendUint64(b, uint64(p.Window.End))
		b = binary.BigEndian.AppendUint64(b, uint64(p.Cut))
		b = binary.BigEndian.AppendUint32(b, uint32(p.Partition))
		b = binary.BigEndian.AppendUint32(b, uint32(p.Partitions))
		b = binary.BigEndian.AppendUint32(b, uint32(i))
		b = binary.BigEndian.AppendUint32(b, uint32(of))
		b = binary.BigEndian.AppendUint32(b, uint32(len(p.Stream)))
		b = append(b, p.Stream...)
		b = append(b, part...)
		binary.BigEndian.PutUint32(b[4:], checksum(b))
		chunks[i] = b
	}
	return chunks
}

// checksum of a chunk. Kafka has one of its own, which not every client verifies.
func checksum(chunk []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(chunk[:4], table), table, chunk[8:])
}

// chunk is a decoded chunk: the partial with its part of the payload.
type chunk struct {
	Partial
	index, of uint32
}

// decodeChunk is the inverse of Chunks. The payload is part of data, not copied.
func decodeChunk(data []byte) (chunk, error) {
	if len(data) < chunkHeader {
		return chunk{}, fmt.Errorf("chunk has %d bytes, its header alone has %d", len(data), chunkHeader)
	}
	if data[0] != chunkVersion || data[1] > flagValuesOnly || data[2] != 0 || data[3] != 0 {
		return chunk{}, fmt.Errorf("chunk has version and flags %x, this program reads version %d", data[:4], chunkVersion)
	}
	if binary.BigEndian.Uint32(data[4:]) != checksum(data) {
		return chunk{}, errors.New("chunk does not match its checksum")
	}
	r := &reader{rest: data[8:]}
	var c chunk
	c.ValuesOnly = data[1] == flagValuesOnly
	copy(c.Attempt[:], r.bytes(16, "attempt"))
	c.Window = Window{int64(r.uint64("window start")), int64(r.uint64("window end"))}
	c.Cut = int64(r.uint64("cut"))
	c.Partition, c.Partitions = int(int32(r.uint32("partition"))), int(int32(r.uint32("partitions")))
	c.index, c.of = r.uint32("index"), r.uint32("of")
	c.Stream = string(r.bytes(int(int32(r.uint32("stream"))), "stream"))
	if r.err != nil {
		return chunk{}, fmt.Errorf("chunk: %w", r.err)
	}
	c.Payload = r.rest
	switch {
	case c.Window.Start >= c.Window.End:
		return chunk{}, fmt.Errorf("chunk's window starts at %s, not before its end %s", format(c.Window.Start), format(c.Window.End))
	case c.Partition < 0 || c.Partition >= c.Partitions:
		return chunk{}, fmt.Errorf("chunk is of partition %d of %d", c.Partition, c.Partitions)
	case c.index >= c.of:
		return chunk{}, fmt.Errorf("chunk has index %d of %d", c.index, c.of)
	}
	return c, nil
}

// ChunkOf tells which window of which stream a chunk belongs to. The error says that the chunk is corrupt.
func ChunkOf(data []byte) (stream string, w Window, err error) {
	c, err := decodeChunk(data)
	return c.Stream, c.Window, err
}
