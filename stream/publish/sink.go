package publish

import (
	"context"
	"fmt"

	"github.com/louver/louver/stream/ledger"
)

// Sink receives what is published from one partition of the ledger. One goroutine uses it.
type Sink interface {
	// Begin takes over from earlier writers, whose writes have no effect from then on, and returns their progress.
	Begin(ctx context.Context) (Progress, error)
	// Write writes the entries' records, and how far the worker has come with them: both or neither. A [BlockedError]
	// means that a single output prevented the write and nothing was written. Write may then be called again. After any
	// other error, call Begin first.
	Write(ctx context.Context, entries []ledger.Entry, p Progress) error
}

// Progress says how far a partition of the ledger is published: every entry below Offset, except that an output in
// Behind is published only below its own offset.
type Progress struct {
	Offset int64            `json:"offset"`
	Behind map[string]int64 `json:"behind,omitempty"`
}

// BlockedError says that an output cannot be written to now.
type BlockedError struct {
	Output string
	Err    error
}

func (e *BlockedError) Error() string {
	return fmt.Sprintf("output topic %s does not accept records: %v", e.Output, e.Err)
}

// Unwrap returns the broker's error.
func (e *BlockedError) Unwrap() error { return e.Err }
