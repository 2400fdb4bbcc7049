package decide

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// class says what a field of an entry or of a record may depend on.
type class int

const (
	public  class = iota + 1 // on the configuration, the schedule and earlier charges
	byDraws                  // on these, and on what mechanisms drew: it was drawn, or is computed from draws
)

// classed are the classes of fields that are public, and of those that depend on draws. Both are texts of [paths].
func classed(publicFields, drawnFields string) map[string]class {
	all := map[string]class{}
	for path := range paths(publicFields) {
		all[path] = public
	}
	for path := range paths(drawnFields) {
		all[path] = byDraws
	}
	return all
}

// paths reads paths of fields. A word with a colon precedes the paths that follow it.
func paths(text string) map[string]bool {
	all, before := map[string]bool{}, ""
	for word := range strings.FieldsSeq(text) {
		if of, ok := strings.CutSuffix(word, ":"); ok {
			before = of + "."
			continue
		}
		all[before+word] = true
	}
	return all
}

// begins reports whether a path begins with one of some paths.
func begins(path string, with map[string]bool) bool {
	for p := range with {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

// entryFields classes every field of an entry. A slice has a line for its length.
var entryFields = classed(`
		entry.Rollups.Groups.Values: Interval.Level Numbers.Raw Numbers.Coarse Band.Level Band.Basis
		entry.Groups.Values: Numbers.Raw Numbers.Coarse
		entry.Releases: Name Statistic P Mechanism Unit Epsilon Delta Buckets.Lower Buckets.Upper Buckets.Step
		Buckets.Ends Buckets.Ends. Buckets.Levels From Above Below Rollups Rollups.
		entry.Rollups: Release Period Since.Time Windows.Of Windows.Released Groups Groups.Values
		entry: App Stream Budget Input Output Epoch WindowStart WindowEnd DueAt ReleasedAt Every Until
		Limit.Epsilon Limit.Delta Limit.Per Limit.Order Continues Continues. PaidElsewhere Price
		Price.Promise.Kind Price.Promise.Epsilon Price.Promise.Delta Price.Promise.Rho Price.Times Cap.Count
		Cap.Per Cap.Era Reason Incomplete IncompleteIn IncompleteIn. Releases Periods Periods.Release
		Periods.Period Periods.Since.Time Periods.Until.Time Rollups Groups Groups.Name Groups.Values
		Standing.StreamSpent Standing.BudgetSpent Standing.WindowsLeft Standing.Lost.Stream Standing.Lost.Budget
		Standing.Lost.Used Prior.Upto`, `
		entry.Rollups.Groups.Values: Value Error95 Quality Interval.Low Interval.High Numbers.Raw.
		Numbers.Coarse. Band.Low Band.High
		entry.Groups.Values: Numbers.Raw. Numbers.Coarse. Mechanism Value RankError95 PLow PHigh Error95 Quality
		Raw Clip Clip. Outside.Value Outside.Error95 Outside.Most Outside.Cut95 Interval.Level Interval.Low
		Interval.High Smoothed.Value Smoothed.Low Smoothed.High Band.Low Band.High Band.Level Band.Basis
		entry: Groups.Users Groups.Reason Prior.Hash`)

// figureFields classes every field of an output record.
var figureFields = classed(`
		record: Schema ID Stream Group Release WindowStart WindowEnd DueAt Incomplete Statistic P Unit Epsilon
		Delta MaxWindows.Count MaxWindows.Per StreamSpent Budget BudgetSpent BudgetLimit BudgetLeft Buckets.Ends
		Buckets.Groups Buckets.Raw Buckets.Coarse Buckets.Count From Windows.Of Windows.Released Counts
		LossFields.StreamLost LossFields.BudgetLost LossFields.WindowsUsed LossFields.Charge
		LossFields.Charge.Kind LossFields.Charge.Epsilon LossFields.Charge.Delta LossFields.Charge.Rho
		LossFields.Charge.Times`, `
		record: Mechanism Value Raw Status Reason RankError95 Error95 Quality Clip Clip. Outside.Value
		Outside.Error95 Outside95 Cut95 Users PLow PHigh Interval.Level Interval.Low Interval.High
		BandFields.Low BandFields.High BandFields.Level BandFields.Basis Smoothed.Value Smoothed.Low
		Smoothed.High Buckets.Raw. Buckets.Coarse. Buckets.Count.`)

// neverFilled are fields that no entry here has: when it was made, those of records in Avro (which hold the same), what
// a stream decides besides its windows, how many windows of a roll-up were incomplete, and what only bands have that
// learnt from more windows than these.
var neverFilled = paths(`
		record: ReleasedAt Windows.Incomplete BandFields.Usual95
		entry.Continual.Active: Groups.Band.Usual95
		entry.Continual.Change.Values.Figure: Band.Usual95
		entry.Continual.Total: Groups.Band.Usual95
		entry.Groups.Values: Band.Usual95
		entry.Rollups: Windows.Incomplete
		entry: OutputFormat Lane Cap.Lane`)

// watchFields classes the fields that only streams with watches have. What a watch does next depends on whether it has
// fired, and so does what is charged.
var watchFields = classed(`
		entry.Continual.Watch: Excess95 Hold
		entry.Continual: Name Definition Cost Cost.Promise.Kind Cost.Promise.Epsilon Cost.Promise.Delta
		Cost.Promise.Rho Cost.Times AtMost Last
		entry: Continual
		record: Excess95`, `
		entry.Continual.Watch: Fired Since
		entry.Continual: Instance Arms Reason Sealed Sealed.
		entry: Ended Ended.Stream Ended.Name Ended.Number
		record: Since Instance`)

// watchNeverFilled are fields that are 0 here: a cost is pure, and has no δ.
var watchNeverFilled = paths(`
		entry.Continual: Cost.Promise.Kind Cost.Promise.Delta`)

// changeFields classes the fields of an entry and of a record that only releases on change have.
var changeFields = classed(`
		entry.Continual.Change.Values.Figure: Interval.Level Interval.Low Interval.High Smoothed.Value
		Smoothed.Low Smoothed.High
		entry.Continual.Change: Release.Name Release.Statistic Release.P Release.Mechanism Release.Unit
		Release.Epsilon Release.Delta First First.Promise.Kind First.Promise.Epsilon First.Promise.Delta
		First.Promise.Rho First.Times`, `
		entry.Continual.Change.Values.Figure: Mechanism Value RankError95 Raw PLow PHigh Error95 Quality Clip
		Clip. Band.Low Band.High Band.Level Band.Basis
		entry.Continual.Change: Begins Fired Values Values.Since
		record: Changed`)

// changeNeverFilled are fields that are 0 here. A release on change has no interval, and nothing is smoothed. Its draws
// know of no count, so that nothing says how good they are.
var changeNeverFilled = paths(`
		entry.Continual.Change.Values.Figure: Quality Interval.Level Interval.Low Interval.High Smoothed.Value
		Smoothed.Low Smoothed.High
		entry.Continual.Change: Release.Delta First.Promise.Delta`)

// totalFields classes the fields of an entry and of a record that only running totals have.
var totalFields = classed(`
		entry.Continual.Total: Release.Name Release.Statistic Release.P Release.Mechanism Release.Unit
		Release.Epsilon Release.Delta Leaves Longest Update Most Unit MaxTotal Since.Time Until.Time Leaf
		Incomplete Error95 Groups Groups.Draws Groups.Band.Level Groups.Band.Basis
		record: Final MaxTotal`, `
		entry.Continual.Total: Groups.Draws. Groups.Value Groups.Smoothed Groups.Raw Groups.Quality
		Groups.Band.Low Groups.Band.High`)

// totalNeverFilled are fields that are 0 here: a pure total has no δ and no p, and a tree no limit.
var totalNeverFilled = paths(`
		entry.Continual.Total: Release.Delta Release.P Longest`)

// soFarFields classes the fields of an entry and of a record that only distributions so far have. Their period is that
// of a total, whose fields are classed there, and their figures are described as releases are.
var soFarFields = classed(`
		entry.Continual.SoFar: Total.Leaf Total.Since.Time Total.Until.Time Total.Release.Mechanism
		Total.Release.Buckets.Ends Figures Figures.Name Groups Groups.Draws Groups.Draws.Raw Groups.Draws.Coarse
		Groups.Values Groups.Values.Numbers.Raw
		record: Final MaxTotal Buckets.Ends From`, `
		entry.Continual.SoFar: Groups.Values.Numbers.Raw. Groups.Values.Value Groups.Values.Error95
		Groups.Values.Interval.Low Groups.Values.Band.Low
		record: Buckets.Raw.`)

// activeFields classes the fields of an entry and of a record that only numbers of active users have.
var activeFields = classed(`
		entry.Continual.Active: Release.Name Release.Statistic Release.P Release.Mechanism Release.Unit
		Release.Epsilon Release.Delta Seconds Windows Leaves Update Among AtOnce Since.Time Leaf Incomplete
		Error95 Groups Groups.Band.Level Groups.Band.Basis
		record: Active`, `
		entry.Continual.Active: Groups.Draw Groups.Value Groups.Raw Groups.Quality Groups.Band.Low
		Groups.Band.High`)

// activeNeverFilled are fields that are 0 here: a pure number has no δ and no p.
var activeNeverFilled = paths(`
		entry.Continual.Active: Release.Delta Release.P`)

// lastFields classes the fields of an entry and of a record that only streams have that add up: windows to the newest
// time, groups to all of them together, and users for an objective.
var lastFields = withTogether(togetherFields, classed(`
		entry.Releases: Last Last. Over Over.
		entry.Rollups: Together.Windows.Of Together.Windows.Released Together.Windows.Incomplete
		entry.Objectives: Release Over Over.Over Over.Of Over.Windows Over.Sums
		entry.Together: Name Counts
		entry: Objectives
		record: Together Counts Windows.Released Over Over.Over Over.Of Over.Windows`, `
		entry.Objectives: Over.Sums.
		entry.Together: Reason
		record: Over.Above Over.Users`))

// togetherFields classes the fields of the values that all groups together have, in a window and over the newest time.
var togetherFields = classed(`
		Values
		Values: Numbers.Raw Numbers.Coarse Mechanism RankError95 PLow PHigh Raw Clip Clip. Outside.Value
		Outside.Error95 Outside.Most Outside.Cut95 Smoothed.Value Smoothed.Low Smoothed.High Band.Usual95`, `
		Values: Numbers.Raw. Numbers.Coarse. Value Error95 Quality Interval.Level Interval.Low Interval.High
		Band.Low Band.High Band.Level Band.Basis`)

// lastNeverFilled are fields that no entry here has: those of other figures, and the window that lost something is
// withheld.
var lastNeverFilled = withTogether(paths(`
		Values: Mechanism RankError95 PLow PHigh Raw Clip Clip. Outside.Value Outside.Error95 Outside.Most
		Outside.Cut95 Smoothed.Value Smoothed.Low Smoothed.High Band.Usual95`),
	paths("entry.Rollups.Together.Windows.Incomplete"))

// withTogether adds what is said of the values of all groups together, for both places where entries have them.
func withTogether[V any](values, fields map[string]V) map[string]V {
	all := maps.Clone(fields)
	for path, v := range values {
		all["entry.Together."+path], all["entry.Rollups.Together."+path] = v, v
	}
	return all
}

// ofHistograms begins the fields that only histograms and figures from them have, which no figure on change or total
// is. It also begins those that only clipped figures of a window have, and those that no roll-up has.
var ofHistograms = paths(`
		entry.Continual.Active: Release.Buckets. Release.From Release.Above Release.Below Release.Rollups
		Release.Last Release.Over
		entry.Continual.Change.Values.Figure: Numbers. Outside.
		entry.Continual.Change: Release.Buckets. Release.From Release.Above Release.Below Release.Rollups
		Release.Last Release.Over
		entry.Continual.Total: Release.Buckets. Release.From Release.Above Release.Below Release.Rollups
		Release.Last Release.Over
		entry.Rollups.Groups.Values: Outside. Raw Mechanism RankError95 P Clip Band.Usual95 Smoothed.`)

// ofFound begins the fields that only streams have whose groups are found: see TestNothingGetsPastDiscoveries.
var ofFound = paths(`
		entry.Continual.Watch: Always
		entry.Rollups: Groups.Windows
		entry: List. Discovery.
		record: List Other Threshold Joined Left Found`)

// ofSoFar begins the fields of a distribution so far that are classed elsewhere, or that only other figures have.
var ofSoFar = paths(`
		entry.Continual.SoFar: Total. Figures. Groups.Values.`)

// absent stands for a field that an entry or record does not have.
const absent = "absent"

// note writes down the fields below a value, each under its path.
func (s *transcript) note(path string, v reflect.Value) {
	switch {
	case isLeaf(v.Type()):
		text := fmt.Sprint(v.Interface())
		if v.IsZero() {
			text = absent
		}
		s.leaves[path] = append(s.leaves[path], text)
	case v.Kind() == reflect.Pointer && v.IsNil():
		below := map[string]bool{}
		typePaths(v.Type(), path, below)
		for p := range below {
			s.leaves[p] = append(s.leaves[p], absent)
		}
	case v.Kind() == reflect.Pointer:
		if isLeaf(v.Type().Elem()) { // one that points to 0 is there
			s.leaves[path] = append(s.leaves[path], fmt.Sprint(v.Elem().Interface()))
			return
		}
		s.note(path, v.Elem())
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() { // nobody writes it
				continue
			}
			s.note(path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	default: // a slice or an array
		s.leaves[path] = append(s.leaves[path], fmt.Sprint(v.Len()))
		for i := range v.Len() {
			s.note(elementPath(path, v.Type()), v.Index(i))
		}
	}
}

// typePaths adds the paths of all fields below a type.
func typePaths(t reflect.Type, path string, all map[string]bool) {
	switch {
	case isLeaf(t):
		all[path] = true
	case t.Kind() == reflect.Pointer:
		typePaths(t.Elem(), path, all)
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			if !t.Field(i).IsExported() {
				continue
			}
			typePaths(t.Field(i).Type, path+"."+t.Field(i).Name, all)
		}
	default:
		all[path] = true
		typePaths(t.Elem(), elementPath(path, t), all)
	}
}

// elementPath is that of a slice's elements: that of the slice itself, if they have fields.
func elementPath(path string, t reflect.Type) string {
	if isLeaf(t.Elem()) {
		return path + "."
	}
	return path
}

func isLeaf(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[decimal.Decimal](), reflect.TypeFor[time.Time]():
		return true
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Pointer, reflect.Slice, reflect.Array:
		return false
	}
	return true
}
