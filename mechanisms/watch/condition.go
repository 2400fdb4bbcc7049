package watch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// Condition describes what a watch waits for in one group of one window: that more or less than a share of the users,
// or more than a number of them, hold a value above or below a threshold, or that there are few users at all.
//
// Either UsersBelow is given, or one of Above and Below together with one of MoreThan, LessThan and Users.
type Condition struct {
	// Above or Below is the threshold, strict, within the bounds of the grid.
	Above, Below *decimal.Decimal
	// MoreThan and LessThan are shares of the group's users, in (0, 1), with at most 9 digits after the point.
	MoreThan, LessThan *decimal.Decimal
	// Users: more users than this hold such a value.
	Users *int64
	// UsersBelow: the group has fewer users than this, whatever they hold.
	UsersBelow *int64
}

// String writes the condition as a configuration has it: "above: 2000, more_than: 0.01".
func (c Condition) String() string {
	var parts []string
	for _, f := range c.fields() {
		switch {
		case f.number != nil && *f.number != nil:
			parts = append(parts, f.name+": "+parameter.Shown(**f.number))
		case f.whole != nil && *f.whole != nil:
			parts = append(parts, f.name+": "+strconv.FormatInt(**f.whole, 10))
		}
	}
	return strings.Join(parts, ", ")
}

// conditionField is a field of a Condition with its name in a configuration. One of number and whole is set.
type conditionField struct {
	name   string
	number **decimal.Decimal
	whole  **int64
}

func (c *Condition) fields() []conditionField {
	return []conditionField{{"above", &c.Above, nil}, {"below", &c.Below, nil}, {"more_than", &c.MoreThan, nil},
		{"less_than", &c.LessThan, nil},
		{"users", nil, &c.Users}, {"users_below", nil, &c.UsersBelow}}
}

// ParseCondition reads what [Condition.String] writes, also in braces. [New] checks whether it makes sense. The error
// is a [mechanisms.Error].
func ParseCondition(text string) (c Condition, err error) {
	inner := strings.TrimSpace(text)
	if strings.HasPrefix(inner, "{") && strings.HasSuffix(inner, "}") {
		inner = inner[1 : len(inner)-1]
	}
	fields := c.fields()
	for part := range strings.SplitSeq(inner, ",") {
		name, value, _ := strings.Cut(part, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		i := slices.IndexFunc(fields, func(f conditionField) bool { return f.name == name })
		if i < 0 {
			return c, parameter.Wrong("condition", parameter.Quoted(text),
				"such as above: 2000, more_than: 0.01, of above, below, more_than, less_than, users and users_below")
		}
		switch f := fields[i]; {
		case f.number != nil && *f.number != nil || f.whole != nil && *f.whole != nil:
			return c, parameter.Wrong(name, parameter.Quoted(value), "it once")
		case f.number != nil:
			d, err := decimal.NewFromString(value)
			if err != nil || d.Exponent() > 100 || d.Exponent() < -100 || len(value) > 100 {
				return c, parameter.Wrong(name, parameter.Quoted(value), "a number")
			}
			*f.number = &d
		default:
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return c, parameter.Wrong(name, parameter.Quoted(value), "a whole number of users")
			}
			*f.whole = &n
		}
	}
	return c, nil
}

// test is a condition in whole numbers: φ is hit for the users that it counts and miss for the others, in units of
// 1/den of a user. It is false where Σφ ≤ target.
type test struct {
	counted           func(s *mechanisms.Sample, last int64) int64 // nil: nobody
	hit, miss, target int64
	den               int64
}

// level is q = Σφ of a group whose last value is the index last.
func (t test) level(s *mechanisms.Sample, last int64) int64 {
	if t.counted == nil {
		return s.Users() * t.miss
	}
	n := t.counted(s, last)
	return n*t.hit + (s.Users()-n)*t.miss
}

