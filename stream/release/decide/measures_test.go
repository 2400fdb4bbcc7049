package decide

import (
	"bytes"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/ledger"
)

// An audit that knows the definitions computes what draws had learnt. It notices a hash that is not theirs, and a
// published figure that is not the one that they learnt.
func TestAuditComparesWhatDrawsLearnt(t *testing.T) {
	editions := editionsOf(t, adaptive)
	d := playing(t, editions)
	var values [][]byte
	for range 20 {
		d.next(users(200, "a", 90))
		values = append(values, d.ledger[len(d.ledger)-1].value)
	}
	audited := func(learner audit.Learner, values [][]byte) audit.Findings {
		a := audit.New()
		a.Learner = learner
		for i, value := range values {
			a.Entry(audit.Position{Topic: "ledger", Offset: int64(i)}, []byte("s"), value)
		}
		return a.Findings()
	}
	if got := audited(NewMeasures(editions), values); !got.OK || got.Priors != 20 {
		t.Errorf("a healthy ledger: %+v", got)
	}
	if got := audited(NewMeasures(nil), values); !got.OK || got.Priors != 0 {
		t.Errorf("definitions that are not known: %+v", got)
	}
	if got := audited(nil, values); !got.OK || got.Priors != 0 {
		t.Errorf("no definitions: %+v", got)
	}
	changed := func(i int, change func(*ledger.Entry)) [][]byte {
		e, err := ledger.Decode(values[i])
		if err != nil {
			t.Fatal(err)
		}
		change(&e)
		value, err := e.Encode()
		if err != nil || bytes.Equal(value, values[i]) {
			t.Fatalf("nothing was changed: %v", err)
		}
		all := append([][]byte(nil), values...)
		all[i] = value
		return all
	}
	wrongHash := audited(NewMeasures(editions),
		changed(7, func(e *ledger.Entry) { e.Prior.Hash = strings.Repeat("0", 32) }))
	if wrongHash.FaultCount != 1 || wrongHash.Faults[0].Kind != audit.PriorDiffers ||
		wrongHash.Faults[0].At.Offset != 7 {
		t.Errorf("another hash: %+v", wrongHash)
	}
	wrongValue := audited(NewMeasures(editions), changed(7, func(e *ledger.Entry) { *e.Groups[0].Users += 100 }))
	if wrongValue.FaultCount != 13 || wrongValue.Priors != 8 || wrongValue.Faults[0].Kind != audit.BandDiffers {
		t.Errorf("another count in the eighth entry: %d faults and %d priors; want 13, one for its bands and one for "+
			"each later entry, and 8", wrongValue.FaultCount, wrongValue.Priors)
	}
	for name, change := range map[string]func(v *ledger.Value){
		"low":       func(v *ledger.Value) { v.Band.Low = new(v.Band.Low.Sub(decimal.NewFromInt(1))) },
		"high":      func(v *ledger.Value) { v.Band.High = new(v.Band.High.Add(decimal.NewFromInt(1))) },
		"level":     func(v *ledger.Value) { v.Band.Level = new(decimal.New(9, -1)) },
		"usual_95":  func(v *ledger.Value) { v.Band.Usual95 = nil },
		"no band":   func(v *ledger.Value) { v.Band = nil },
		"smoothed":  func(v *ledger.Value) { v.Smoothed.Value = v.Smoothed.Value.Add(decimal.NewFromInt(1)) },
		"too small": func(v *ledger.Value) { v.Smoothed.Low = nil },
	} {
		wrong := audited(NewMeasures(editions), changed(17, func(e *ledger.Entry) { change(&e.Groups[0].Values[0]) }))
		if wrong.FaultCount != 1 || wrong.Faults[0].Kind != audit.BandDiffers || wrong.Faults[0].At.Offset != 17 {
			t.Errorf("another band, %s: %+v", name, wrong)
		}
	}
	wrongCount := audited(NewMeasures(editions),
		changed(7, func(e *ledger.Entry) {
			e.Groups[0].Values[1].Band.High = &decimal.Zero
			e.Groups[0].Values[1].Band.Low = &decimal.Zero
		}))
	if wrongCount.FaultCount != 1 || wrongCount.Faults[0].Kind != audit.BandDiffers {
		t.Errorf("another band of the count: %+v", wrongCount)
	}
}
