package codec

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/dustin/go-humanize/english"
)

// A topic may hold several kinds of events, of which a stream wants one. Its conditions say which. Events that do not
// meet them are skipped: they are neither events of the stream nor rejected by it. Whether an event is skipped depends
// on that event alone, so conditions cost no privacy.

// MaxConditions is how many conditions a Spec may have.
const MaxConditions = 8

// Condition says what a field must be so that a record counts. Exactly one of Is, Not, Exists, Missing and the two
// limits is given. A field that is missing or null meets only Not and Missing. Texts are compared byte by byte, and
// numbers by their values. A text never equals a number, except that columns of CSV and headers have no types: where
// the condition has a number, they are read as one.
type Condition struct {
	// Field is a path, or a column, as in a [Spec].
	Field string
	// Is has the operands of which the field is one, and Not those that it must not be.
	Is, Not []Operand
	// Above and Below are numbers between which the field lies, ends excluded; zero: no limit.
	Above, Below Operand
	// Exists says that the field is there, whatever it is, and Missing that it is not.
	Exists, Missing bool
}

// Operand is a text or a number that fields are compared with; true and false are their texts.
type Operand struct {
	Text   string
	Number bool // the text is a number in JSON's notation
}

func (o Operand) given() bool { return o != Operand{} }

// String writes an operand as a streams file does.
func (o Operand) String() string {
	if o.Number || o.Text == "true" || o.Text == "false" {
		return o.Text
	}
	return strconv.Quote(o.Text)
}

// String writes a condition as a streams file does, such as status: [200, 201].
func (c Condition) String() string {
	text := ""
	switch {
	case len(c.Is) > 0:
		text = written(c.Is)
	case len(c.Not) > 0:
		text = "{not: " + written(c.Not) + "}"
	case c.Above.given() && c.Below.given():
		text = fmt.Sprintf("{above: %s, below: %s}", c.Above, c.Below)
	case c.Above.given():
		text = fmt.Sprintf("{above: %s}", c.Above)
	case c.Below.given():
		text = fmt.Sprintf("{below: %s}", c.Below)
	default:
		text = fmt.Sprintf("{exists: %v}", c.Exists)
	}
	return c.Field + ": " + text
}

// written is a list of operands in a streams file. One alone needs no brackets.
func written(all []Operand) string {
	var texts []string
	for _, o := range all {
		texts = append(texts, o.String())
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// InWords says for a reader what events must be like to count: "status = 200 or 201, total > 0 and no coupon". It is ""
// if all count.
func InWords(where []Condition) string {
	var all []string
	for _, c := range where {
		all = append(all, c.words())
	}
	return english.WordSeries(all, "and")
}

func (c Condition) words() string {
	list := func(all []Operand) string {
		var texts []string
		for _, o := range all {
			texts = append(texts, o.words())
		}
		return english.WordSeries(texts, "or")
	}
	switch {
	case len(c.Is) > 0:
		return c.Field + " = " + list(c.Is)
	case len(c.Not) > 0:
		return c.Field + " not " + list(c.Not)
	case c.Above.given() && c.Below.given():
		return fmt.Sprintf("%s < %s < %s", c.Above, c.Field, c.Below)
	case c.Above.given():
		return fmt.Sprintf("%s > %s", c.Field, c.Above)
	case c.Below.given():
		return fmt.Sprintf("%s < %s", c.Field, c.Below)
	case c.Exists:
		return "any " + c.Field
	}
	return "no " + c.Field
}

// words is an operand without quotation marks, unless it would be taken for something else.
func (o Operand) words() string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-/:", r)
	}
	_, number := numberOf([]byte(o.Text))
	if number || o.Text == "" || strings.ContainsFunc(o.Text, func(r rune) bool { return !plain(r) }) {
		return o.String()
	}
	return o.Text
}

func (c Condition) check() error {
	kinds := 0
	for _, given := range []bool{len(c.Is) > 0, len(c.Not) > 0, c.Above.given() || c.Below.given(), c.Exists, c.Missing} {
		if given {
			kinds++
		}
	}
	if kinds != 1 {
		return fmt.Errorf("where %q has %d conditions; want one", c.Field, kinds)
	}
	for _, o := range slices.Concat(c.Is, c.Not, []Operand{c.Above, c.Below}) {
		if _, ok := numberOf([]byte(o.Text)); o.Number && !ok {
			return fmt.Errorf("where %q: %q is not a number in JSON's notation", c.Field, o.Text)
		}
	}
	if c.Above.given() && !c.Above.Number || c.Below.given() && !c.Below.Number {
		return fmt.Errorf("where %q: a limit is a text; want a number", c.Field)
	}
	return nil
}

