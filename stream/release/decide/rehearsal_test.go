package decide

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
)

// A rehearsal says of windows what the service says of the same windows with the same noise: values, bands and
// qualities, also after windows that were left out, and when the filters begin anew after 512 windows.
func TestRehearsalIsTheService(t *testing.T) {
	p := programOf(t, adaptive)
	p.random = rand.NewChaCha8([32]byte{7})
	r := NewRehearsal(p.Stream, p.Schedule.Start)
	r.program.random = rand.NewChaCha8([32]byte{7})
	random := rand.New(rand.NewPCG(3, 4))
	prior := newPrior(p)
	var past []ledger.Past
	bases, qualities := map[record.Basis]int{}, map[record.Quality]int{}
	window := p.Schedule.First()
	for i := range 600 {
		bag := windows.NewBag(windows.BagSpec{Groups: p.Stream.Groups, MaxGroups: 1, Policy: windows.Last,
			Window: window, Hasher: windows.NewHasher([16]byte{})})
		for range 400 {
			bag.Add(windows.UserHash{random.Uint64(), random.Uint64()}, random.IntN(4)/3, window.Start,
				int64(100+random.ExpFloat64()*40))
		}
		got, err := r.Window(window, bag)
		if err != nil {
			t.Fatal(err)
		}
		e := p.entry("rehearsal", window)
		if _, err := prior.upTo(window, p.Stream.Groups, past); err != nil {
			t.Fatal(err)
		}
		if _, err := p.draw(&e, bag, prior, untimed); err != nil {
			t.Fatal(err)
		}
		prior.smooth(&e)
		if err := e.Compute(); err != nil {
			t.Fatal(err)
		}
		text, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		// Through the ledger, as publish gets it.
		again, err := ledger.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		past = append(past, ledger.NewPast(again))
		if d := cmp.Diff(again.Values(), got); d != "" {
			t.Fatalf("window %d: the service says (-), the rehearsal (+)\n%s", i, d)
		}
		for _, f := range got {
			qualities[f.Quality]++
			if f.BandFields != nil {
				bases[f.Basis]++
			}
		}
		if window, _ = p.Schedule.Next(window); i%50 == 49 {
			window, _ = p.Schedule.After(window.End)
		}
	}
	if bases[record.OfScatter] < 100 || qualities["useful"] < 100 || qualities["rough"] < 100 {
		t.Errorf("bands %v, qualities %v", bases, qualities)
	}
}
