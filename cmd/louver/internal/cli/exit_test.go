package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestExitCodes(t *testing.T) {
	for want, err := range map[int]error{
		ExitDone: nil, ExitInvalid: errors.New("bad"), ExitUsage: UsageError(errors.New("bad")),
		ExitBroker:      fmt.Errorf("run: %w", BrokerError(errors.New("bad"))),
		ExitPrivacyStop: fmt.Errorf("run: %w", PrivacyStop(errors.New("bad"))),
	} {
		var out bytes.Buffer
		if got := report(&out, err); got != want || (want != ExitDone) != strings.HasPrefix(out.String(), "louver: ") {
			t.Errorf("%v: exit code %d with %q, want %d", err, got, out.String(), want)
		}
	}
	var out bytes.Buffer
	report(&out, errors.Join(errors.New("a.yaml:1: x"), errors.New("a.yaml:2: y")))
	if want := "louver: a.yaml:1: x\nlouver: a.yaml:2: y\n"; out.String() != want {
		t.Errorf("several errors are %q, want %q", out.String(), want)
	}
	out.Reset()
	if code := report(&out, Reported()); code != ExitInvalid || out.Len() != 0 {
		t.Errorf("what was reported is reported again: %q", out.String())
	}
}
