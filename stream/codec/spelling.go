package codec

// A key of JSON is a user as it is written. {"id":1,"at":2} and { "at": 2, "id": 1 } say the same and are two users.
// Only a producer can make them one: if Louver changed keys before they count, whoever is in an open window when that
// begins would count twice there, and lose ε twice.

// Spelled says how a key is written that is an object or an array of JSON.
type Spelled struct {
	// Shape stands for what is in it: the names and the nesting, whatever the values are, and in whichever order an
	// object has its members.
	Shape uint64
	// Way stands for how that is written: the order of the members, and the white space.
	Way uint64
}

// SpellingOf returns how a key is written. ok is false if it is neither an object nor an array of JSON. Keys with the
// same Shape and another Way may be of one person. Different keys may seem alike, with a chance of about 2⁻⁶⁴.
func SpellingOf(key []byte) (s Spelled, ok bool) {
	if i := skipSpace(key, 0); i == len(key) || key[i] != '{' && key[i] != '[' {
		return s, false
	}
	w := speller{text: key, way: fnvOffset}
	w.space()
	s.Shape = w.value(1)
	w.space()
	s.Way = w.way
	return s, w.at == len(key)
}

// FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv.
const fnvOffset, fnvPrime = 14695981039346656037, 1099511628211

func fnv(h uint64, text []byte) uint64 {
	for _, c := range text {
		h = (h ^ uint64(c)) * fnvPrime
	}
	return h
}

// speller reads a text from left to right. at is −1 once it is no JSON.
type speller struct {
	text []byte
	at   int
	way  uint64
}

// pass takes the text up to end, which is a part of the way it is written.
func (w *speller) pass(end int) {
	if w.at >= 0 && end >= 0 {
		w.way = fnv(w.way, w.text[w.at:end])
	}
	w.at = end
}

func (w *speller) space() {
	if w.at >= 0 {
		w.pass(skipSpace(w.text, w.at))
	}
}

// next returns the next character; 0 at the end.
func (w *speller) next() byte {
	if w.at < 0 || w.at == len(w.text) {
		return 0
	}
	return w.text[w.at]
}

// value reads a value and returns its shape.
func (w *speller) value(depth int) uint64 {
	c := w.next()
	if c != '{' && c != '[' {
		if c == 0 {
			w.at = -1
			return 0
		}
		w.at = scanValue(w.text, w.at, depth, nil) // values are no part of how they are written
		return 1
	}
	if depth > maxDepth {
		w.at = -1
		return 0
	}
	shape, end := fnv(fnvOffset, []byte{c}), byte(']')
	if c == '{' {
		end = '}'
	}
	w.pass(w.at + 1)
	w.space()
	for n, empty := uint64(1), w.next() == end; !empty; n++ {
		if c == '[' {
			shape += n * (fnvPrime ^ w.value(depth+1))
		} else {
			shape += w.member(depth)
		}
		if w.space(); w.next() == end {
			break
		}
		if w.next() != ',' {
			w.at = -1
			return 0
		}
		w.pass(w.at + 1)
		w.space()
	}
	w.pass(w.at + 1)
	return shape
}

// member reads a name and its value.
func (w *speller) member(depth int) uint64 {
	next, name, _ := scanName(w.text, w.at)
	w.pass(next)
	if w.space(); w.at < 0 {
		return 0
	}
	shape := fnv(fnvOffset, name)
	return shape * (w.value(depth+1) | 1)
}
