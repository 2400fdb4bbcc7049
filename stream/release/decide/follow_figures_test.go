package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/config"
)

// TestWhatAFollowerLearns: each draw of a follower has learnt from what the follower itself has published of the group
// since that came to the list, and from nothing of its source.
func TestWhatAFollowerLearns(t *testing.T) {
	text := strings.NewReplacer("name: users, statistic: count, mechanism: geometric, epsilon: 30",
		"name: p50, statistic: median, epsilon: 0.5", "step: 1}", "step: 1, prior: adaptive}").
		Replace(following("15m", "20m"))
	var lines strings.Builder
	for hour := range 16 {
		for _, stream := range []string{"f", "s"} {
			fmt.Fprintf(&lines, "%02d:00..%02d:00 %s:", hour, hour+1, stream)
			for i, name := range strings.Split("abcdef", "") { // of s some come in some hours, and leave its list
				if stream == "f" || (hour/(i+1))%3 == i%3 {
					fmt.Fprintf(&lines, " %d..%d@%s", 10*i+1, 10*i+3, name)
				}
			}
			fmt.Fprintln(&lines)
		}
	}
	s := &script{t: t}
	_, err := s.begins(&datadriven.TestData{}, text)
	if err == nil {
		_, err = s.play(&datadriven.TestData{Cmd: "play", CmdArgs: []datadriven.CmdArg{{Key: "anew"}}, Input: lines.String()})
	}
	if err != nil {
		t.Fatal(err)
	}
	all := s.recent
	audited := func() audit.Findings { return auditOf(t, all, s.editions) }
	query := newDraw(config.All[*config.Release](s.editions[0].Stream)[0], 0).query
	since := map[string][]int64{} // what each group has published since it came to the list
	joined, returned := 0, map[string]bool{}
	for _, e := range all {
		if e.Stream != "f" {
			continue
		}
		if names, _ := listByHand(all, e.DueAt); !slices.Equal(e.GroupNames(), names) {
			t.Fatalf("%s has the groups %q, want %q", e.Name(), e.GroupNames(), names)
		}
		for name := range since {
			if !slices.Contains(e.GroupNames(), name) {
				delete(since, name)
				returned[name] = true
			}
		}
		sum := sha256.New()
		for _, g := range e.Groups {
			alone, err := mechanisms.NewFilter(query)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range since[g.Name] {
				alone.Update(x, nil)
				alone.Predict()
			}
			b, err := alone.Measure().AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			sum.Write(b)
			if since[g.Name] == nil {
				joined++
			}
			since[g.Name] = append(since[g.Name], g.Values[0].Value.IntPart())
		}
		if want := hex.EncodeToString(sum.Sum(nil)[:16]); e.Prior == nil || e.Prior.Hash != want {
			t.Fatalf("%s has learnt %+v, want %s", e.Name(), e.Prior, want)
		}
	}
	if joined < 10 || len(returned) < 3 {
		t.Errorf("%d groups have come, and %d have left; want more", joined, len(returned))
	}
	if f := audited(); !f.OK || f.Priors != 64+63 { // the last one of the follower is due after the next of its source
		t.Errorf("audit of %d windows that learn, want 127: %+v", f.Priors, f.Faults)
	}
	// Another value of the follower's, and only its own later windows have learnt something else.
	for i, e := range all {
		if e.Stream == "f" && len(e.Groups) > 3 {
			v := &all[i].Groups[0].Values[0]
			v.Value = new(v.Value.Add(decimal.NewFromInt(400)).Mod(decimal.NewFromInt(1000)))
			break
		}
	}
	f := audited()
	if f.OK || f.FaultCount < 3 {
		t.Errorf("another value: %+v", f)
	}
	for i, x := range f.Faults {
		want := audit.PriorDiffers
		if i == 0 {
			want = audit.BandDiffers // of the value itself
		}
		if x.Kind != want || !strings.Contains(x.What, `stream "f"`) {
			t.Errorf("another value of the follower: %v", x)
		}
	}
}
