package ledger_test

import (
	"fmt"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
)

func TestDump(t *testing.T) {
	f, _ := os.Create(os.Getenv("DUMP"))
	defer f.Close()
	gen := rapid.Custom(func(t *rapid.T) *ledgertest.Partition { return ledgertest.Watchful(t, 120) })
	for seed := range 60 {
		p := gen.Example(seed)
		for _, e := range p.Entries {
			rs, err := e.Records()
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rs {
				fmt.Fprintf(f, "%s %s\n", r.Key, r.Value)
			}
		}
	}
	_ = ledger.Entry{}
}
