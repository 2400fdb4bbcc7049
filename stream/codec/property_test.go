package codec_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/louver/louver/stream/codec"
)

// anyEvent draws an event that a record can say.
func anyEvent(t *rapid.T) event {
	return event{
		user: rapid.StringN(1, 20, -1).Filter(func(s string) bool {
			return utf8.ValidString(s) &&
				!strings.Contains(s, "\r")
		}).Draw(t, "user"),
		group: rapid.IntRange(0, 2).Draw(t, "group"),
		time:  rapid.Int64Range(0, recordTime).Draw(t, "time"),
		value: rapid.Int64Range(-1, 600001).Draw(t, "value"),
	}
}

// number writes grid point i, on a grid with step 0.1.
func number(i int64) string { return strconv.FormatInt(i, 10) + "e-1" }

// moment writes a time in one of the ways that keep it exactly.
func moment(t *rapid.T, ns int64) string {
	if rapid.Bool().Draw(t, "rfc3339") {
		zone := time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(t, "zone"))
		return `"` + time.Unix(0, ns).In(zone).Format(time.RFC3339Nano) + `"`
	}
	return new(big.Rat).SetFrac64(ns, 1e9).FloatString(9)
}

func TestEncodeDecode(t *testing.T) {
	groups := []string{"eu", "us", "ap"}
	asJSON, asCSV := decoder(t, jsonSpec()), decoder(t, csvSpec())
	rapid.Check(t, func(rt *rapid.T) {
		want := anyEvent(rt)
		at := moment(rt, want.time)
		user, err := json.Marshal(want.user) // escapes some characters
		if err != nil {
			rt.Fatal(err)
		}
		record := `{"user_id":` + string(user) + `,"region":"` + groups[want.group] + `","latency_ms":` +
			number(want.value) +
			`,"ts":` + at + `}`
		check(t, asJSON, nil, record, want)

		var line bytes.Buffer
		w := csv.NewWriter(&line)
		if err := w.Write([]string{strings.Trim(at, `"`), want.user, groups[want.group],
			number(want.value)}); err != nil {
			rt.Fatal(err)
		}
		w.Flush()
		check(t, asCSV, nil, line.String(), want)
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// The unit of an epoch number follows from its size, and the time is the number's floor in nanoseconds, by the
// arithmetic of math/big.
func TestEpochExact(t *testing.T) {
	d := decoder(t, codec.Spec{Format: "json", User: codec.KeyField, Value: "v", Time: "t", MaxFuture: 1<<63 - 1})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`(0|[1-9][0-9]{0,21})(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		ns, _ := new(big.Rat).SetString(text)
		for _, unit := range []struct{ below, ns float64 }{{1e11, 1e9}, {1e14, 1e6}, {1e17, 1e3}, {1e300, 1}} {
			if ns.Cmp(new(big.Rat).SetFloat64(unit.below)) < 0 {
				ns.Mul(ns, new(big.Rat).SetFloat64(unit.ns))
				break
			}
		}
		floor := new(big.Int).Quo(ns.Num(), ns.Denom())
		var e codec.Event
		r := d.Decode(codec.Record{Key: []byte("k"), Value: []byte(`{"v":1,"t":` + text + `}`)}, &e)
		if !floor.IsInt64() {
			if r != codec.BadTime {
				t.Fatalf("%s: got %q, want bad_time", text, r)
			}
			return
		}
		if r != codec.OK || e.Time != floor.Int64() {
			t.Fatalf("%s: got %d and %q, want %s", text, e.Time, r, floor)
		}
	})
}

// loneSurrogate finds what encoding/json replaces: after pairs are gone, any escape of D800–DFFF.
var (
	escaped       = regexp.MustCompile(`\\[^u]`)
	pair          = regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)
	loneSurrogate = regexp.MustCompile(`\\u[dD][89a-fA-F][0-9a-fA-F]{2}`)
)

// FuzzJSON: see checkJSON.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{value("1"), user(`"\ud83d\ude00"`), user(`"\ud800"`), `{"a":[[[[[[[[[1]]]]]]]]]}`,
		"null",
		"", value("NaN"),
		`{"user_id":1,"user_id":2}`, "{\"a\":\"\xff\"}", value("-1E+5") + "\n", `{"a":"\\ud800"}`, `[`, `{"":{}}`, "12",
		"\ufeff{}",
		value("1") + "x", `{"x":` + strings.Repeat("[", 299) + strings.Repeat("]", 299) + "}",
		`{"x":` + strings.Repeat("[", 299) + "1" + strings.Repeat("]", 299) + "}",
		user(`"\u00e9\"\\\/\b\f\n\r\t"`), user("-12345678901234567890123"),
		user("\"r\x00en\\u00e9\""), user("\"\\\"\n\\n\""), "{\"\t\\u0061\":1}"} {
		f.Add([]byte(s))
	}
	d := decoder(f, jsonSpec())
	f.Fuzz(func(t *testing.T, record []byte) { checkJSON(t, d, record) })
}

// Strings with anything in them, in every order, are valid exactly if encoding/json finds them so.
func TestStringsAreThoseOfEncodingJSON(t *testing.T) {
	d := decoder(t, jsonSpec())
	pieces := []string{"u", "é", " ", "\x00", "\t", "\n", "\x1f", "\x7f", `"`, `\`, `\"`, `\\`, `\/`, `\n`,
		`\x`, `\u00e9`,
		`\u00E`, `\ud83d`, `\ude00`, "\xff", `","region":"eu`}
	rapid.Check(t, func(t *rapid.T) {
		text := `"` + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces"), "") + `"`
		checkJSON(t, d, []byte(user(text)))
		checkJSON(t, d, []byte("{"+text+`:1,"user_id":"u"}`))
	})
}

// checkJSON: no panic, and a record is malformed exactly if encoding/json finds it invalid, or it is no object, or
// breaks one of the documented rules: Unicode, depth and names twice. The user is the one that encoding/json reads.
func checkJSON(t rapid.TB, d codec.Decoder, record []byte) {
	kept := bytes.Clone(record)
	var e codec.Event
	r := d.Decode(codec.Record{Value: record, Time: recordTime}, &e)
	if !bytes.Equal(kept, record) {
		t.Fatal("Decode changed the record")
	}
	wanted, ok := members(record)
	rest := pair.ReplaceAll(escaped.ReplaceAll(record, nil), nil)
	want := ok && json.Valid(record) && utf8.Valid(record) && !loneSurrogate.Match(rest) && depth(record) <= 300
	for _, values := range wanted {
		want = want && len(values) < 2
	}
	if (r != codec.Malformed) != want {
		t.Fatalf("%q: got %q, but encoding/json and the rules say valid=%v", record, r, want)
	}
	if r == codec.Malformed && d.Cause(codec.Record{Value: record, Time: recordTime}) == "" {
		t.Fatalf("%q is malformed, and no cause is told", record)
	}
	if r != codec.OK {
		return
	}
	var user string
	if raw := wanted["user_id"][0]; json.Unmarshal(raw, &user) != nil { // an integer
		if user = string(raw); user == "-0" {
			user = "0"
		}
	}
	if string(e.User) != user {
		t.Fatalf("%q: user %q, want %q", record, e.User, user)
	}
	if len(e.User) == 0 || e.Time < 0 || e.Group < 0 || e.Group > 2 || e.Value < -1 || e.Value > 600001 {
		t.Fatalf("%q: %+v", record, e)
	}
}

// members finds the values of each wanted name in an object; false if it is none.
func members(record []byte) (map[string][]json.RawMessage, bool) {
	d := json.NewDecoder(bytes.NewReader(record))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	found := map[string][]json.RawMessage{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, false
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil, false
		}
		switch name {
		case "user_id", "region", "latency_ms", "ts":
			found[name.(string)] = append(found[name.(string)], value)
		}
	}
	return found, true
}

// depth is that of the deepest value in a text, 1 for the whole.
func depth(record []byte) (deepest int) {
	d := json.NewDecoder(bytes.NewReader(record))
	d.UseNumber()
	at := 1
	for {
		switch token, err := d.Token(); {
		case err != nil:
			return deepest
		case token == json.Delim('{') || token == json.Delim('['):
			deepest = max(deepest, at)
			at++
		case token == json.Delim('}') || token == json.Delim(']'):
			at--
		default:
			deepest = max(deepest, at)
		}
	}
}

// FuzzCSV: no panic, and a record that is taken is one that encoding/csv reads as one line of four columns.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"1,u,eu,1", "1,\"u\n\",eu,1\r\n", "\n", "\"", ",,,", "1,u,eu,1\n1,u,eu,1",
		"1,u,eu,\r1"} {
		f.Add([]byte(s))
	}
	d := decoder(f, csvSpec())
	f.Fuzz(func(t *testing.T, record []byte) {
		var e codec.Event
		r := d.Decode(codec.Record{Value: record, Time: recordTime}, &e)
		lines, err := csv.NewReader(bytes.NewReader(record)).ReadAll()
		if r != codec.Malformed && (err != nil || len(lines) != 1 || len(lines[0]) != 4) {
			t.Fatalf("%q: got %q, but encoding/csv reads %q, %v", record, r, lines, err)
		}
		if r == codec.OK && string(e.User) != lines[0][1] {
			t.Fatalf("%q: user %q", record, e.User)
		}
		check(t, d, nil, "1795161600,u1,eu,12.3", event{"u1", 0, at, 123})
	})
}
