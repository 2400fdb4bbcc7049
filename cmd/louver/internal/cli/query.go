package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/dustin/go-humanize/english"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/running"
	"github.com/louver/louver/mechanisms/watch"
	"github.com/louver/louver/stream/config/form"
	"github.com/louver/louver/windows/period"
)

// QueryFlags say what to compute from the values, and how. Make them with [NewQueryFlags].
type QueryFlags struct {
	Statistic string `default:"" enum:"${statistics}," group:"what" placeholder:"NAME" help:"${statistic_series}. Absent: median, or with --since or --active count."`
	Mechanism string `rare:"" group:"what" placeholder:"NAME" help:"Mechanism. Absent: the statistic's default."`
	kong.Plugins

	ExpectedUsers int64 `rare:"" group:"what" placeholder:"N" help:"Public forecast of the number of users, for means, sums and quantiles in the tails. Absent: they spend part of ε to find out."`

	Prior string `rare:"" default:"tapered" enum:"tapered,cells,uniform" group:"privacy" placeholder:"NAME" help:"Base measure of quantiles: tapered (favours values near zero), cells (logarithmic away from zero) or uniform."`
}

// NewQueryFlags makes a flag for each parameter in the catalogue of statistics.
func NewQueryFlags() QueryFlags {
	var fields []reflect.StructField
	for _, p := range mechanisms.Parameters() {
		i := slices.IndexFunc(fields, func(f reflect.StructField) bool { return f.Tag.Get("parameter") == p.Name })
		if i >= 0 {
			list := parameterFlag(p) // the one with the list
			list.Tag = reflect.StructTag(strings.Replace(string(list.Tag), `help:"`,
				`help:"`+fields[i].Tag.Get("help")+" For several quantiles: ", 1))
			fields[i] = list
			continue
		}
		fields = append(fields, parameterFlag(p))
	}
	return QueryFlags{Plugins: kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}}
}

// commonParameters are those that --help explains. The others are with --help-all.
var commonParameters = []string{"p", "above", "below", "buckets"}

func parameterFlag(p mechanisms.Parameter) reflect.StructField {
	var kind any = (*Number)(nil)
	placeholder := "X"
	switch p.Form {
	case mechanisms.Numbers, mechanisms.Pair:
		kind, placeholder = []Number(nil), "X,X"
	case mechanisms.Word:
		kind, placeholder = "", strings.Join(p.Words, "|")
	case mechanisms.Ends:
		kind, placeholder = (*Buckets)(nil), "X,X|scale:N"
	}
	help := p.Meaning
	if p.Name == "delta" {
		help += ", and for --statistic groups"
	}
	if !strings.HasPrefix(help, "`") { // a value begins in lower case
		help = strings.ToUpper(help[:1]) + help[1:]
	}
	rare := ""
	if !slices.Contains(commonParameters, p.Name) {
		rare = `rare:"" `
	}
	tag := rare + fmt.Sprintf("parameter:%q name:%q group:\"what\" placeholder:%q help:%q", p.Name, FlagOf(p.Name),
		placeholder, strings.ReplaceAll(help, "`", "")+".")
	return reflect.StructField{Name: strings.ToUpper(p.Name[:1]) + p.Name[1:], Type: reflect.TypeOf(kind),
		Tag: reflect.StructTag(tag)}
}

// exampleOf is a value of a parameter's flag.
func exampleOf(p mechanisms.Parameter) string {
	if p.Form == mechanisms.Ends {
		return "scale:3"
	}
	return strings.Trim(p.Example, "[]")
}

// FlagOf returns the name of a parameter's flag.
func FlagOf(parameter string) string { return strings.ReplaceAll(parameter, "_", "-") }

// FirstGiven returns the first flag, by name, that was given; "" if none was.
func FirstGiven(given map[string]bool) string {
	for _, flag := range slices.Sorted(maps.Keys(given)) {
		if given[flag] {
			return flag
		}
	}
	return ""
}

// Given returns the setting of a parameter by the flags.
func (f QueryFlags) Given(p mechanisms.Parameter) (v mechanisms.Setting, given bool) {
	field := reflect.ValueOf(f.Plugins[0]).Elem().FieldByName(strings.ToUpper(p.Name[:1]) + p.Name[1:])
	switch x := field.Interface().(type) {
	case *Number:
		if x != nil {
			v.Numbers = []decimal.Decimal{x.Decimal}
		}
	case []Number:
		for _, n := range x {
			v.Numbers = append(v.Numbers, n.Decimal)
		}
	case string:
		v.Word = x
	case *Buckets:
		v.Buckets = (*mechanisms.Bucketing)(x)
	}
	return v, v.Numbers != nil || v.Word != "" || v.Buckets != nil
}

// Buckets are those of a histogram on the command line: 100,250,800 or scale:3.
type Buckets mechanisms.Bucketing

// UnmarshalText implements [encoding.TextUnmarshaler].
func (b *Buckets) UnmarshalText(text []byte) error {
	if scale, native := strings.CutPrefix(string(text), "scale:"); native {
		n, err := strconv.Atoi(scale)
		if err != nil {
			return fmt.Errorf("%q; want scale:3, or ends such as 100,250,800", text)
		}
		b.Native, b.Scale = true, n
		return nil
	}
	for end := range strings.SplitSeq(string(text), ",") {
		d, err := form.ParseNumber(end)
		if err != nil {
			return err
		}
		b.Ends = append(b.Ends, d)
	}
	return nil
}

// Number is an exact decimal on the command line.
type Number struct{ decimal.Decimal }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (n *Number) UnmarshalText(text []byte) (err error) {
	n.Decimal, err = form.ParseNumber(string(text))
	return err
}