// checkWhere checks the conditions of a Spec.
func (s Spec) checkWhere() error {
	if len(s.Where) > MaxConditions {
		return fmt.Errorf("where has %d conditions; want at most %d", len(s.Where), MaxConditions)
	}
	for i, c := range s.Where {
		if c.Field == "" {
			return errors.New("where: the name of a field is empty")
		}
		if slices.ContainsFunc(s.Where[:i], func(o Condition) bool { return o.Field == c.Field }) {
			return fmt.Errorf("where %q comes twice; want each field once", c.Field)
		}
		if err := c.check(); err != nil {
			return err
		}
	}
	return nil
}

// Skips returns the reasons for which records of the Spec may be skipped.
func (s Spec) Skips() (all []Reason) {
	if len(s.Where) > 0 {
		all = append(all, Unwanted)
	}
	if s.Batched() {
		all = append(all, NoUser)
	}
	if s.Format == otlpMetrics.name {
		all = append(all, NoValue)
	}
	if s.onlyDeltas() {
		all = append(all, NoDelta)
	}
	return all
}

// onlyDeltas reports whether points of sums are skipped that are not said to be differences. A cumulative sum is a
// total so far: published as values, its points would count all that was before again and again. A Spec that asks for
// totals by their name gets them.
func (s Spec) onlyDeltas() bool {
	return s.Format == otlpMetrics.name &&
		!slices.ContainsFunc(s.Where, func(c Condition) bool { return c.Field == otlpTemporalityName })
}

// Skip says more about why a record was skipped.
type Skip struct {
	// Condition is the index of the first condition that the record does not meet.
	Condition int
	Why       SkipCause
}

// SkipCause says why a field does not meet a condition.
type SkipCause uint8

// Causes for which a field does not meet a condition.
const (
	Differs   SkipCause = iota // it is another text or number
	IsMissing                  // it is missing or null
	IsText                     // it is a text, and the condition has only numbers
	IsNumber                   // it is a number, and the condition has only texts
	IsOther                    // it is neither, such as an object

	NumSkipCauses = iota
)

// condition is a Condition that is evaluated for each record.
type condition struct {
	is, not         []operand
	above, below    *operand
	exists, missing bool
	texts, numbers  bool // it has such operands
	buffer          []byte
}

// operand is an Operand. n is set if it is a number.
type operand struct {
	text   []byte
	number bool
	n      signed
	whole  int64
	small  bool // the number is whole
}

func newConditions(where []Condition) (all []condition) {
	for _, w := range where {
		c := condition{exists: w.Exists, missing: w.Missing}
		take := func(o Operand) operand {
			made := operand{text: []byte(o.Text), number: o.Number}
			c.texts, c.numbers = c.texts || !o.Number, c.numbers || o.Number
			if o.Number {
				made.n, _ = numberOf(made.text) // checked
				whole, err := strconv.ParseInt(o.Text, 10, 64)
				made.whole, made.small = whole, err == nil
			}
			return made
		}
		for _, o := range w.Is {
			c.is = append(c.is, take(o))
		}
		for _, o := range w.Not {
			c.not = append(c.not, take(o))
		}
		if w.Above.given() {
			c.above = new(take(w.Above))
		}
		if w.Below.given() {
			c.below = new(take(w.Below))
		}
		all = append(all, c)
	}
	return all
}

// Rows tells which rows of a file of CSV meet conditions, as records of CSV do. It is not safe for concurrent use.
type Rows struct {
	where   []condition
	columns []int
}

// NewRows checks conditions, and asks for the index of the column of each.
func NewRows(where []Condition, column func(name string) (int, error)) (*Rows, error) {
	if err := (Spec{Where: where}).checkWhere(); err != nil {
		return nil, err
	}
	r := &Rows{where: newConditions(where)}
	for _, c := range where {
		at, err := column(c.Field)
		if err != nil {
			return nil, err
		}
		r.columns = append(r.columns, at)
	}
	return r, nil
}

