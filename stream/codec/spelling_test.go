package codec_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/louver/louver/stream/codec"
)

func TestSpellings(t *testing.T) {
	of := func(key string) codec.Spelled {
		t.Helper()
		s, ok := codec.SpellingOf([]byte(key))
		if !ok {
			t.Errorf("%s is no object and no array", key)
		}
		return s
	}
	plain := of(`{"id":1,"at":{"x":"a","y":[1,2]}}`)
	for key, c := range map[string]struct{ shape, way bool }{
		`{"id":22,"at":{"x":"other","y":[3,4]}}`:     {true, true},
		`{"id":null,"at":{"x":"\"}{","y":[true,2]}}`: {true, true},
		`{"at":{"x":"a","y":[1,2]},"id":1}`:          {true, false},
		`{"id":1,"at":{"y":[1,2],"x":"a"}}`:          {true, false},
		`{"id": 1,"at":{"x":"a","y":[1,2]}}`:         {true, false},
		` {"id":1,"at":{"x":"a","y":[1,2]}}`:         {true, false},
		`{"id":1,"at":{"x":"a","y":[1,2]}}` + "\n":   {true, false},
		`{"id":1,"at":{"x":"a","y":[1, 2]}}`:         {true, false},
		`{"id":1,"at":{"x":"a","z":[1,2]}}`:          {false, false},
		`{"id":1,"at":{"x":"a","y":[1]}}`:            {false, false},
		`{"id":1}`:                                   {false, false},
		`{"x":1,"at":{"id":"a","y":[1,2]}}`:          {false, false},
	} {
		if got := of(key); (got.Shape == plain.Shape) != c.shape || (got.Way == plain.Way) != c.way {
			t.Errorf("%s: %+v beside %+v; want %+v", key, got, plain, c)
		}
	}
	for _, key := range []string{"", "u1", "17", `"u1"`, `{"id":1`, `{"id"}`, `{"id":1}}`, `{"id":1,}`, `[1,`, "{", "[", "{]",
		`{id:1}`, "\x00\x00\x00\x00\x01{}"} {
		if _, ok := codec.SpellingOf([]byte(key)); ok {
			t.Errorf("%q is an object or an array", key)
		}
	}
}

// Whatever is JSON has a spelling, and what it says does not depend on how Go writes it.
func TestSpellingOfAnyKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.MapOf(rapid.StringMatching("[a-z]{1,3}"), rapid.SliceOfN(rapid.Int(), 0, 3)).Draw(t, "key")
		key, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, key, " ", "  "); err != nil {
			t.Fatal(err)
		}
		a, ok := codec.SpellingOf(key)
		b, also := codec.SpellingOf(spaced.Bytes())
		if !ok || !also || a.Shape != b.Shape || (a.Way == b.Way) != bytes.Equal(key, spaced.Bytes()) {
			t.Fatalf("%s: %+v, %v; %+v, %v", key, a, ok, b, also)
		}
	})
}

func FuzzSpelling(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":null}], "c":"d"}`))
	f.Add([]byte(`[[[`))
	f.Fuzz(func(t *testing.T, key []byte) {
		if _, ok := codec.SpellingOf(key); ok && !json.Valid(key) {
			t.Errorf("%q is no JSON", key)
		}
	})
}

func BenchmarkSpelling(b *testing.B) {
	key := []byte(`{"user_id":12345,"tenant":"acme"}`)
	b.ReportAllocs()
	for b.Loop() {
		codec.SpellingOf(key)
	}
}