// Query returns what the flags ask for. The command adds the grid and ε.
func (f QueryFlags) Query() (mechanisms.Query, error) {
	return f.query(cmp.Or(mechanisms.Statistic(f.Statistic), mechanisms.Median))
}

// TotalQuery returns the running total that the flags ask for, over periods of a unit and with a value every update. A
// user adds at most most, if that is not nil. Where the flags name no statistic, it is a total of users. The command
// adds the grid and ε.
func (f QueryFlags) TotalQuery(unit period.Unit, update time.Duration, most *Number) (q mechanisms.TotalQuery,
	err error) {
	statistic := cmp.Or(mechanisms.Statistic(f.Statistic), mechanisms.Count)
	if totals := mechanisms.TotalStatistics(); !slices.Contains(totals, statistic) {
		return q, fmt.Errorf("--since with --statistic %s; want --statistic %s: other statistics have no running total",
			statistic, english.WordSeries(statisticNames(totals), "or"))
	}
	asked, err := f.query(statistic)
	leaves := func(d time.Duration) int64 { return int64((d + update - 1) / update) }
	q = mechanisms.TotalQuery{Statistic: statistic, Above: asked.Above, Below: asked.Below, Mechanism: f.Mechanism,
		Buckets: asked.Buckets, Levels: asked.Levels,
		Period: running.Period{Leaves: leaves(unit.Nominal()), Longest: leaves(unit.Longest())}}
	if most != nil {
		q.MaxTotal = &most.Decimal
	}
	return q, err
}

func (f QueryFlags) query(statistic mechanisms.Statistic) (mechanisms.Query, error) {
	q := mechanisms.Query{Statistic: statistic, Mechanism: f.Mechanism, Prior: f.Prior, ExpectedUsers: f.ExpectedUsers}
	set := map[string]bool{}
	for _, p := range mechanisms.Parameters() {
		v, given := f.Given(p)
		switch {
		case !given && p.Required && p.Takes(q.Statistic):
			return q, fmt.Errorf("--statistic %s without --%s; want --%s, such as --%s %s", q.Statistic, FlagOf(p.Name),
				FlagOf(p.Name), FlagOf(p.Name), exampleOf(p))
		case !given || set[p.Name]:
			continue
		}
		if err := p.Set(&q, v); err != nil {
			return q, err
		}
		set[p.Name] = true
		if takers := takersOf(p.Name); takers != nil && !slices.Contains(takers, q.Statistic) {
			return q, fmt.Errorf("--%s with --statistic %s; want it with %s only", FlagOf(p.Name), q.Statistic,
				english.WordSeries(statisticNames(takers), "or"))
		}
	}
	return q, nil
}

// Groups returns the mechanism that --statistic groups asks for.
func (f QueryFlags) Groups(epsilon decimal.Decimal, atLeast int64) (*mechanisms.TruncatedGeometric, error) {
	if names := mechanisms.Available(mechanisms.Groups); f.Mechanism != "" && !slices.Contains(names, f.Mechanism) {
		return nil, fmt.Errorf("--statistic groups with --mechanism %s; want %s", f.Mechanism,
			english.WordSeries(names, "or"))
	}
	var delta decimal.Decimal
	for _, p := range mechanisms.Parameters() {
		switch v, given := f.Given(p); {
		case given && p.Name == "delta":
			delta = v.Numbers[0]
		case given:
			return nil, fmt.Errorf("--statistic groups with --%s; want it without, as it is no parameter of groups",
				FlagOf(p.Name))
		}
	}
	switch {
	case delta.IsZero():
		return nil, errors.New("--statistic groups without --delta; want --delta, such as --delta 0.000001: " +
			"no mechanism finds unknown names with a delta of 0")
	case f.ExpectedUsers != 0 || f.Prior != "tapered":
		return nil, errors.New("--statistic groups with --expected-users or --prior; want it without")
	}
	return mechanisms.NewTruncatedGeometric(epsilon, delta, atLeast)
}

// statisticNames returns the names of statistics.
func statisticNames(of []mechanisms.Statistic) []string {
	names := make([]string, len(of))
	for i, s := range of {
		names[i] = string(s)
	}
	return names
}

// takersOf returns the statistics that have a parameter, or nil if it belongs to some mechanisms.
func takersOf(parameter string) (takers []mechanisms.Statistic) {
	for _, p := range mechanisms.Parameters() {
		if p.Name == parameter {
			takers = append(takers, p.Statistics...)
		}
	}
	return takers
}

// NewWatch makes a watch for the condition of --watch.
func NewWatch(text string, q watch.Query) (*watch.Watch, error) {
	condition, err := watch.ParseCondition(text)
	if err != nil {
		return nil, inCondition(err)
	}
	q.Conditions = []watch.Condition{condition}
	w, err := watch.New(q)
	return w, inCondition(err)
}

// inCondition says of an error about a part of the condition that it is about --watch.
func inCondition(err error) error {
	var wrong *mechanisms.Error
	switch {
	case !errors.As(err, &wrong), wrong.Parameter == "epsilon", wrong.Parameter == "false_alarms":
		return err
	case wrong.Parameter == "grid":
		return errors.New("--watch without --lower, --upper and --step; want the public bounds of the values")
	case wrong.Parameter == "condition":
		return fmt.Errorf("--watch %s; want %s", wrong.Value, wrong.Want)
	}
	return fmt.Errorf("--watch: %s %s; want %s", wrong.Parameter, wrong.Value, wrong.Want)
}

// Direction says whether a condition asks for too many users or too few.
func Direction(condition string) string {
	if strings.Contains(condition, "less_than") || strings.Contains(condition, "users_below") {
		return "too few"
	}
	return "too many"
}
