package mechanisms

import "encoding/binary"

// AppendBinary appends cells and weights in a fixed form, the same bytes for the same measure on every machine. It
// implements encoding.BinaryAppender and never fails.
func (m *Measure) AppendBinary(b []byte) ([]byte, error) {
	for j, w := range m.weight {
		b = binary.BigEndian.AppendUint64(b, uint64(m.bounds[j]))
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return binary.BigEndian.AppendUint64(b, uint64(m.bounds[len(m.bounds)-1])), nil
}
