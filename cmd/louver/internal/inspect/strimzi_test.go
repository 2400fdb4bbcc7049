package inspect

import (
	"strings"
	"testing"
)

func TestResourceName(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"checkout.private", "Checkout_private", "checkout-private", "checkout_private", "_",
		"..a", "a..b", "a.-b", strings.Repeat("x", 249)} {
		got := resourceName(name)
		if seen[got] || len(got) > 253 || strings.ContainsAny(got, "_ABC") || strings.Contains(got, "..") ||
			strings.HasPrefix(got, "-") {
			t.Errorf("%s: %s", name, got)
		}
		seen[got] = true
	}
	if got := resourceName("checkout.private"); got != "checkout.private" {
		t.Error(got)
	}
}
