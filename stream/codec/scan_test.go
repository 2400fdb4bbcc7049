package codec

import (
	"strings"
	"testing"
)

// A huge text with escapes, in a wanted field or as a name beside it, is forgotten with the next record.
func TestHugeTextIsForgotten(t *testing.T) {
	var d jsonDecoder
	n := d.path("user.id")
	d.want(n, roleUser)
	huge := strings.Repeat(`\n`, 1<<20)
	for _, record := range []string{`{"user":{"id":"` + huge + `"}}`, `{"user":{"` + huge + `":1,"id":"u"}}`} {
		var f fields
		if !d.find([]byte(record), &f) || len(f[roleUser].text) == 0 {
			t.Fatal("not found")
		}
		if !d.find([]byte(`{"user":{"id":"u"}}`), &f) || string(f[roleUser].text) != "u" {
			t.Fatal("the next record is not read")
		}
		for _, n := range append(d.nodes, n) {
			if cap(n.buffer) > hugeText {
				t.Errorf("%q keeps %d bytes", n.name, cap(n.buffer))
			}
		}
	}
}

// A text is scanned in runs of eight bytes: what ends, escapes or spoils it is found at each place of them.
func TestScanStringAtEachPlace(t *testing.T) {
	for length := range 40 {
		plainText := `"` + strings.Repeat("x", length) + `"`
		for behind := range 20 {
			if next, plain := scanString([]byte(plainText+strings.Repeat("\xff", behind)), 0); next != length+2 ||
				!plain {
				t.Fatalf("%d bytes, %d behind: %d, %v", length, behind, next, plain)
			}
		}
		for at := range length {
			for _, c := range []struct {
				piece     string
				good, raw bool
			}{{`\n`, true, false}, {"é", true, true}, {"\x7f", true, true}, {" ", true, true},
				{`\ud83d\ude00`, true, false},
				{"\x00", false, false}, {"\x1f", false, false}, {"\xff", false, false}, {"\xc3", false, false},
				{`\ud83d`, false, false}, {`\x`, false, false}} {
				text := plainText[:1+at] + c.piece + plainText[1+at:]
				next, plain := scanString([]byte(text), 0)
				if good := next == len(text); good != c.good || good && plain != c.raw {
					t.Fatalf("%q: %d, %v", text, next, plain)
				}
			}
		}
	}
}
