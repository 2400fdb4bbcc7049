package decide

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/ledger"
)

// TestSealedSecrets: all have the same length, whatever ρ is. No two are alike, and each opens for its own instance
// only.
func TestSealedSecrets(t *testing.T) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		t.Fatal(err)
	}
	s, err := newSeal("app", key)
	if err != nil {
		t.Fatal(err)
	}
	of := ledger.Instance{Stream: "s", Name: "slow", Number: 3}
	short, err := s.close("b", of, "d", []byte("1 1 1 1 1 1"))
	if err != nil {
		t.Fatal(err)
	}
	long, err := s.close("b", of, "d", []byte("1 1000000000 99 123456789 1/3 123456789012345678901234567890"))
	if err != nil {
		t.Fatal(err)
	}
	again, _ := s.close("b", of, "d", []byte("1 1 1 1 1 1"))
	if len(short) != len(long) || bytes.Equal(short, again) || bytes.Contains(short, []byte("1 1")) {
		t.Errorf("secrets of %d and %d bytes; one that is sealed again is the same: %v", len(short), len(long),
			bytes.Equal(short, again))
	}
	if text, err := s.open("b", of, "d", short); err != nil || string(text) != "1 1 1 1 1 1" {
		t.Errorf("%q, %v", text, err)
	}
	other, err := newSeal("other", key)
	if err != nil {
		t.Fatal(err)
	}
	altered := bytes.Clone(short)
	altered[40] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"app":    func() ([]byte, error) { return other.open("b", of, "d", short) },
		"budget": func() ([]byte, error) { return s.open("c", of, "d", short) },
		"stream": func() ([]byte, error) {
			return s.open("b", ledger.Instance{Stream: "t", Name: "slow", Number: 3}, "d", short)
		},
		"watch": func() ([]byte, error) {
			return s.open("b", ledger.Instance{Stream: "s", Name: "gone", Number: 3}, "d", short)
		},
		"instance": func() ([]byte, error) {
			return s.open("b", ledger.Instance{Stream: "s", Name: "slow", Number: 4}, "d", short)
		},
		"definition": func() ([]byte, error) { return s.open("b", of, "e", short) },
		"bytes":      func() ([]byte, error) { return s.open("b", of, "d", altered) },
		"length":     func() ([]byte, error) { return s.open("b", of, "d", short[:20]) },
	} {
		if text, err := open(); err == nil {
			t.Errorf("with another %s the secret opens: %q", name, text)
		}
	}
}

// TestNoSecretServesTwice stops sessions at any moment, and keeps everything that was ever written: committed, aborted
// and adopted, and aborted without a trace. In that log, every window has one outcome, every instance has one secret
// and fires at most once, and the charges are those of the instances.
func TestNoSecretServesTwice(t *testing.T) {
	noSecretServesTwice(t, "slow", alarmed)
}

// TestNoValueIsDrawnTwice is the same with a release on change. The audit also sees that values are the same as before
// where none was drawn.
func TestNoValueIsDrawnTwice(t *testing.T) {
	noSecretServesTwice(t, "calm", strings.Replace(alarmed, "releases: [",
		"releases: [{name: calm, statistic: median, epsilon: 0.5, publish: on_change, tolerance: 0.1, watch_epsilon: "+
			"1, at_most: 4}, ", 1))
}

// noSecretServesTwice wants that some instance of a watch fires.
func noSecretServesTwice(t *testing.T, watch, text string) {
	fired, adopted := false, false
	seal, err := newSeal("app", make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		d := playing(t, editionsOf(t, strings.NewReplacer("EPSILON", "0.5", "LIMIT", "40", "ATMOST", "3").Replace(text)),
			func(c *Core) { c.watches.seal = seal })
		for range rapid.IntRange(1, 12).Draw(r, "sessions") {
			d.session(d.settings)
			for range rapid.IntRange(1, 4).Draw(r, "transactions") {
				for range rapid.IntRange(1, 3).Draw(r, "windows") {
					d.give(d.editions[0], users(rapid.SampledFrom([]uint64{0, 5, 200}).Draw(r, "users"), "b", 700), trouble{})
				}
				fate := rapid.SampledFrom([]string{"", "", aborted, unsent}).Draw(r, "fate")
				d.cut = rapid.IntRange(0, 3).Draw(r, "entries that were not written")
				if err := d.decideAll(decideLine{Now: d.now, Fate: fate}); err != nil {
					r.Fatal(err)
				}
				if d.Core == nil {
					break
				}
			}
		}
		raw := map[string]string{} // what was written of a window
		for _, l := range d.ledger {
			e, err := d.decode(l.value)
			if err != nil {
				r.Fatal(err)
			}
			end := e.WindowEnd.String()
			before, known := raw[end]
			if known && before != string(l.value) {
				r.Fatalf("the window ending %s has two outcomes", end)
			}
			raw[end], adopted = string(l.value), adopted || known
		}
		secrets, of := map[string]string{}, map[string]string{}
		firings := map[string]int{}
		for _, key := range slices.Sorted(maps.Keys(raw)) {
			e, err := ledger.Decode([]byte(raw[key]))
			if err != nil {
				r.Fatal(err)
			}
			for _, w := range e.Continual {
				name := fmt.Sprint(w.Name, w.Instance)
				if w.Arms {
					if _, twice := secrets[name]; twice || of[string(w.Sealed)] != "" {
						r.Fatalf("instance %s is armed twice, or its secret is that of %s", name, of[string(w.Sealed)])
					}
					secrets[name], of[string(w.Sealed)] = string(w.Sealed), name
				}
				if w.Fires() != nil {
					firings[name]++
					fired = fired || w.Name == watch
				}
				if firings[name] > 1 {
					r.Fatalf("instance %s fires twice", name)
				}
			}
		}
		a := audit.New()
		armed := int64(0)
		for i, e := range d.entries {
			value, err := e.Encode()
			if err != nil {
				r.Fatal(err)
			}
			a.Entry(audit.Position{Topic: "ledger", Offset: int64(i)}, e.Key(), value)
			for _, w := range e.Continual {
				if w.Arms {
					armed++
				}
			}
		}
		if f := a.Findings(); !f.OK || f.Instances != armed {
			r.Fatalf("%+v, want nothing wrong and %d instances", f, armed)
		}
	})
	if !fired || !adopted {
		t.Errorf("some instance fired: %v, some entry was adopted: %v; want both", fired, adopted)
	}
}

// TestWatchesNeedAKey: without the app's key nothing is armed.
func TestWatchesNeedAKey(t *testing.T) {
	c := &Core{programs: []*program{newProgram(alarmedStream(t))}}
	if _, err := newWatches(c); err == nil {
		t.Error("there is a seal without a key")
	}
	c.WatchKey = make([]byte, 32)
	if l, err := newWatches(c); err != nil || l.seal == nil {
		t.Errorf("%v, %v", l, err)
	}
}
