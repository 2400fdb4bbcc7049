package replay_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream/replay"
	"github.com/louver/louver/stream/shape"
)

// A look says of each column what kind of things are in it, whatever the file's form.
func TestLookAt(t *testing.T) {
	column := func(path string, of shape.Type, filled, numbers, times, distinct, places int) replay.Column {
		return replay.Column{Field: shape.Field{Path: path, Type: of}, Filled: filled, Numbers: numbers, Times: times,
			Distinct: distinct, Most: min(1, distinct) + filled - distinct, Places: places}
	}
	moments := func(path string, times, dates, clocks, distinct int) replay.Column {
		c := column(path, shape.String, max(times, clocks), 0, times, distinct, 0)
		c.Dates, c.Clocks = dates, clocks
		return c
	}
	for name, c := range map[string]struct {
		text      string
		delimiter rune
		want      []replay.Column
	}{
		"CSV": {"who,at,ms\nann,2026-11-20T08:00:00Z,1.50\nbob,2026-11-20,NA\nann,,.25\n", ',', []replay.Column{
			column("who", shape.String, 3, 0, 0, 2, 0), moments("at", 2, 1, 0, 2),
			column("ms", shape.Number, 3, 2, 0, 3, 2)}},
		"semicolons and a quoted line end": {"who;at,in;\n\"a\nb\";1763625600;\n", ';', []replay.Column{
			column("who", shape.String, 1, 0, 0, 1, 0), column("at,in", shape.Number, 1, 1, 1, 1, 0),
			{Field: shape.Field{Type: shape.Null, Hidden: true}}}},
		"times in two columns": {"day,hour\n28/11/2026,08:30\n11/28/2026,8:30:00 pm\n03/03/03,8:30\n", ',',
			[]replay.Column{moments("day", 3, 3, 0, 3), moments("hour", 0, 0, 3, 3)}},
		"an empty column": {"who\tnone\na\t\n", '\t', []replay.Column{column("who", shape.String, 1, 0, 0, 1, 0),
			column("none", shape.Null, 0, 0, 0, 0, 0)}},
		"JSON lines": {`{"who":7,"at":{"time":"2026-11-20T08:00:00Z"}}` + "\n\n" + `{"who":8,"ok":true}` + "\n", 0,
			[]replay.Column{column("who", shape.Number, 2, 2, 0, 2, 0), column("at.time", shape.String, 1, 0, 1, 1, 0),
				column("ok", shape.Boolean, 0, 0, 0, 0, 0)}},
		"a line that does not fit ends the look": {"a,b\n1,2\n3\n4,5\n", ',', []replay.Column{
			column("a", shape.Number, 1, 1, 0, 1, 0), column("b", shape.Number, 1, 1, 0, 1, 0)}},
	} {
		look, rest, err := replay.LookAt("f", strings.NewReader(c.text), 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(c.want, look.Columns); d != "" || look.Delimiter != c.delimiter {
			t.Errorf("%s: delimiter %q, columns -want +got:\n%s", name, look.Delimiter, d)
		}
		if text, err := io.ReadAll(rest); err != nil || string(text) != c.text {
			t.Errorf("%s: the text is now %q, %v", name, text, err)
		}
	}
}

// Of a long file only whole lines at its beginning are looked at, packed or not, and nothing is lost.
func TestLookAtALongFile(t *testing.T) {
	var text, packed bytes.Buffer
	text.WriteString("user,n\n")
	for i := range 100_000 {
		_, _ = fmt.Fprintf(&text, "u%d,%d\n", i, i)
	}
	zip := gzip.NewWriter(&packed)
	_, _ = zip.Write(text.Bytes())
	_ = zip.Close()
	for _, in := range []io.Reader{bytes.NewReader(text.Bytes()), &packed} {
		look, rest, err := replay.LookAt("f", in, 0)
		if err != nil {
			t.Fatal(err)
		}
		if n := look.Columns[0]; n.Filled < 10_000 || n.Filled >= 100_000 || n.Distinct != n.Filled ||
			look.Columns[1].Numbers != n.Filled {
			t.Errorf("%+v", look.Columns)
		}
		if all, err := io.ReadAll(rest); err != nil || !bytes.Equal(all, text.Bytes()) {
			t.Errorf("%d bytes are left, %v; want %d", len(all), err, text.Len())
		}
	}
}
