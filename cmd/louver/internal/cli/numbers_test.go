package cli

import "testing"

func TestShort(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.001234: "0.00123", 1: "1", 1.5: "1.5", 12.34: "12.3",
		123.4: "123", 60000: "60,000", 1e9: "1,000,000,000"} {
		if got := Short(x); got != want {
			t.Errorf("%v is %q, want %q", x, got, want)
		}
	}
	for x, want := range map[float64]string{0: "0", 0.001231: "0.00124", 1.5: "1.5", 12.31: "12.4", 23379.37: "23,380",
		150: "150"} {
		if got := ShortUp(x); got != want {
			t.Errorf("at most %v is %q, want %q", x, got, want)
		}
	}
	for p, want := range map[float64]string{0.5249: "52.5 %", 0.9996: "99.96 %", 0.99999: "99.999 %",
		1: "practically 100 %"} {
		if got := Certainty(p); got != want {
			t.Errorf("%v is %q, want %q", p, got, want)
		}
	}
}

// Whole numbers that people read have a comma at each thousand, and numbers that are given as text stay as they are.
func TestGroupedFormats(t *testing.T) {
	if got, want := Sprintf("%d of %s, %d %%", 12345, "12345", 7), "12,345 of 12345, 7 %"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Plural(1234, "user")+", "+Part(1200, 3000, "row"), "1,234 users, 1,200 of 3,000 rows"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
