package cli

import "testing"

func TestShort(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.001234: "0.00123", 1: "1", 1.5: "1.5", 12.34: "12.3",
		123.4: "123", 60000: "60000", 1e9: "1000000000"} {
		if got := Short(x); got != want {
			t.Errorf("%v is %q, want %q", x, got, want)
		}
	}
	for p, want := range map[float64]string{0.5249: "52.5 %", 0.9996: "99.96 %", 0.99999: "99.999 %",
		1: "practically 100 %"} {
		if got := Certainty(p); got != want {
			t.Errorf("%v is %q, want %q", p, got, want)
		}
	}
}
