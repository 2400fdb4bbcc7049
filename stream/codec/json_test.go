package codec_test

import (
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/codec"
)

// at is the time of most events here, one second before recordTime.
var at = recordTime - int64(time.Second)

// with is a good record with one member replaced.
func with(member, text string) string {
	members := []string{`"user_id":"u1"`, `"region":"eu"`, `"latency_ms":12.3`, `"ts":"2026-11-20T08:00:00Z"`}
	for i, m := range members {
		if strings.HasPrefix(m, `"`+member+`"`) {
			members[i] = text
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func value(text string) string { return with("latency_ms", `"latency_ms":`+text) }
func user(text string) string  { return with("user_id", `"user_id":`+text) }
func ts(text string) string    { return with("ts", `"ts":`+text) }
func region(text string) string {
	return with("region", `"region":`+text)
}

type good struct {
	name, record string
	want         event
}

// event is a codec.Event that can be compared.
type event struct {
	user  string
	group int
	time  int64
	value int64
}

func check(t *testing.T, d codec.Decoder, key []byte, record string, want event) {
	t.Helper()
	var e codec.Event
	before := record
	if r := d.Decode(codec.Record{Key: key, Value: []byte(record), Time: recordTime}, &e); r != codec.OK {
		t.Errorf("%.200s: rejected as %v", record, r)
		return
	}
	if got := (event{string(e.User), e.Group, e.Time, e.Value}); got != want {
		t.Errorf("%.200s: got %+v, want %+v", record, got, want)
	}
	if record != before {
		t.Error("Decode changed the record")
	}
}

func checkRejected(t *testing.T, d codec.Decoder, key []byte, record string, want codec.Reason) {
	t.Helper()
	var e codec.Event
	if r := d.Decode(codec.Record{Key: key, Value: []byte(record), Time: recordTime}, &e); r != want {
		t.Errorf("%.200q: got %q, want %q", record, r, want)
	}
}

func TestJSONGood(t *testing.T) {
	d := decoder(t, jsonSpec())
	usual := event{"u1", 0, at, 123}
	valued := func(v int64) event { e := usual; e.value = v; return e }
	of := func(u string) event { e := usual; e.user = u; return e }
	timed := func(ns int64) event { e := usual; e.time = ns; return e }
	for _, c := range []good{
		{"plain", value("12.3"), usual},
		{"white space",
			" \n{ \"user_id\" : \"u1\" ,\t\"region\":\"eu\",\r\n" +
				"\"latency_ms\" : 12.3 , \"ts\":\"2026-11-20T08:00:00Z\" } \n",
			usual},
		{"other members",
			`{"a":[1,{"user_id":2}],"user_id":"u1","region":"eu","b":null,"latency_ms":12.3,"c":true,"ts":"2026-11-20T08:00:00Z"}`, usual},
		{"another name twice", `{"a":1,"a":2,` + value("12.3")[1:], usual},
		{"escaped name", with("user_id", `"us\u0065r_id":"u1"`), usual},
		{"31 arrays aside", with("user_id", `"user_id":"u1","deep":`+strings.Repeat("[", 31)+strings.Repeat("]", 31)),
			usual},

		{"rounding to the grid", value("12.34"), usual},
		{"tie upward", value("12.25"), usual},
		{"exponent", value("1.23e1"), usual},
		{"capital exponent", value("123E-1"), usual},
		{"many digits", value("12.3" + strings.Repeat("0", 500) + "1"), usual},
		{"zero", value("0"), valued(0)},
		{"minus zero", value("-0"), valued(0)},
		{"upper bound", value("60000"), valued(600000)},
		{"below", value("-0.1"), valued(-1)},
		{"above", value("60000.1"), valued(600001)},
		{"far above", value("1e999999999"), valued(600001)},
		{"far below", value("-1e999999999999999999999"), valued(-1)},
		{"hardly anything", value("1e-999999999"), valued(0)},
		{"a text that is a number", value(`"12.30"`), usual},
		{"an escaped text that is a number", value(`"\u0031e2"`), valued(1000)},
		{"a text below", value(`"-1"`), valued(-1)},

		{"escaped user", user(`"ren\u00e9"`), of("rené")},
		{"the same unescaped", user(`"rené"`), of("rené")},
		{"surrogate pair", user(`"\ud83d\ude00"`), of("😀")},
		{"capital surrogate pair", user(`"\uD83D\uDE00"`), of("😀")},
		{"quote, slash, backslash", user(`"\"\/\\\b\f\n\r\t"`), of("\"/\\\b\f\n\r\t")},
		{"a backslash before u", user(`"\\ud800"`), of(`\ud800`)},
		{"NUL", user(`"\u0000"`), of("\x00")},
		{"replacement character", user(`"\ufffd�"`), of("��")},
		{"a space is a name", user(`" "`), of(" ")},
		{"integer user", user("42"), of("42")},
		{"negative integer user", user("-42"), of("-42")},
		{"user 0", user("0"), of("0")},
		{"user −0", user("-0"), of("0")},
		{"long integer user", user("123456789012345678901234567890"), of("123456789012345678901234567890")},
		{"text of digits", user(`"042"`), of("042")},
		{"long user", user(`"` + strings.Repeat("x", 1<<20) + `"`), of(strings.Repeat("x", 1<<20))},

		{"other group", region(`"ap"`), event{"u1", 2, at, 123}},
		{"escaped group", region(`"\u0061p"`), event{"u1", 2, at, 123}},

		{"offset", ts(`"2026-11-20T10:00:00+02:00"`), usual},
		{"odd offset", ts(`"2026-11-20T02:23:00-05:37"`), usual},
		{"unknown offset", ts(`"2026-11-20T08:00:00-00:00"`), usual},
		{"nanoseconds", ts(`"2026-11-20T08:00:00.123456789Z"`), timed(at + 123456789)},
		{"finer than nanoseconds", ts(`"2026-11-20T08:00:00.1234567899Z"`), timed(at + 123456789)},
		{"a zone without a colon", ts(`"2026-11-20 10:00:00+0200"`), usual},
		{"as an access log writes it", ts(`"20/Nov/2026:10:00:00 +0200"`), usual},
		{"1970", ts(`"1970-01-01T00:00:00Z"`), timed(0)},
		{"escaped time", ts(`"2026-11-20T08:00\u003a00Z"`), usual},
		{"seconds", ts("1795161600"), usual},
		{"milliseconds", ts("1795161600000"), usual},
		{"microseconds", ts("1795161600000000"), usual},
		{"nanoseconds", ts("1795161600000000000"), usual},
		{"a text of milliseconds", ts(`"1795161600000"`), usual},
		{"fraction of seconds", ts("1795161600.123456789"), timed(at + 123456789)},
		{"fraction beyond float64", ts("1795161600.1234567899999"), timed(at + 123456789)},
		{"fraction of milliseconds", ts("1795161600000.25"), timed(at + 250000)},
		{"fraction of microseconds", ts("1795161600000000.5"), timed(at + 500)},
		{"fraction of nanoseconds", ts("1795161600000000000.9"), usual},
		{"as Java writes doubles", ts("1.795161600125E9"), timed(at + 125000000)},
		{"exponent of milliseconds", ts("1.7951616e12"), usual},
		{"negative exponent", ts("17951616000e-1"), usual},
		{"second 0", ts("0"), timed(0)},
		{"zero with an exponent", ts("0e999999999999"), timed(0)},
		{"next to nothing", ts("1e-999999999999"), timed(0)},
		{"below milliseconds", ts("0.0000000019"), timed(1)},
		{"as far ahead as may be", ts(`"2026-11-20T08:05:01Z"`), timed(recordTime + int64(5*time.Minute))},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, d, nil, c.record, c.want) })
	}
}

