package codec

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// avroWalk is one walk over a datum. It reads what github.com/twmb/avro reads, apart from values that nobody wants: of
// these only the frame is looked at, so a decimal or time out of its range is no reason to reject a record there. The
// sizes of blocks are not believed, which that library does not do either. A wanted decimal of more than 1,024 bytes is
// no value. Memory does not depend on lengths and counts that a record claims.
type avroWalk struct {
	slots [avroSlots]field
	texts [avroSlots][]byte
}

const (
	// avroDeepest is how deep records, unions, arrays and maps may be nested.
	avroDeepest = 1000
	// mostEmpties is how many items without a width an array may have.
	mostEmpties = 4096
	// largestScale is the largest scale of a big-decimal, which is in the datum.
	largestScale = 1 << 16
)

// run reads a value that begins at i and returns where it ends; −1 if it is no such value.
func (w *avroWalk) run(p *avroProgram, b []byte, i, depth int) int {
	for k := range p.operations {
		o := &p.operations[k]
		switch o.code {
		case avroFixed:
			if o.size > len(b)-i {
				return -1
			}
			i += o.size
		case avroInt:
			_, i = avroInt32(b, i)
		case avroLong:
			_, i = avroInt64(b, i)
		case avroBytes:
			_, i = avroLength(b, i)
		case avroEnum:
			_, i = avroIndex(b, i, o.size)
		case avroRecord, avroUnion, avroArray, avroEmpties, avroMap, avroTakeVariable:
			if depth >= avroDeepest {
				return -1
			}
			i = w.enter(o, b, i, depth+1)
		default:
			i = w.take(o, b, i)
		}
		if i < 0 {
			return -1
		}
	}
	return i
}

// enter reads a value that holds others.
func (w *avroWalk) enter(o *avroOperation, b []byte, i, depth int) int {
	switch o.code {
	case avroRecord:
		return w.run(o.parts[0], b, i, depth)
	case avroUnion:
		var branch int
		if branch, i = avroIndex(b, i, len(o.parts)); i < 0 {
			return -1
		}
		return w.run(o.parts[branch], b, i, depth)
	case avroTakeVariable:
		w.slots[avroScale], w.slots[avroUnscaled] = field{}, field{}
		if i = w.run(o.parts[0], b, i, depth); i >= 0 {
			w.slots[roleValue] = w.variable()
		}
		return i
	case avroMap:
		return w.entries(o, b, i, depth)
	}
	var all int64 // of the items of all blocks
	for {
		var count int64
		if count, i = avroBlock(b, i); i < 0 || count == 0 {
			return i
		}
		if o.code == avroEmpties {
			if count > mostEmpties-all {
				return -1
			}
			all += count
			count = 1
		}
		for range count { // each item is at least a byte long, so a wrong count ends with the datum
			if i = w.run(o.parts[0], b, i, depth); i < 0 {
				return -1
			}
		}
	}
}

// entries reads a map. Of equal keys the last one counts.
func (w *avroWalk) entries(o *avroOperation, b []byte, i, depth int) int {
	for {
		var count int64
		if count, i = avroBlock(b, i); i < 0 || count == 0 {
			return i
		}
		for range count {
			start, end := avroLength(b, i)
			if end < 0 {
				return -1
			}
			value := o.parts[0]
			for k := range o.keys {
				if key := &o.keys[k]; string(b[start:end]) == key.name {
					value = key.value
					for _, slot := range key.slots {
						w.slots[slot] = field{}
					}
				}
			}
			if i = w.run(value, b, end, depth); i < 0 {
				return -1
			}
		}
	}
}

