package chaostest

import "fmt"

// verdict counts what is wrong. complaints tell of each.
type verdict struct {
	faults, windows, missing, different, double, overspent, incomplete, unexplained int
	complaints                                                                      []string
	// of watches, of users under a cap, of totals, and of names that were found: if one is 0, that was not tested
	firings, counted, totals, found int
}

func (v verdict) String() string {
	explained := "each explained"
	if v.unexplained > 0 {
		explained = fmt.Sprint(v.unexplained, " unexplained")
	}
	return fmt.Sprintf("faults %d, windows %d, missing %d, different %d, double %d, overspent %d, incomplete %d (%s)",
		v.faults, v.windows, v.missing, v.different, v.double, v.overspent, v.incomplete, explained)
}

// add adds the verdict on another app of the same run.
func (v *verdict) add(o verdict) {
	v.windows += o.windows
	v.missing += o.missing
	v.different += o.different
	v.double += o.double
	v.overspent += o.overspent
	v.incomplete += o.incomplete
	v.unexplained += o.unexplained
	v.complaints = append(v.complaints, o.complaints...)
	v.firings += o.firings
	v.counted += o.counted
	v.totals += o.totals
	v.found += o.found
}

func (v *verdict) complain(counter *int, format string, args ...any) {
	*counter++
	v.complaints = append(v.complaints, fmt.Sprintf(format, args...))
}