func TestJSONBad(t *testing.T) {
	d := decoder(t, jsonSpec())
	for _, c := range []struct {
		want    codec.Reason
		records []string
	}{
		{codec.Malformed, []string{
			"", " ", "\n", "null", "true", "42", `"text"`, "[]", `[{"user_id":"u1"}]`, "not json", "NaN",
			"{", "}", "{]",
			`{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{a:1}`, `{'a':1}`, `{"a" 1}`,
			"\ufeff" + value("1"),                    // byte order mark
			value("1") + "x",                         // trailing garbage
			value("1") + value("1"),                  // two records
			value("1") + "\x00",                      //
			value("1")[:40],                          // cut off
			"// comment\n" + value("1"),              //
			"\v" + value("1"), "\u00a0" + value("1"), // white space, but not JSON's
			value("01"), value("-01"), value("+1"), // numbers
			value(".5"), value("5."), value("1e"), //
			value("1e+"), value("1.e1"), value("-"), //
			value("--1"), value("1-2"), value("1.2.3"), //
			value("0x10"), value("1_000"), value("1,5"), //
			value("NaN"), value("nan"), value("Infinity"), value("-Infinity"), value("inf"), value("-inf"),
			value("nul"), value("True"), value("tru"), value("undefined"),
			user(`"a`), user(`"a\"`), user(`"\x41"`), user(`"\u12"`), user(`"\u12g4"`), user(`"\u+123"`), user(`"\`),
			user("\"a\nb\""), user("\"a\x00b\""), user("\"a\tb\""), // control characters
			user("\"a\xff\""), user("\"\xc3\""), user("\"\xc0\x80\""), user("\"\xed\xa0\x80\""),
			user("\"\xf4\x90\x80\x80\""),
			user(`"\ud800"`), user(`"\udc00"`), user(`"\ud800x"`), user(`"\ud800\u0041"`), user(`"\udc00\ud800"`),
			user(`"\ud800\\udc00"`),
			with("region", `"region":"eu","note":"\ud800"`), // also where nobody looks
			with("region", `"region":"eu","note":"`+"\xff"+`"`),
			with("user_id", `"user_id":"u1","user_id":"u2"`), // a wanted name twice
			with("user_id", `"user_id":"u1","us\u0065r_id":"u1"`),
			with("user_id", `"user_id":null,"user_id":"u1"`),
			with("region", `"region":"eu","deep":`+strings.Repeat("[", 300)+strings.Repeat("]", 300)),
			strings.Repeat("[", 1<<20),
			strings.Repeat(`{"a":`, 1<<18),
			strings.Repeat("[", 1<<19) + strings.Repeat("]", 1<<19),
			strings.Repeat("[", 299) + "n" + strings.Repeat("\x01", 1<<20),
			strings.Repeat("x", 1<<20),
			`{"user_id":"` + strings.Repeat(`\`, 1<<20+1) + `"}`,
		}},
		{codec.BadValue, []string{
			"{}",
			with("latency_ms", `"latency":1`),
			with("latency_ms", `"LATENCY_MS":1`),
			value(`""`), value(`"12 "`), value(`"1,200"`), value(`"01"`), value(`"1.5s"`),
			value("null"), value("true"), value("false"), value("{}"), value("[]"),
			value("[1]"),
			value(`{"latency_ms":1}`), value(`"NaN"`),
		}},
		{codec.BadUser, []string{
			with("user_id", `"uid":"u1"`),
			user(`""`), user("null"), user("true"), user("false"), user("{}"), user("[]"), user(`["u1"]`),
			user("1.0"), user("1e3"), user("1E3"), user("-1.5"), user("0.0"),
		}},
		{codec.BadTime, []string{
			with("ts", `"time":"2026-11-20T08:00:00Z"`),
			ts("null"), ts("true"), ts("{}"), ts("[]"), ts(`""`), ts(`"now"`), ts(`"yesterday"`),
			ts(`"2026-11-20"`), ts(`"2026-11-20T08:00:00"`), ts(`"2026-11-20 08:00:00"`),
			ts(`"2026-11-20T8:00:00Z"`), ts(`"2026-11-20T08:00:00,5Z"`),
			ts(`"2026-11-20T08:00:00.Z"`),
			ts(`"2026-02-29T08:00:00Z"`), ts(`"2026-13-01T08:00:00Z"`), ts(`"2026-11-20T24:00:00Z"`),
			ts(`"2026-11-20T08:00:60Z"`),
			ts(`"2026-11-20T08:00:00+25:00"`), ts(`"2026-11-20T08:00:00Zx"`), ts(`" 2026-11-20T08:00:00Z"`),
			ts(`"1969-12-31T23:59:59Z"`), ts(`"0001-01-01T00:00:00Z"`), ts(`"2262-04-11T23:47:17Z"`),
			ts(`"9999-12-31T23:59:59Z"`),
			ts("-1"), ts("-0"), ts("-1795161600"), ts(`"-1"`), ts(`"+1"`), ts(`"01"`), ts(`"1795161600 "`),
			ts(`"1_000"`),
			ts(`"0x1"`),
			ts(`"1e"`), ts(`"1."`), ts(`".5"`), ts(`"1e+"`), ts(`"NaN"`), ts(`"Infinity"`),
			ts("9223372037"), ts("99999999999"), ts("9223372036855"), ts("9223372036854775808"),
			ts("18446744073709551616"),
			ts("1e999999999"),
			ts("1" + strings.Repeat("0", 1000)),
		}},
		{codec.BadGroup, []string{
			with("region", `"zone":"eu"`),
			region(`""`), region("null"), region("true"), region(`"mars"`), region(`"EU"`),
			region(`"e u"`), region("1"),
			region("1.5"), region("{}"), region(`["eu"]`),
		}},
		{codec.Future, []string{
			ts(`"2026-11-20T08:05:01.000000001Z"`), ts(`"2026-11-20T09:00:00Z"`), ts("1795161902"), ts("9223372036"),
			ts("9223372036854775807"),
		}},
		// The first reason in their order counts.
		{codec.BadValue, []string{`{"user_id":"","latency_ms":"x","ts":"x","region":"x"}`}},
		{codec.BadUser, []string{`{"user_id":"","latency_ms":1,"ts":"x","region":"x"}`}},
		{codec.BadTime, []string{`{"user_id":"u","latency_ms":1,"ts":"x","region":"x"}`}},
		{codec.BadGroup, []string{`{"user_id":"u","latency_ms":1,"ts":9223372036,"region":"x"}`}},
	} {
		for _, record := range c.records {
			checkRejected(t, d, nil, record, c.want)
		}
	}
	check(t, d, nil, value("12.3"), event{"u1", 0, at, 123}) // nothing is left behind
}

func TestJSONTombstone(t *testing.T) {
	var e codec.Event
	for name, s := range map[string]codec.Spec{"fields": jsonSpec(), "bare": {Format: "json", User: codec.KeyField,
		Value: codec.ValueField}} {
		if r := decoder(t, s).Decode(codec.Record{Key: []byte("k"), Time: recordTime}, &e); r != codec.Malformed {
			t.Errorf("%s: no value at all: got %q, want malformed", name, r)
		}
	}
}

func TestJSONPaths(t *testing.T) {
	s := jsonSpec()
	s.User, s.Value, s.Time, s.Group = "user.id", "user.timing.ms", "user.timing.at", "user.id"
	s.Groups = []string{"u1", "7"}
	d := decoder(t, s)
	check(t, d, nil, `{"user":{"timing":{"at":1795161600,"ms":5},"id":"u1"}}`, event{"u1", 0, at, 50})
	check(t, d, nil, `{"x":{"id":8},"user":{"id":7,"timing":{"ms":5,"at":1795161600,"id":9}},"id":10}`,
		event{"7", 1, at, 50})
	for record, want := range map[string]codec.Reason{
		`{"user":{"id":"u1"}}`:                          codec.BadValue,
		`{"user":"u1"}`:                                 codec.BadValue,
		`{"user":[{"id":"u1"}]}`:                        codec.BadValue,
		`{"user.id":"u1"}`:                              codec.BadValue,
		`{"user":{"timing":{"ms":5}}}`:                  codec.BadUser,
		`{"user":{"id":"u1","timing":{"ms":5}}}`:        codec.BadTime,
		`{"user":{"id":"u2","timing":{"ms":5,"at":1}}}`: codec.BadGroup,
		`{"user":{"id":"u1","timing":{"ms":5,"at":1}},"user":{"id":"u1"}}`:                      codec.Malformed,
		`{"user":{"id":"u1","timing":{"ms":5,"at":1},"timing":{}}}`:                             codec.Malformed,
		`{"user":{"id":"u1","timing":{"ms":5,"at":1,"\u006ds":6}}}`:                             codec.Malformed,
		`{"user":{"id":"u1","timing":{"ms":5,"at":1}},"other":{"timing":1,"timing":2}, "a":1,}`: codec.Malformed,
	} {
		checkRejected(t, d, nil, record, want)
	}
}

func TestKeyValueTimestamp(t *testing.T) {
	d := decoder(t, codec.Spec{Format: "json", User: codec.KeyField, Value: codec.ValueField})
	k := []byte("k\xff") // a key is bytes
	usual := event{"k\xff", 0, recordTime, 123}
	for _, record := range []string{"12.3", " 12.3\n", "1.23e1", `"12.3"`} {
		check(t, d, k, record, usual)
	}
	check(t, d, k, "-5", event{"k\xff", 0, recordTime, -1})
	for want, records := range map[codec.Reason][]string{
		codec.Malformed: {"", " ", "abc", "NaN", "-", "01", "1 2", "12.3x", "\ufeff1", "Infinity", "+1"},
		codec.BadValue:  {`"12x"`, "null", "true", "{}", "[]", "[1]", `{"value":1}`},
	} {
		for _, record := range records {
			checkRejected(t, d, k, record, want)
		}
	}
	checkRejected(t, d, nil, "1", codec.BadUser)
	checkRejected(t, d, []byte{}, "1", codec.BadUser)

	var e codec.Event
	if r := d.Decode(codec.Record{Key: k, Value: []byte("1"), Time: -1e6}, &e); r != codec.BadTime {
		t.Errorf("a record without timestamp: got %q, want bad_time", r)
	}
	if r := decoder(t, jsonSpec()).Decode(codec.Record{Value: []byte(value("1")), Time: -1e6}, &e); r != codec.BadTime {
		t.Errorf("a record with a time, but without timestamp: got %q, want bad_time", r)
	}
}

// A huge record leaves neither its memory nor its text behind; the user of one record is valid until the next.
func TestHugeRecord(t *testing.T) {
	d := decoder(t, jsonSpec())
	huge := with("region", `"region":"eu","list":[1`+strings.Repeat(",1", 1<<19)+`]`)
	check(t, d, nil, huge, event{"u1", 0, at, 123})
	check(t, d, nil, value("12.3"), event{"u1", 0, at, 123})
	record, e := []byte(value("12.3")), codec.Event{}
	if n := testing.AllocsPerRun(100, func() { d.Decode(codec.Record{Value: record, Time: recordTime}, &e) }); n > 0 {
		t.Errorf("%v allocations a record, want 0", n)
	}
}

// TestMissing parts fields that are not there from those that are no good.
func TestMissing(t *testing.T) {
	d := decoder(t, jsonSpec())
	for _, c := range []struct {
		record string
		reason codec.Reason
		want   bool
	}{
		{with("latency_ms", `"bytes":1`), codec.BadValue, true},
		{value(`"12x"`), codec.BadValue, false},
		{value("null"), codec.BadValue, false},
		{with("user_id", `"client":"u1"`), codec.BadUser, true},
		{user("true"), codec.BadUser, false},
		{with("ts", `"at":1`), codec.BadTime, true},
		{ts("{}"), codec.BadTime, false},
		{with("region", `"area":"eu"`), codec.BadGroup, true},
		{region(`"mars"`), codec.BadGroup, false},
	} {
		var e codec.Event
		if r := d.Decode(codec.Record{Value: []byte(c.record), Time: recordTime}, &e); r != c.reason ||
			d.Missing() != c.want {
			t.Errorf("%s: %v, missing %v; want %v, %v", c.record, r, d.Missing(), c.reason, c.want)
		}
	}
}

// A record is read in place, whatever its size: nothing is copied but escaped texts, into a buffer that stays.
func TestDecodeAllocatesNothing(t *testing.T) {
	for _, c := range []struct{ name, record string }{
		{"flat", value("12.3")},
		{"another order", `{"ts":"2026-11-20T08:00:00.123456Z","latency_ms":12.3,"region":"eu","user_id":"u1"}`},
		{"escapes", with("user_id", `"us\u0065r_id":"ren\u00e9 \ud83d\ude00\n"`)},
		{"many members", `{"a":[1,{"user_id":2}],` + strings.Repeat(`"é\n":"ß",`, 1000) + value("12.3")[1:]},
		{"ten times as many", `{"a":[1,{"user_id":2}],` + strings.Repeat(`"é\n":"ß",`, 10_000) + value("12.3")[1:]},
		{"epoch", ts("1795161600.123")},
	} {
		d, record := decoder(t, jsonSpec()), codec.Record{Value: []byte(c.record), Time: recordTime}
		var e codec.Event
		if n := testing.AllocsPerRun(20, func() {
			if r := d.Decode(record, &e); r != codec.OK {
				t.Fatalf("%s: %v", c.name, r)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations a record, want 0", c.name, n)
		}
	}
}

// Names that have to be escaped are found as they must be written, and no other way.
func TestJSONNamesThatNeedEscapes(t *testing.T) {
	s := jsonSpec()
	s.User = "a\"b\\<\u2028"
	d := decoder(t, s)
	for range 2 { // the second time the name is expected
		for _, name := range []string{`a\"b\\<` + "\u2028", `\u0061\"b\\\u003c\u2028`} {
			check(t, d, nil, with("user_id", `"`+name+`":"u1"`), event{"u1", 0, at, 123})
		}
		checkRejected(t, d, nil, with("user_id", `"a"b\\<`+"\u2028\":\"u1\""), codec.Malformed)
	}
}

// A decoder that has learned one order of the names reads all others.
func TestJSONMembersInAnyOrder(t *testing.T) {
	s := jsonSpec()
	s.User, s.Group = "who.id", "who.region"
	d := decoder(t, s)
	for _, record := range []string{
		`{"who":{"id":"u1","region":"eu"},"latency_ms":12.3,"ts":1795161600}`,
		`{"ts":1795161600,"latency_ms":12.3,"who":{"region":"eu","id":"u1"}}`,
		`{"x":1,"ts":1795161600,"who":{"region":"eu","x":1,"id":"u1"},"y":2,"latency_ms":12.3}`,
		`{"who" :{"region": "eu","x":1,"id"  :"u1"},"latency_ms":12.3,"ts":1795161600}`,
	} {
		for range 2 {
			check(t, d, nil, record, event{"u1", 0, at, 123})
		}
	}
	for _, twice := range []string{`"ts":1`, `"who":{}`, `"latency_ms":null`} {
		checkRejected(t, d, nil, `{"who":{"id":"u1","region":"eu"},"latency_ms":12.3,"ts":1795161600,`+twice+"}",
			codec.Malformed)
	}
	checkRejected(t, d, nil, `{"who":{"id":"u1","region":"eu","id":"u1"},"latency_ms":12.3,"ts":1795161600}`,
		codec.Malformed)
	checkRejected(t, d, nil, `{"latency_ms":12.3,"ts":1795161600}`, codec.BadUser) // nothing of the last record is left
}

// The whole value is at depth 1; 300 is the deepest.
func TestJSONDepth(t *testing.T) {
	for _, c := range []struct {
		depth int
		want  codec.Reason
	}{{299, codec.OK}, {300, codec.Malformed}} {
		for _, pair := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
			deep := strings.Repeat(pair[0], c.depth-1) + "1" + strings.Repeat(pair[1], c.depth-1)
			record := `{"deep":` + deep + "," + value("12.3")[1:]
			var e codec.Event
			if r := decoder(t, jsonSpec()).Decode(codec.Record{Value: []byte(record), Time: recordTime},
				&e); r != c.want {
				t.Errorf("%d of %s: got %v, want %v", c.depth-1, pair[0], r, c.want)
			}
		}
	}
}
