package audit

import (
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
)

// TestAuditOfPaymentsOfDiscoveries: each is paid once a period, with its δ, and at the threshold that they take.
func TestAuditOfPaymentsOfDiscoveries(t *testing.T) {
	for name, c := range map[string]struct {
		change     func(all []ledger.Entry) []ledger.Entry
		kind, want string
	}{
		"a period twice": {func(all []ledger.Entry) []ledger.Entry { return slices.Insert(all, 4, all[3]) },
			ChargedTwice,
			`discovery "hourly" of 2026-11-20T10:00:00Z: already has an entry`},
		"a period twice, at the end": {func(all []ledger.Entry) []ledger.Entry { return append(all, all[3]) },
			ChargedTwice, "already has an entry"},
		"a charge without δ": {func(all []ledger.Entry) []ledger.Entry {
			all[3].Price[0].Promise, all[3].Releases[0].Delta = privacy.NewPure(ledgertest.Dec("0.5")), decimal.Zero
			return all
		}, EntryUnreadable, "delta 0; want more than 0"},
		"a charge of less δ": {func(all []ledger.Entry) []ledger.Entry {
			less := ledgertest.Dec("0.0000000001")
			all[3].Price[0].Promise, all[3].Releases[0].Delta = privacy.NewApproximate(ledgertest.Dec("0.5"), less),
				less
			return all
		}, ListDiffers, "its threshold is 40; its ε and δ take at least 45"},
		"a charge of less ε": {func(all []ledger.Entry) []ledger.Entry {
			less := ledgertest.Dec("0.4")
			all[3].Price[0].Promise, all[3].Releases[0].Epsilon = privacy.NewApproximate(less,
				ledgertest.Dec("0.00000001")), less
			return all
		}, ListDiffers, "its threshold is 40; its ε and δ take at least 43"},
		"a sum without it": {func(all []ledger.Entry) []ledger.Entry {
			all[3].Standing = all[2].Standing
			return all
		}, WrongSum, "books.budget_epsilon_spent has 2; the entries before it give 3"},
	} {
		f := auditOf(t, &logs{entries: c.change(listed(t))})
		if !slices.ContainsFunc(f.Faults,
			func(f Fault) bool { return f.Kind == c.kind && strings.Contains(f.What, c.want) }) {
			t.Errorf("%s: %+v, want %s, %q", name, f.Faults, c.kind, c.want)
		}
	}
}

// TestAuditOfListsBeginsAtCheckpoints: an audit that begins behind entries knows the list that they have left.
func TestAuditOfListsBeginsAtCheckpoints(t *testing.T) {
	for covered := range 9 {
		all := listed(t)
		if f := (&logs{entries: all}).auditFrom(t, covered); !f.OK {
			t.Errorf("behind %d entries: %+v", covered, f.Faults)
		}
		last := &all[8]
		last.Groups = slices.Insert(last.Groups, 0, ledger.Group{Name: "a", Values: last.Groups[0].Values})
		if f := (&logs{entries: all}).auditFrom(t, covered); f.OK {
			t.Errorf("behind %d entries a name that was kept too long goes unseen", covered)
		}
	}
}
