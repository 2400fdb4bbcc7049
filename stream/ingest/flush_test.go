package ingest

import (
	"slices"
	"testing"
)

// TestManyStreamsAreCheckedMoreOften: a record may be in a bag of every stream, so the bags of a thousand streams grow
// a thousand times as fast.
func TestManyStreamsAreCheckedMoreOften(t *testing.T) {
	for _, streams := range []int{0, 1, 8, 9, 1000, 1 << 20} {
		p := output{input: &input{routes: slices.Repeat([]*route{{}}, streams)}}
		n := p.unchecked()
		if n < 1 || n > relieveEvery || n > 1 && n*streams > relieveBags {
			t.Errorf("%d streams: the bags are checked after %d records", streams, n)
		}
		if streams <= 8 && n != relieveEvery {
			t.Errorf("%d streams: the bags are checked after %d records already", streams, n)
		}
	}
}
