package codec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Grid places a number on the stream's grid. The text must be a number in JSON's notation. The indices −1 and N+1 stand
// for numbers below and above the bounds. A number is where its text is. [github.com/louver/louver/mechanisms.Grid] is
// one, and so is [github.com/louver/louver/mechanisms.Units], whose points are all whole numbers of units.
type Grid interface {
	Parse(number []byte) (int64, error)
	// Index places a float64 where the shortest text is that stands for it. It refuses NaN and infinities.
	Index(v float64) (int64, error)
	// Decimal places n·10^exponent.
	Decimal(n int64, exponent int) int64
}

// Names for parts of the record, used in place of a field.
const (
	KeyField       = "$key"       // the record's key, as user
	ValueField     = "$value"     // the record's whole value, a bare number in JSON's notation, as value
	TimestampField = "$timestamp" // the record's timestamp, as time
)

// Spec says how to read the records of a stream.
type Spec struct {
	// Format is the name of one of [Formats]. Required.
	Format string
	// User is a field, or KeyField. Required. A field is a path with dots, or a column (CSV).
	User string
	// Value is a field, or ValueField (JSON). Required, unless there is no Grid: then every event has the value 1.
	Value string
	// Time is a field, or TimestampField. Defaults to TimestampField.
	Time string
	// Clock is the field of the time of day, if Time has only the date. It is a text, and so is Time then. A space
	// comes between them. Defaults to none.
	Clock string
	// Zone is the zone of times that name none. Defaults to nil: they are rejected.
	Zone *time.Location
	// Group is a field. Defaults to none: every event is in the first group.
	Group string
	// Columns names the columns of CSV, in order. Required for CSV.
	Columns []string
	// Delimiter separates the columns of CSV. Defaults to a comma.
	Delimiter rune
	// Schema is the schema of the records. Required for avro and protobuf.
	Schema Schema
	// Registry has the schemas. Required if they are in one.
	Registry Schemas
	// Groups is the public list. Required if Group is given, unless the Spec is open. Names of records are compared
	// with it in their canonical form.
	Groups []string
	// Open says that there is no list: any name is a group, in its canonical form. It requires Group.
	Open bool
	// MaxFuture is how far an event's time may be ahead of its record's timestamp. 0 means not at all.
	MaxFuture time.Duration
	// Grid is the public grid of values, or reads them as whole numbers of units. Required with Value.
	Grid Grid
	// Where has the conditions, in the order of their fields. Records that do not meet all of them are skipped.
	// Defaults to none: every record counts.
	Where []Condition
}

func (s Spec) check() error {
	switch {
	case s.User == "":
		return fmt.Errorf("user is missing; want a field, or %s", KeyField)
	case s.Value == "" && s.Grid != nil:
		return fmt.Errorf("value is missing; want a field, or %s", ValueField)
	case s.Grid == nil && s.Value != "":
		return fmt.Errorf("the grid is missing; want bounds and step")
	case s.Open && s.Group == "":
		return errors.New("group is missing; want the field that has the names of groups")
	case s.Open && len(s.Groups) > 0:
		return fmt.Errorf("groups are found, and yet %d are listed; want none", len(s.Groups))
	case s.Group != "" && !s.Open && len(s.Groups) == 0:
		return fmt.Errorf("groups are missing; want the public list for group %q", s.Group)
	case s.Clock != "" && s.Time == TimestampField:
		return fmt.Errorf("time_of_day is %q, and there is no time; want the field of the date as time", s.Clock)
	case s.Zone != nil && s.Time == TimestampField:
		return errors.New("zone is given, and there is no time; Kafka's timestamps have no zone")
	case s.MaxFuture < 0:
		return fmt.Errorf("max_future %s is negative; want a duration of at least 0", s.MaxFuture)
	}
	for _, p := range s.parts() {
		if strings.HasPrefix(p.field, "$") && p.field != p.special {
			return fmt.Errorf("%s %q is not known; want a field%s", p.name, p.field, p.alternative())
		}
		if slices.Contains(Path(p.field), "") && p.field != "" {
			return fmt.Errorf("%s %q has an empty part; want a field such as user.id", p.name, p.field)
		}
	}
	return s.checkWhere()
}

// role is a part of an event.
type role int

const (
	roleValue role = iota
	roleUser
	roleTime
	roleGroup
	roleClock
	numRoles
)

// roleWhere is the role of a field that a condition looks at.
func roleWhere(condition int) role { return numRoles + role(condition) }

// numFields is how many fields a record may be asked for.
const numFields = int(numRoles) + MaxConditions

// part is one of the parts of an event and where it is found.
type part struct {
	role                 role
	name, field, special string
}

func (s Spec) parts() []part {
	all := []part{
		{roleValue, "value", s.Value, ValueField},
		{roleUser, "user", s.User, KeyField},
		{roleTime, "time", s.Time, TimestampField},
		{roleGroup, "group", s.Group, ""},
		{roleClock, "time_of_day", s.Clock, ""},
	}
	for i, c := range s.Where {
		all = append(all, part{roleWhere(i), "where", c.Field, ""})
	}
	return all
}

// inValue reports whether the part is a field of the record's value.
func (p part) inValue() bool { return p.field != "" && p.field != p.special }

func (p part) alternative() string {
	if p.special == "" {
		return ""
	}
	return ", or " + p.special
}

// A field of a streams file is a path: names with dots between them. A dot that is part of a name has a backslash
// before it, and so has a $ at the beginning, where it would mean a part of the record such as $key. All other
// backslashes are themselves.

// Path returns the names on the way to a field.
func Path(field string) (names []string) {
	if rest, ok := strings.CutPrefix(field, `\$`); ok {
		field = "$" + rest
	}
	var name strings.Builder
	for {
		before, after, more := strings.Cut(field, ".")
		if inner, escaped := strings.CutSuffix(before, `\`); escaped && more {
			name.WriteString(inner + ".")
			field = after
			continue
		}
		names = append(names, name.String()+before)
		name.Reset()
		if field = after; !more {
			return names
		}
	}
}

// Join returns the path to a field of that name below another one; below "" it is the first name. ok is false if no
// path leads there.
func Join(path, name string) (field string, ok bool) {
	field = strings.ReplaceAll(name, ".", `\.`)
	if path != "" {
		field = path + "." + field
	} else if strings.HasPrefix(field, "$") {
		field = `\` + field
	}
	names, before := Path(field), []string(nil)
	if path != "" {
		before = Path(path)
	}
	return field, name != "" && slices.Equal(names, append(before, name))
}
