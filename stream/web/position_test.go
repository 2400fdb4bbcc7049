package web

import (
	"math"
	"reflect"
	"testing"
)

func TestPosition(t *testing.T) {
	p := position{{"orders.private", 2}: 40, {"orders.private", 0}: 812, {"a-b_c", 11}: 7}
	const id = "a-b_c:11=7;orders.private:0=812,2=40"
	want(t, "id", p.String(), id)
	back, err := parsePosition(id)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "read back", back, p)
	for _, bad := range []string{"", "x", "x:", ":0=1", "x:0", "x:0=", "x:0=-1", "x:-1=0", "x:0=1;",
		"x:0=99999999999999999999"} {
		if p, err := parsePosition(bad); err == nil {
			t.Errorf("%q is %v; want an error", bad, p)
		}
	}
}

// FuzzPosition: any id of an event is refused or is a position that comes back from its own text.
func FuzzPosition(f *testing.F) {
	for _, text := range []string{"a-b_c:11=7;orders.private:0=812,2=40", "x:0=1;x:0=5", "x:2147483648=0",
		"x:0=9223372036854775808", ":", ";", "x:0=1,", "x:+1=1", "x:0=1=1", ",:0=1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePosition(text)
		if err != nil {
			return
		}
		if back, err := parsePosition(p.String()); err != nil || !reflect.DeepEqual(back, p) {
			t.Fatalf("%q is %v, which comes back as %v (%v)", text, p, back, err)
		}
		for at, offset := range p {
			p.reach(at, math.MaxInt64)
			if offset < 0 || at.number < 0 || p[at] != math.MaxInt64 {
				t.Fatalf("%q: partition %v at %d", text, at, offset)
			}
		}
	})
}

// FuzzCursor: any cursor is refused or is a mark that comes back from its own text, and that has a place among the
// figures.
func FuzzCursor(f *testing.F) {
	f.Add(mark{end: 1795161600, start: 1795161540, series: [3]string{"s", "eu", "p50"}, asOf: 1795161660}.cursor())
	f.Add(mark{end: math.MaxInt64, start: math.MinInt64}.cursor())
	for _, cursor := range []string{"", "abc", "Ly8vLw", "MS8yL3Mv", "MS8yL3MvZXUvcDUwLw==", "KzEvLTAvcy8v"} {
		f.Add(cursor)
	}
	w := newWorld(f, 1<<20)
	for i := range 4 {
		w.publish(0, text("s", "eu", "users", i, "100"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseCursor(text)
		if err != nil {
			return
		}
		if back, err := parseCursor(m.cursor()); err != nil || back != m {
			t.Fatalf("%q is %v, which comes back as %v (%v)", text, m, back, err)
		}
		if found, _, _ := w.store.find(selection{}, &m, 1); len(found) > 0 && found[0].mark().compare(m) <= 0 {
			t.Fatalf("%v comes after %v", found[0].mark(), m)
		}
	})
}
