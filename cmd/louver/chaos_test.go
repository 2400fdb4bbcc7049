package main

import (
	"os"
	"strconv"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/chaostest"
)

// TestChaos does faults to a service. CHAOS_FAULTS says how many, CHAOS_SEED which.
func TestChaos(t *testing.T) {
	t.Parallel()
	faults, seed := chaosSetting(t, "CHAOS_FAULTS", 12), chaosSetting(t, "CHAOS_SEED", 1)
	t.Logf("%d faults, CHAOS_SEED=%d", faults, seed)
	chaostest.Run(t, int(faults), seed)
}

// chaosSetting is a setting of the run, from the environment.
func chaosSetting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%q; want a whole number", name, text)
	}
	return n
}
