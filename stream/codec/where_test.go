package codec_test

import (
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/louver/louver/stream/codec"
)

func words(all ...string) (of []codec.Operand) {
	for _, w := range all {
		of = append(of, codec.Operand{Text: w})
	}
	return of
}

func figures(all ...string) (of []codec.Operand) {
	for _, n := range all {
		of = append(of, codec.Operand{Text: n, Number: true})
	}
	return of
}

func over(n string) codec.Condition  { return codec.Condition{Above: figures(n)[0]} }
func under(n string) codec.Condition { return codec.Condition{Below: figures(n)[0]} }

// passes decodes a record and says whether it is an event, and if not, why it was skipped.
func passes(t testing.TB, d codec.Decoder, r codec.Record) (bool, codec.SkipCause) {
	t.Helper()
	var e codec.Event
	r.Time = recordTime
	switch reason := d.Decode(r, &e); reason {
	case codec.OK:
		return true, 0
	case codec.Unwanted:
		return false, d.Skipped().Why
	default:
		t.Fatalf("%q: %v", r.Value, reason)
		return false, 0
	}
}

func TestWhere(t *testing.T) {
	const met = codec.NumSkipCauses
	for _, c := range []struct {
		is   string // the field in JSON; "" if there is none
		what codec.Condition
		want codec.SkipCause
	}{
		{`"checkout"`, codec.Condition{Is: words("checkout")}, met},
		{`"check\u006fut"`, codec.Condition{Is: words("checkout")}, met},
		{`"Checkout"`, codec.Condition{Is: words("checkout")}, codec.Differs},
		{``, codec.Condition{Is: words("checkout")}, codec.IsMissing},
		{`null`, codec.Condition{Is: words("null")}, codec.IsMissing},
		{`{}`, codec.Condition{Is: words("checkout")}, codec.IsOther},
		{`7`, codec.Condition{Is: words("7")}, codec.IsNumber},
		{`"7"`, codec.Condition{Is: figures("7")}, codec.IsText},
		{`7`, codec.Condition{Is: figures("7")}, met},
		{`7.0`, codec.Condition{Is: figures("7")}, met},
		{`70e-1`, codec.Condition{Is: figures("6", "7")}, met},
		{`200`, codec.Condition{Is: append(words("ok"), figures("200", "201")...)}, met},
		{`"ok"`, codec.Condition{Is: append(words("ok"), figures("200", "201")...)}, met},
		{`202`, codec.Condition{Is: append(words("ok"), figures("200", "201")...)}, codec.Differs},
		{`9007199254740993`, codec.Condition{Is: figures("9007199254740992")}, codec.Differs},
		{`-0`, codec.Condition{Is: figures("0")}, met},
		{`true`, codec.Condition{Is: words("true")}, met},
		{`"true"`, codec.Condition{Is: words("true")}, met},
		{`false`, codec.Condition{Is: words("true")}, codec.Differs},
		{`"test"`, codec.Condition{Not: words("test")}, codec.Differs},
		{`"live"`, codec.Condition{Not: words("test", "demo")}, met},
		{``, codec.Condition{Not: words("test")}, met},
		{`[]`, codec.Condition{Not: words("test")}, met},
		{`0`, over("0"), codec.Differs},
		{`1e-300`, over("0"), met},
		{`-1`, over("-1.5"), met},
		{`"9"`, over("0"), codec.IsText},
		{``, over("0"), codec.IsMissing},
		{`2`, under("2.0"), codec.Differs},
		{`1.99`, under("2.0"), met},
		{`5`, codec.Condition{Above: figures("4")[0], Below: figures("6")[0]}, met},
		{`6`, codec.Condition{Above: figures("4")[0], Below: figures("6")[0]}, codec.Differs},
		{`{}`, codec.Condition{Exists: true}, met},
		{`""`, codec.Condition{Exists: true}, met},
		{`null`, codec.Condition{Exists: true}, codec.IsMissing},
		{``, codec.Condition{Exists: true}, codec.IsMissing},
		{``, codec.Condition{Missing: true}, met},
		{`null`, codec.Condition{Missing: true}, met},
		{`0`, codec.Condition{Missing: true}, codec.IsNumber},
	} {
		s := jsonSpec()
		c.what.Field = "kind"
		s.Where = []codec.Condition{c.what}
		record := value("1")
		if c.is != "" {
			record = record[:len(record)-1] + `,"kind":` + c.is + `}`
		}
		ok, why := passes(t, decoder(t, s), codec.Record{Value: []byte(record)})
		if ok != (c.want == met) || !ok && why != c.want {
			t.Errorf("%s with %s: counts %v, why %d; want %d", c.is, c.what, ok, why, c.want)
		}
	}
}