// falls is a: one user more lowers q by at most this.
func (t test) falls() int64 { return max(0, -t.hit, -t.miss) }

// rises is b: one user more raises q by at most this.
func (t test) rises() int64 { return max(0, t.hit, t.miss) }

// refine writes the test in units of 1/den, a multiple of its own.
func (t *test) refine(den int64) {
	factor := den / t.den
	t.hit, t.miss, t.target, t.den = t.hit*factor, t.miss*factor, t.target*factor, den
}

// test checks the condition and returns it as a test.
func (c Condition) test(g *mechanisms.Grid) (test, error) {
	thresholds := given(c.Above) + given(c.Below)
	amounts := given(c.MoreThan) + given(c.LessThan) + given(c.Users)
	if c.UsersBelow != nil {
		if thresholds+amounts > 0 {
			return test{}, parameter.Wrong("users_below", *c.UsersBelow,
				"it alone, without above, below, more_than, less_than and users")
		}
		return usersBelow(*c.UsersBelow)
	}
	if thresholds != 1 || amounts != 1 {
		found := parameter.Quoted(c.String())
		if thresholds+amounts == 0 {
			found = "missing"
		}
		return test{}, parameter.Wrong("condition", found,
			"above or below with one of more_than, less_than and users; or users_below alone")
	}
	if g == nil {
		return test{}, parameter.Wrong("grid", "(none)", "the grid of the values")
	}
	first, end, err := g.Between(c.Above, c.Below)
	if err != nil {
		return test{}, err
	}
	counted := func(s *mechanisms.Sample, _ int64) int64 { return s.Below(end) - s.Below(first) }
	switch {
	case c.MoreThan != nil:
		num, den, err := shareOf("more_than", *c.MoreThan)
		return test{counted: counted, hit: den - num, miss: -num, den: den}, err
	case c.LessThan != nil:
		num, den, err := shareOf("less_than", *c.LessThan)
		return test{counted: counted, hit: num - den, miss: num, den: den}, err
	}
	if *c.Users < 0 || *c.Users > mechanisms.MaxUsers {
		return test{}, parameter.Wrong("users", *c.Users, "a number of users from 0 to 2^28")
	}
	return test{counted: counted, hit: 1, miss: 0, target: *c.Users, den: 1}, nil
}

// usersBelow counts every user as −1.
func usersBelow(m int64) (test, error) {
	if m < 1 || m > mechanisms.MaxUsers {
		return test{}, parameter.Wrong("users_below", m, "a number of users from 1 to 2^28")
	}
	return test{hit: -1, miss: -1, target: -m, den: 1}, nil
}

// shareOf returns a share as num/den.
func shareOf(name string, d decimal.Decimal) (num, den int64, err error) {
	if num, den, err = parameter.Probability(d); err != nil {
		return 0, 1, parameter.Wrong(name, parameter.Shown(d),
			"a share of the users greater than 0 and less than 1, with at most 9 digits after the point")
	}
	return num, den, nil
}

func given[T any](p *T) int {
	if p == nil {
		return 0
	}
	return 1
}

// Words writes a valid condition as a clause: "more than 1 % of the users have a value above 2000 ms".
func (c Condition) Words(unit string) string {
	if c.UsersBelow != nil {
		return fmt.Sprintf("there are fewer than %d users", *c.UsersBelow)
	}
	who, side, limit := "", "above", c.Above
	switch {
	case c.MoreThan != nil:
		who = "more than " + percent(*c.MoreThan) + " of the users"
	case c.LessThan != nil:
		who = "less than " + percent(*c.LessThan) + " of the users"
	case c.Users != nil:
		who = fmt.Sprintf("more than %d users", *c.Users)
	}
	if limit == nil {
		side, limit = "below", c.Below
	}
	return strings.TrimSpace(fmt.Sprintf("%s have a value %s %s %s", who, side, limit, unit))
}

func percent(share decimal.Decimal) string { return share.Shift(2).String() + " %" }
