package groupname

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func TestVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/names.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Names []struct {
			In    string
			Name  *string
			InKey *string `json:"in_key"`
		}
	}
	if err := json.Unmarshal(text, &vectors); err != nil || len(vectors.Names) < 16 {
		t.Fatal(len(vectors.Names), err)
	}
	for _, v := range vectors.Names {
		name, err := Canonical([]byte(v.In))
		switch {
		case v.Name == nil && err == nil:
			t.Errorf("%q: %q, want an error", v.In, name)
		case v.Name != nil && (err != nil || string(name) != *v.Name || Escape(string(name)) != *v.InKey):
			t.Errorf("%q: %q, %v, in a key %q; want %q, %q", v.In, name, err, Escape(string(name)), *v.Name, *v.InKey)
		}
	}
}

func TestCanonical(t *testing.T) {
	four := strings.Repeat("\U0001F600", Longest)
	apart := strings.Repeat("\u0391\u0313\u0301\u0345", Longest) // ᾌ in its longest form
	for _, c := range []struct {
		text, want string
		err        error
	}{
		{"42", "42", nil},
		{"-9223372036854775809", "-9223372036854775809", nil},
		{" \u00a0\u3000a b\u2003 ", "a b", nil},
		{four, four, nil},
		{four + "x", "", ErrTooLong},
		{apart, strings.Repeat("\u1f8c", Longest), nil},
		{apart + "\u0391", "", ErrTooLong},
		{strings.Repeat("e\u0301", Longest), strings.Repeat("é", Longest), nil},
		{strings.Repeat(" ", 5000) + "a" + strings.Repeat("\u2003", 5000), "a", nil},
		{strings.Repeat("x", 1<<20), "", ErrTooLong},
		{strings.Repeat("\u00e9", 1<<20), "", ErrTooLong},
		{"\u3000", "", ErrEmpty},
		{"\x7f", "", ErrHidden},
		{"a\u0085", "", ErrHidden},
		{"a\u2028b", "", ErrHidden},
		{"a\u2029b", "", ErrHidden},
		{"a\ue000", "", ErrHidden},
		{"\ufeffa", "", ErrHidden},
		{"a\u00ad", "", ErrHidden},
		{"\t", "", ErrHidden},
		{"a\xffb", "", ErrText},
		{"\xed\xa0\x80", "", ErrText}, // half of a surrogate pair
		{"\u2000a\u2001", "a", nil},
		{"<script>alert(1)</script>", "<script>alert(1)</script>", nil},
	} {
		before := []byte(c.text)
		name, err := Canonical(before)
		if !errors.Is(err, c.err) || string(name) != c.want || string(before) != c.text {
			t.Errorf("%.40q: %.40q, %v; want %.40q, %v", c.text, name, err, c.want, c.err)
		}
	}
}

func TestUnescapeRefuses(t *testing.T) {
	for _, text := range []string{"a/b", "%", "%2", "a%2fb", "%41", "%25/", "100%"} {
		if name, err := Unescape(text); err == nil {
			t.Errorf("%q is taken for the name %q", text, name)
		}
	}
}

// FuzzNames: a canonical name is what the rule says, by another way; its canonical form is itself, and a key gives it
// back.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{"/products/42", "  eu ", "e\u0301clair", "a%2Fb", "", "\x00", "\u202eb",
		"中文", "\u0344",
		"\u0958", "\ufb2c", " \u0301a", "\u1100\u1161\u11a8", strings.Repeat("\u0316\u0301", 40), "\xf0\x9f",
		"a" + strings.Repeat("\u0300", 31) + " "} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		name, err := Canonical(text)
		if !bytes.Equal(before, text) {
			t.Fatalf("%q became %q", before, text)
		}
		plain := bytes.TrimFunc(norm.NFC.Bytes(text), func(r rune) bool { return unicode.Is(unicode.Zs, r) })
		hidden := bytes.ContainsFunc(plain, func(r rune) bool {
			return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)
		})
		count := utf8.RuneCount(plain)
		good := utf8.Valid(text) && !hidden && count >= 1 && count <= Longest
		if good != (err == nil) || good && !bytes.Equal(plain, name) {
			t.Fatalf("%q: %q, %v; want %q, %t", text, name, err, plain, good)
		}
		if err != nil {
			return
		}
		again, err := Canonical(name)
		if err != nil || !bytes.Equal(again, name) {
			t.Fatalf("%q: %q, then %q, %v", text, name, again, err)
		}
		key := Escape(string(name))
		back, err := Unescape(key)
		if err != nil || back != string(name) || strings.Contains(key, "/") {
			t.Fatalf("%q in a key is %q and back %q, %v", name, key, back, err)
		}
	})
}

// FuzzUnescape: what Unescape takes for a key is what Escape writes.
func FuzzUnescape(f *testing.F) {
	for _, seed := range []string{"%2Fproducts%2F42", "a%252Fb", "%", "a/b", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if name, err := Unescape(text); err == nil && Escape(name) != text {
			t.Fatalf("%q is read as %q, which is written %q", text, name, Escape(name))
		}
	})
}

func BenchmarkCanonical(b *testing.B) {
	for name, text := range map[string]string{"ascii": "/products/shoes/42", "composed": "/produits/éclair/42",
		"apart": "/produits/e\u0301clair/42"} {
		b.Run(name, func(b *testing.B) {
			bytes := []byte(text)
			for b.Loop() {
				if _, err := Canonical(bytes); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