// All conditions must hold, and the first that does not is told.
func TestWhereInWords(t *testing.T) {
	of := func(field string, c codec.Condition) codec.Condition {
		c.Field = field
		return c
	}
	between := codec.Condition{Above: figures("-1")[0], Below: figures("9.5")[0]}
	for want, where := range map[string][]codec.Condition{
		"":                   nil,
		"span.kind = server": {of("span.kind", codec.Condition{Is: words("server")})},
		`status = 200, 201 or "200" and total > 0`: {
			of("status", codec.Condition{Is: append(figures("200", "201"), words("200")...)}), of("total", over("0"))},
		`tenant not "" or "a b", -1 < x < 9.5, y < 3, any coupon and no log.body["z"]`: {
			of("tenant", codec.Condition{Not: words("", "a b")}), of("x", between), of("y", under("3")),
			of("coupon", codec.Condition{Exists: true}), of(`log.body["z"]`, codec.Condition{Missing: true})},
	} {
		if got := codec.InWords(where); got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
}

func TestWhereNeedsAll(t *testing.T) {
	s := jsonSpec()
	s.Where = []codec.Condition{{Field: "a", Is: words("x")}, {Field: "b.c", Is: figures("1")},
		{Field: "user_id", Not: words("bot")}}
	d := decoder(t, s)
	for record, want := range map[string]int{
		`"a":"x","b":{"c":1},"user_id":"u"`:   -1,
		`"a":"y","b":{"c":1},"user_id":"u"`:   0,
		`"a":"x","b":{"c":2},"user_id":"u"`:   1,
		`"a":"x","b":{"d":1},"user_id":"u"`:   1,
		`"a":"x","b":{"c":1},"user_id":"bot"`: 2,
	} {
		var e codec.Event
		whole := `{"region":"eu","latency_ms":1,"ts":1795161600,` + record + `}`
		r := d.Decode(codec.Record{Time: recordTime, Value: []byte(whole)}, &e)
		if got := d.Skipped().Condition; (r == codec.OK) != (want < 0) || want >= 0 && got != want {
			t.Errorf("%s: %v, condition %d; want %d", record, r, got, want)
		}
	}
	// What is wrong elsewhere in the event makes no difference, but a record that cannot be parsed is malformed.
	var e codec.Event
	if r := d.Decode(codec.Record{Value: []byte(`{"a":"y","user_id":{}}`), Time: -1}, &e); r != codec.Unwanted {
		t.Errorf("an unwanted event without user and time: %v", r)
	}
	for _, broken := range []string{`{"a":"y"`, `{"a":"y","a":"x"}`} {
		if r := d.Decode(codec.Record{Value: []byte(broken)}, &e); r != codec.Malformed {
			t.Errorf("%s: %v", broken, r)
		}
	}
}

// Every format has conditions, and each reads a field's type as it has it.
func TestWhereInEveryFormat(t *testing.T) {
	withWhere := func(s codec.Spec, c codec.Condition) codec.Spec { s.Where = []codec.Condition{c}; return s }
	csv := csvSpec()
	csv.Columns = append(csv.Columns, "kind", "n")
	line := "2026-11-20T08:00:00Z,u1,eu,12.3,sale,20"
	binary := codec.Record{Value: []byte(eventData), Headers: binaryHeaders(headers{"ce_n": "20"})}
	proto := aUser + aRegion + aLatency + aTime
	for _, c := range []struct {
		name   string
		spec   codec.Spec
		record codec.Record
		what   codec.Condition
		want   bool
	}{
		{"csv", csv, codec.Record{Value: []byte(line)}, codec.Condition{Field: "kind", Is: words("sale")}, true},
		{"csv", csv, codec.Record{Value: []byte(line)}, codec.Condition{Field: "kind", Is: words("sal")}, false},
		{"csv", csv, codec.Record{Value: []byte(line)}, codec.Condition{Field: "n", Is: figures("20.0")}, true},
		{"csv", csv, codec.Record{Value: []byte(line)}, codec.Condition{Field: "n", Is: words("20.0")}, false},
		{"csv", csv, codec.Record{Value: []byte(line)}, codec.Condition{Field: "kind", Above: figures("1")[0]}, false},
		{"csv, empty", csv, codec.Record{Value: []byte("2026-11-20T08:00:00Z,u1,eu,12.3,,20")},
			codec.Condition{Field: "kind", Missing: true}, true},
		{"csv, empty", csv, codec.Record{Value: []byte("2026-11-20T08:00:00Z,u1,eu,12.3,,20")},
			codec.Condition{Field: "kind", Exists: true}, false},
		{"structured", cloudSpec(), codec.Record{Value: []byte(structuredEvent)},
			codec.Condition{Field: "type", Is: words("request")}, true},
		{"structured", cloudSpec(), codec.Record{Value: []byte(structuredEvent)},
			codec.Condition{Field: "data.latency_ms", Above: figures("13")[0]}, false},
		{"binary", cloudSpec(), binary, codec.Condition{Field: "type", Is: words("request")}, true},
		{"binary", cloudSpec(), binary, codec.Condition{Field: "n", Is: figures("20")}, true},
		{"binary", cloudSpec(), binary, codec.Condition{Field: "subject", Missing: true}, true},
		{"binary", cloudSpec(), binary, codec.Condition{Field: "data.user.id", Not: words("u1")}, false},
		{"avro enum", avroSpec(), codec.Record{Value: []byte(encoded(t, request(nil)))},
			codec.Condition{Field: "region", Is: words("eu", "us")}, true},
		{"avro enum", avroSpec(), codec.Record{Value: []byte(encoded(t, request(nil)))},
			codec.Condition{Field: "region", Not: words("eu")}, false},
		{"avro double", avroSpec(), codec.Record{Value: []byte(encoded(t, request(nil)))},
			codec.Condition{Field: "latency_ms", Is: figures("12.3")}, true},
		{"avro decimal", avroSpec(),
			codec.Record{Value: []byte(encoded(t, request(map[string]any{"latency_ms": big.NewRat(123, 10)})))},
			codec.Condition{Field: "latency_ms", Is: figures("12.3")}, true},
		{"avro map", avroSpec(), codec.Record{Value: []byte(encoded(t, request(nil)))},
			codec.Condition{Field: "tags.zone", Is: words("a")}, true},
		{"avro map", avroSpec(), codec.Record{Value: []byte(encoded(t, request(nil)))},
			codec.Condition{Field: "tags.place", Missing: true}, true},
		{"protobuf enum", protobufSpec(t), codec.Record{Value: []byte(proto)},
			codec.Condition{Field: "region", Is: words("eu")}, true},
		{"protobuf zero", protobufSpec(t), codec.Record{Value: []byte(proto)},
			codec.Condition{Field: "epoch", Is: figures("0")}, true},
		{"protobuf unset", protobufSpec(t), codec.Record{Value: []byte(proto)},
			codec.Condition{Field: "size", Missing: true}, true},
		{"protobuf wrapper", protobufSpec(t), codec.Record{Value: []byte(proto + lengthed(12, lengthed(1, "north")))},
			codec.Condition{Field: "area", Is: words("north")}, true},
		{"protobuf duration", protobufSpec(t), codec.Record{Value: []byte(proto + lengthed(10, varint(1, 3)))},
			codec.Condition{Field: "took", Above: figures("2.5")[0]}, true},
		{"protobuf path", protobufSpec(t), codec.Record{Value: []byte(proto)},
			codec.Condition{Field: "user.id", Not: words("u1")}, false},
	} {
		d := decoder(t, withWhere(c.spec, c.what))
		for range 2 { // the second record finds nothing of the first
			if ok, why := passes(t, d, c.record); ok != c.want {
				t.Errorf("%s with %s: counts %v, why %d", c.name, c.what, ok, why)
			}
		}
	}
}

// A condition that a record cannot meet by its schema is a mistake of the Spec.
func TestWrongWhere(t *testing.T) {
	for want, c := range map[string]codec.Condition{
		`no such field`:             {Field: "kind", Is: words("x")},
		`the schema says record`:    {Field: "user", Is: words("x")},
		`has an empty part`:         {Field: "a..b", Is: words("x")},
		`"$key" is not known`:       {Field: "$key", Is: words("x")},
		`has 0 conditions`:          {Field: "region"},
		`has 2 conditions`:          {Field: "region", Is: words("x"), Exists: true},
		`a limit is a text`:         {Field: "region", Above: words("x")[0]},
		`not a number in JSON's no`: {Field: "region", Is: []codec.Operand{{Text: "x", Number: true}}},
	} {
		s := avroSpec()
		s.Grid, s.Where = grid(t), []codec.Condition{c}
		if _, err := codec.New(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", c, err, want)
		}
	}
	s := jsonSpec()
	s.Grid = grid(t)
	for i := range codec.MaxConditions + 1 {
		s.Where = append(s.Where, codec.Condition{Field: strconv.Itoa(i), Exists: true})
	}
	if _, err := codec.New(s); err == nil {
		t.Error("nine conditions are taken")
	}
	s.Where = append(s.Where[:1], s.Where[0])
	if _, err := codec.New(s); err == nil {
		t.Error("a field is taken twice")
	}
}

// Numbers are compared as math/big compares them, whatever their digits and exponents.
func TestWhereComparesNumbersExactly(t *testing.T) {
	g := grid(t)
	rapid.Check(t, func(t *rapid.T) {
		const pattern = `-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,2})?`
		a := rapid.StringMatching(pattern).Draw(t, "record")
		b := rapid.OneOf(rapid.StringMatching(pattern), rapid.Just(a), rapid.Just(a+"e0"), rapid.Just("-"+a)).
			Filter(func(s string) bool { return !strings.HasPrefix(s, "--") && strings.Count(strings.ToLower(s), "e") < 2 }).
			Draw(t, "condition")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		s := codec.Spec{Format: "json", User: codec.KeyField, Value: "v", Grid: g}
		for _, c := range []struct {
			what codec.Condition
			want bool
		}{
			{codec.Condition{Is: figures(b)}, x.Cmp(y) == 0}, {over(b), x.Cmp(y) > 0}, {under(b), x.Cmp(y) < 0},
		} {
			c.what.Field = "n"
			s.Where = []codec.Condition{c.what}
			d, err := codec.New(s)
			if err != nil {
				t.Fatal(err)
			}
			var e codec.Event
			r := d.Decode(codec.Record{Key: []byte("k"), Value: []byte(`{"v":1,"n":` + a + `}`), Time: recordTime}, &e)
			if (r == codec.OK) != c.want {
				t.Fatalf("%s with %s: %v", a, c.what, r)
			}
		}
	})
}

// Conditions cost no allocation, whether they hold or not.
func TestWhereDoesNotAllocate(t *testing.T) {
	for _, what := range []codec.Condition{{Field: "latency_ms", Is: figures("12.3")},
		{Field: "latency_ms", Above: figures("99")[0]}, {Field: "region", Not: words("us")}} {
		for name, s := range map[string]codec.Spec{"json": jsonSpec(), "avro": avroSpec()} {
			s.Where = []codec.Condition{what}
			d, record := decoder(t, s), codec.Record{Value: []byte(value("12.3")), Time: recordTime}
			if name == "avro" {
				record.Value = []byte(encoded(t, request(nil)))
			}
			var e codec.Event
			if n := testing.AllocsPerRun(100, func() { d.Decode(record, &e) }); n != 0 {
				t.Errorf("%s with %s: %v allocations", name, what, n)
			}
		}
	}
}