// Meets reports whether a row meets all conditions.
func (r *Rows) Meets(row []string) bool {
	for i := range r.where {
		if !r.where[i].holds(&field{kind: cell, text: []byte(row[r.columns[i]])}) {
			return false
		}
	}
	return true
}

// unmet reports whether the fields do not meet some condition, and notes the first.
func (r *rules) unmet(f *fields) bool {
	for i := range r.where {
		if c, at := &r.where[i], &f[roleWhere(i)]; !c.holds(at) {
			r.skip = Skip{i, c.why(at)}
			return true
		}
	}
	return false
}

func (c *condition) holds(f *field) bool {
	there := f.kind != none && (f.kind != cell || len(f.text) > 0)
	switch {
	case c.exists || c.missing:
		return there == c.exists
	case len(c.not) > 0:
		return !c.among(c.not, f)
	case f.kind == none:
		return false
	case len(c.is) > 0:
		return c.among(c.is, f)
	}
	n, ok := c.number(f)
	return ok && (c.above == nil || n.compare(c.above.n) > 0) && (c.below == nil || n.compare(c.below.n) < 0)
}

// among reports whether a field is equal to one of the operands.
func (c *condition) among(all []operand, f *field) bool {
	var n signed
	read, number := false, false
	for i := range all {
		o := &all[i]
		switch {
		case !o.number:
			if (f.kind == text || f.kind == truth || f.kind == cell) && string(f.text) == string(o.text) {
				return true
			}
		case f.kind == exact && f.exp == 0 && o.small:
			if f.n == o.whole {
				return true
			}
		default:
			if !read {
				n, number = c.number(f)
				read = true
			}
			if number && n.compare(o.n) == 0 {
				return true
			}
		}
	}
	return false
}

// number is a field as a number. It is valid until the next call.
func (c *condition) number(f *field) (n signed, ok bool) {
	written := f.text
	switch f.kind {
	case number, cell:
	case exact:
		c.buffer = append(strconv.AppendInt(c.buffer[:0], f.n, 10), 'e')
		written = strconv.AppendInt(c.buffer, int64(f.exp), 10)
		c.buffer = written
	case binary64:
		c.buffer = strconv.AppendFloat(c.buffer[:0], math.Float64frombits(uint64(f.n)), 'g', -1, 64)
		written = c.buffer
	default:
		return n, false
	}
	return numberOf(written)
}

// why says why a field does not meet the condition.
func (c *condition) why(f *field) SkipCause {
	switch f.kind {
	case none:
		return IsMissing
	case other, instant:
		return IsOther
	case number, exact, binary64:
		if !c.numbers {
			return IsNumber
		}
	case text, truth:
		if !c.texts {
			return IsText
		}
	case cell:
		if len(f.text) == 0 {
			return IsMissing
		}
	}
	return Differs
}

// signed is a decimal with its sign.
type signed struct {
	decimal
	negative bool
}

// numberOf reads a number in JSON's notation. It is valid as long as the text.
func numberOf(written []byte) (n signed, ok bool) {
	if len(written) > 0 && written[0] == '-' {
		n.negative, written = true, written[1:]
	}
	n.decimal, ok = scanDecimal(written)
	return n, ok
}

// compare returns −1, 0 or 1 as n is less than o, equal or greater. It is exact, in time that is linear in the digits.
func (n signed) compare(o signed) int {
	a, from := n.leading()
	b, other := o.leading()
	switch {
	case from < 0 && other < 0:
		return 0
	case from < 0:
		return -o.sign()
	case other < 0 || n.negative != o.negative:
		return n.sign()
	}
	by := cmp.Compare(a, b)
	for i := 0; by == 0 && (from+i < n.length() || other+i < o.length()); i++ {
		by = cmp.Compare(n.digit(from+i), o.digit(other+i))
	}
	return by * n.sign()
}

func (n signed) sign() int {
	if n.negative {
		return -1
	}
	return 1
}

// leading returns how many digits stand before the point, counted from the first digit that is not zero, and the index
// of that digit; −1 if the number is zero.
func (d decimal) leading() (before, index int) {
	for i := range d.length() {
		if d.digit(i) != 0 {
			return d.point - i, i
		}
	}
	return 0, -1
}

func (d decimal) length() int { return len(d.whole) + len(d.fraction) }
