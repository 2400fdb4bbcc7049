package ledger_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
)

// FuzzRestore: whatever a checkpoint says, it is refused or gives books that can be reported on and settle windows.
// Written down and restored again, they are the same.
func FuzzRestore(f *testing.F) {
	for _, draw := range []func(*rapid.T, int) *ledgertest.Partition{ledgertest.History, ledgertest.Watchful} {
		text := rapid.Custom(func(t *rapid.T) []byte {
			p := draw(t, 12)
			return ledgertest.Checkpoint(t, p.State(t, len(p.Entries)))
		})
		for seed := range 4 {
			f.Add(text.Example(seed))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var claims struct{ Entries int64 }
		if err := json.Unmarshal(text, &claims); err == nil && claims.Entries > 1e6 {
			return // it may unpack to as many windows
		}
		state, err := ledger.Restore(text, "louver", 3)
		if err != nil {
			if !errors.Is(err, ledger.ErrCheckpoint) {
				t.Fatalf("error %v is no ErrCheckpoint", err)
			}
			return
		}
		ledger.NewReport(state.Books, ledgertest.Epoch)
		for _, name := range state.Books.Streams() {
			e, _ := state.Books.Latest(name)
			e.WindowStart, e.WindowEnd = e.WindowEnd, e.WindowEnd.Add(e.Every)
			state.Recent(name)
			if err := state.Books.Settle(&e); err != nil {
				t.Fatal(err)
			}
		}
		written, err := state.Checkpoint()
		if err != nil {
			t.Fatal(err)
		}
		back, err := ledger.Restore(written, "louver", 3)
		if err != nil {
			t.Fatalf("%s does not come back: %v", written, err)
		}
		if again := ledgertest.Checkpoint(t, back); !bytes.Equal(again, written) {
			t.Fatalf("%s\ncomes back as\n%s", written, again)
		}
	})
}
