package windows

// names are the names in an open bag, and their numbers: 0 for the first, 1 for the second. A name takes no pointer of
// its own, and is never moved.
type names struct {
	// rows has a row for each name, by its hash: order is where its text begins, and value how long it is.
	rows   table
	blocks [][]byte // of texts, one after another. Only the first block grows
}

// textBlock is the size of a block of texts, unless one name is longer. textBits is how many bits of a place say where
// in its block a text is.
const (
	textBlock = 1 << 16
	textBits  = 32
)

func newNames() *names { return &names{rows: newTable()} }

// number returns the number of a name with this hash. It does not keep name.
func (s *names) number(name []byte, hash [2]uint64) int32 {
	r, slot := s.rows.next(hash, s.rows.place(hash))
	if r != nil {
		return int32(s.rows.number(slot))
	}
	s.rows.insertAt(slot, &row{user: hash, order: s.store(name), value: int64(len(name))})
	return int32(s.rows.n - 1)
}

// store keeps a text, and returns where.
func (s *names) store(text []byte) int64 {
	last := len(s.blocks) - 1
	if last < 0 || len(s.blocks[last])+len(text) > max(textBlock, cap(s.blocks[last])) {
		var block []byte
		if last >= 0 {
			block = make([]byte, 0, max(textBlock, len(text)))
		}
		s.blocks = append(s.blocks, block)
		last++
	}
	at := len(s.blocks[last])
	s.blocks[last] = append(s.blocks[last], text...)
	return int64(last)<<textBits | int64(at)
}

func (s *names) len() int { return s.rows.n }

// hash returns the hash of the name with this number.
func (s *names) hash(number int32) [2]uint64 { return s.rows.row(uint32(number)).user }

// text returns the name with this number. It must not be changed.
func (s *names) text(number int32) []byte {
	r := s.rows.row(uint32(number))
	at := r.order & (1<<textBits - 1)
	return s.blocks[r.order>>textBits][at : at+r.value]
}

// bytes is how much memory the names take.
func (s *names) bytes() int64 {
	sum := s.rows.bytes() + 24*int64(cap(s.blocks))
	if n := len(s.blocks); n > 0 {
		sum += int64(cap(s.blocks[0])) + textBlock*int64(n-1)
	}
	return sum
}
