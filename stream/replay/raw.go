package replay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// longestRaw is how long a line may be that becomes a record as it is: as large as a record that streams look at.
const longestRaw = 4 << 20

// Raw yields the lines of a text as records, as they are, such as those that the file exporter of an OpenTelemetry
// Collector writes. Empty lines are left out. Records have no key and are due at once. The text may be compressed with
// gzip.
func Raw(name string, in io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		text, err := Text(in)
		if err != nil {
			yield(Record{}, fmt.Errorf("%s: %w", name, err))
			return
		}
		lines := bufio.NewScanner(text)
		lines.Buffer(nil, longestRaw)
		n := 1
		for ; lines.Scan(); n++ {
			if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 && !yield(Record{Value: bytes.Clone(line), Line: n}, nil) {
				return
			}
		}
		if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
			yield(Record{}, fmt.Errorf("%s:%d: the line is longer than 4 MiB; want shorter ones", name, n))
		} else if err != nil {
			yield(Record{}, fmt.Errorf("%s: %w", name, err))
		}
	}
}
