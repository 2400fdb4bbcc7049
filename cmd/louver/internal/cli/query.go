package cli

import (
	"cmp"
	"errors"
	"fmt"
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
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
	"github.com/louver/louver/windows/period"
)

// QueryFlags say what to compute from the values, and how. Make them with [NewQueryFlags].
type QueryFlags struct {
	Statistic string `default:"" for:"one,since,active,groups" enum:"${statistics}," group:"what" placeholder:"NAME" help:"${statistic_series}. Absent: median, or with --since or --active count."`
	Mechanism string `rare:"" for:"one,since,active,groups" group:"what" placeholder:"NAME" help:"Mechanism. Absent: the statistic's default."`
	kong.Plugins

	ExpectedUsers int64 `rare:"" for:"one,watch" group:"what" placeholder:"N" help:"Public forecast of the number of users, for means, sums and quantiles in the tails. Absent: they spend part of ε to find out."`

	Prior string `rare:"" for:"one" default:"tapered" enum:"tapered,cells,uniform" group:"privacy" placeholder:"NAME" help:"Base measure of quantiles: tapered (favours values near zero), cells (logarithmic away from zero) or uniform."`
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
	tag := rare + fmt.Sprintf(`for:"one,since,active,groups" parameter:%q name:%q group:"what" placeholder:%q help:%q`,
		p.Name, FlagOf(p.Name), placeholder, strings.ReplaceAll(help, "`", "")+".")
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

// only refuses parameters that have no meaning in a mode.
func (f QueryFlags) only(mode string, parameters ...string) error {
	for _, p := range mechanisms.Parameters() {
		if _, given := f.Given(p); given && !slices.Contains(parameters, p.Name) {
			return fmt.Errorf("%s with --%s; want it without", ModeName(mode), FlagOf(p.Name))
		}
	}
	return nil
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

// Bounds are the public bounds of the values.
type Bounds struct {
	Lower *Number `for:"one,watch,since,active" group:"privacy" placeholder:"X" help:"Lower bound. Lower values count as this one. Bounds are public: never take them from the data. A plain count needs none."`
	Upper *Number `for:"one,watch,since,active" group:"privacy" placeholder:"X" help:"Upper bound. Greater values count as this one."`
	Step  *Number `for:"one,watch,since,active" group:"privacy" placeholder:"X" help:"Distance between values that can be released."`
}

// Grid makes the grid from the bounds. A plain count uses no values and needs none.
func (b Bounds) Grid(plainCount bool) (*mechanisms.Grid, error) {
	var missing []string
	for _, f := range []struct {
		flag  string
		value *Number
	}{{"--lower", b.Lower}, {"--upper", b.Upper}, {"--step", b.Step}} {
		if f.value == nil {
			missing = append(missing, f.flag)
		}
	}
	switch {
	case missing == nil:
		return mechanisms.NewGrid(b.Lower.Decimal, b.Upper.Decimal, b.Step.Decimal)
	case len(missing) == 3 && plainCount:
		return mechanisms.NewGrid(decimal.Zero, decimal.New(1, 0), decimal.New(1, 0))
	}
	return nil, fmt.Errorf("%s missing; want the public bounds of the values, such as --lower 0 --upper 100 --step 1 "+
		"(only a plain count needs none)", strings.Join(missing, ", "))
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
// user adds at most most, if that is not nil. Where the flags name no statistic, it is a total of users. The error says
// which flag is wrong, and what would be right. The command adds the grid and ε.
func (f QueryFlags) TotalQuery(unit period.Unit, window, update time.Duration, most *Number) (q mechanisms.TotalQuery,
	err error) {
	if !slices.Contains(period.Units(), unit) {
		return q, fmt.Errorf("--since %s; want hour, midnight, monday or month", unit)
	}
	if err := f.only("since", "above", "below", "buckets", "levels"); err != nil {
		return q, err
	}
	if window < time.Second || window%time.Second != 0 || update%window != 0 || update > unit.Nominal() {
		return q, fmt.Errorf("--window %s, --update %s; want whole seconds, and a multiple of --window up to %s",
			config.Duration(window), config.Duration(update), config.Duration(unit.Nominal()))
	}
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
	if err := f.only("groups", "delta"); err != nil {
		return nil, err
	}
	for _, p := range mechanisms.Parameters() {
		if v, given := f.Given(p); given && p.Name == "delta" && !v.Numbers[0].IsZero() {
			return mechanisms.NewTruncatedGeometric(epsilon, v.Numbers[0], atLeast)
		}
	}
	return nil, errors.New("--statistic groups without --delta; want --delta, such as --delta 0.000001: " +
		"no mechanism finds unknown names with a delta of 0")
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