// take reads a value that is a field.
func (w *avroWalk) take(o *avroOperation, b []byte, i int) int {
	f := field{kind: other}
	start := i
	switch o.code {
	case avroTakeText:
		if start, i = avroLength(b, i); i >= 0 && utf8.Valid(b[start:i]) {
			f = field{kind: text, text: b[start:i]}
		}
	case avroTakeInt:
		var n int32
		n, i = avroInt32(b, i)
		f = whole(int64(n))
	case avroTakeLong:
		var n int64
		n, i = avroInt64(b, i)
		f = whole(n)
	case avroTakeTime:
		var n int64
		n, i = avroInt64(b, i)
		f = instantOf(n/(1e9/int64(o.size)), n%(1e9/int64(o.size))*int64(o.size))
	case avroTakeFloat:
		if i += 4; i > len(b) {
			return -1
		}
		f = single(&w.texts[o.slots[0]], math.Float32frombits(binary.LittleEndian.Uint32(b[start:])))
	case avroTakeDouble:
		if i += 8; i > len(b) {
			return -1
		}
		f = double(binary.LittleEndian.Uint64(b[start:]))
	case avroTakeTruth:
		if i++; i > len(b) {
			return -1
		}
		f = truthOf(b[start] == 1)
	case avroTakeSymbol:
		var symbol int
		if symbol, i = avroIndex(b, i, len(o.names)); i >= 0 {
			f = field{kind: text, text: o.names[symbol]}
		}
	case avroTakeBytes:
		if start, i = avroLength(b, i); i >= 0 {
			f.text = b[start:i]
		}
	case avroTakeDecimal:
		if start, i = avroLength(b, i); i >= 0 {
			f = w.decimal(o.slots[0], b[start:i], o.scale)
		}
	case avroTakeFixed, avroTakeFixedDecimal:
		if o.size > len(b)-i {
			return -1
		}
		if i += o.size; o.code == avroTakeFixed {
			f.text = b[start:i]
		} else {
			f = w.decimal(o.slots[0], b[start:i], o.scale)
		}
	case avroTakeBigDecimal:
		if start, i = avroLength(b, i); i < 0 {
			return -1
		}
		payload := b[start:i]
		from, to := avroLength(payload, 0)
		if to < 0 {
			return -1
		}
		scale, end := avroInt64(payload, to)
		if end != len(payload) || scale > largestScale || scale < -largestScale {
			return -1
		}
		f = w.decimal(o.slots[0], payload[from:to], scale)
	}
	if i >= 0 {
		for _, slot := range o.slots {
			w.slots[slot] = f
		}
	}
	return i
}

// decimal is a whole number in two's complement, divided by a power of ten. No bytes are 0.
func (w *avroWalk) decimal(slot int, twos []byte, scale int64) field {
	f, ok := decimalOf(&w.texts[slot], twos, scale)
	if len(twos) == 0 {
		return whole(0)
	}
	if !ok {
		return field{kind: other}
	}
	return f
}

// variable is the decimal of the scale and the value that were last read.
func (w *avroWalk) variable() field {
	scale, twos := &w.slots[avroScale], &w.slots[avroUnscaled]
	if scale.kind == exact && twos.kind == other {
		if f, ok := decimalOf(&w.texts[roleValue], twos.text, scale.n); ok {
			return f
		}
	}
	return field{kind: other}
}

// avroInt64 reads a long, in at most ten bytes.
func avroInt64(b []byte, i int) (n int64, next int) {
	if i < len(b) && b[i] < 0x80 {
		u := b[i]
		return int64(u>>1) ^ -int64(u&1), i + 1
	}
	u, size := binary.Uvarint(b[i:])
	if size <= 0 {
		return 0, -1
	}
	return int64(u>>1) ^ -int64(u&1), i + size
}

// avroInt32 reads an int, in at most five bytes.
func avroInt32(b []byte, i int) (n int32, next int) {
	u, size := binary.Uvarint(b[i:])
	if size <= 0 || size > 5 || u > math.MaxUint32 {
		return 0, -1
	}
	return int32(u>>1) ^ -int32(u&1), i + size
}

// avroIndex reads an index of so many symbols or branches.
func avroIndex(b []byte, i, most int) (index, next int) {
	if i < len(b) && b[i] < 0x80 && b[i]&1 == 0 && int(b[i]>>1) < most {
		return int(b[i] >> 1), i + 1
	}
	n, next := avroInt32(b, i)
	if n < 0 || int(n) >= most {
		return 0, -1
	}
	return int(n), next
}

// avroLength reads the length of bytes, and returns where they begin and end.
func avroLength(b []byte, i int) (start, end int) {
	n, start := avroInt64(b, i)
	if start < 0 || n < 0 || n > int64(len(b)-start) {
		return 0, -1
	}
	return start, start + int(n)
}

// avroBlock reads how many items a block has; 0 ends an array or a map. A negative number has the block's size behind
// it.
func avroBlock(b []byte, i int) (count int64, next int) {
	if count, next = avroInt64(b, i); next >= 0 && count < 0 {
		count = -count
		_, next = avroInt64(b, next)
	}
	if next < 0 || count < 0 {
		return 0, -1
	}
	return count, next
}
