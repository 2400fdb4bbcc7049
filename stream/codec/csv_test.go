package codec_test

import (
	"strings"
	"testing"

	"github.com/louver/louver/stream/codec"
)

func TestCSVGood(t *testing.T) {
	d := decoder(t, csvSpec()) // ts, user_id, region, latency_ms
	usual := event{"u1", 0, at, 123}
	of := func(u string) event { e := usual; e.user = u; return e }
	for _, c := range []good{
		{"plain", `2026-11-20T08:00:00Z,u1,eu,12.3`, usual},
		{"line feed", "2026-11-20T08:00:00Z,u1,eu,12.3\n", usual},
		{"carriage return and line feed", "2026-11-20T08:00:00Z,u1,eu,12.3\r\n", usual},
		{"quoted", `"2026-11-20T08:00:00Z","u1","eu","12.3"`, usual},
		{"epoch", `1795161600.000,u1,eu,1.23e1`, usual},
		{"comma in quotes", `1795161600,"a,b",eu,12.3`, of("a,b")},
		{"doubled quote", `1795161600,"a""b",eu,12.3`, of(`a"b`)},
		{"line end in quotes", "1795161600,\"a\nb\",eu,12.3", of("a\nb")},
		{"user of digits", `1795161600,007,eu,12.3`, of("007")},
		{"user of a fraction", `1795161600,1.0,eu,12.3`, of("1.0")},
		{"spaces are a part", `1795161600, u1 ,eu,12.3`, of(" u1 ")},
		{"beyond ASCII", `1795161600,rené😀,eu,12.3`, of("rené😀")},
		{"long", `1795161600,` + strings.Repeat("x", 1<<20) + `,eu,12.3`, of(strings.Repeat("x", 1<<20))},
		{"a plus sign", `1795161600,u1,eu,+12.3`, usual},
		{"no digit before the point", `1795161600,u1,us,.2`, event{"u1", 1, at, 2}},
		{"no digit after the point", `1795161600,u1,us,1.`, event{"u1", 1, at, 10}},
		{"above", `1795161600,u1,ap,1e999999999`, event{"u1", 2, at, 600001}},
		{"below", `1795161600,u1,us,-1`, event{"u1", 1, at, -1}},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, d, nil, c.record, c.want) })
	}
}

func TestCSVBad(t *testing.T) {
	d := decoder(t, csvSpec())
	for want, records := range map[codec.Reason][]string{
		codec.Malformed: {
			"", "\n", "\r\n", "\r", "u1", `1795161600,u1,eu`, `1795161600,u1,eu,12.3,`, `1795161600;u1;eu;12.3`,
			"ts,user_id,region,latency_ms", "ts,user_id,region,latency_ms\r\n", `"ts",user_id,region,latency_ms`,
			"\n1795161600,u1,eu,12.3", "1795161600,u1,eu,12.3\n\n", "1795161600,u1,eu,12.3\n1795161600,u1,eu,12.3",
			"1795161600,u1,eu,12.3\n ", "1795161600,u1,eu,12.3\r\n\r\n",
			`1795161600,"u1,eu,12.3`, `1795161600,u"1,eu,12.3`, `1795161600,"u1"x,eu,12.3`,
			"\ufeff1795161600,u1,eu,12.3", "1795161600,u\xff,eu,12.3", "1795161600,u1,eu,12.3\xc3",
			`{"ts":1,"user_id":"u1","region":"eu","latency_ms":1}`,
			strings.Repeat(",", 1<<20), strings.Repeat(`"`, 1<<20+1),
		},
		codec.BadValue: {
			`1795161600,u1,eu,`, `1795161600,u1,eu,""`, `1795161600,u1,eu,NaN`, `1795161600,u1,eu,Inf`,
			`1795161600,u1,eu,-inf`,
			`1795161600,u1,eu,abc`, `1795161600,u1,eu,"1,5"`, `1795161600,u1,eu, 1`, "1795161600,u1,eu,1 \n",
			`1795161600,u1,eu,.`, `1795161600,u1,eu,+`, `1795161600,u1,eu,+-1`, `1795161600,u1,eu,01`,
			`1795161600,u1,eu,0x1`,
			`1795161600,u1,eu,1_0`,
			`latency_ms,user_id,region,ts`,
		},
		codec.BadUser: {`1795161600,,eu,12.3`, `1795161600,"",eu,12.3`},
		codec.BadTime: {`,u1,eu,12.3`, `yesterday,u1,eu,12.3`, `-1,u1,eu,12.3`, `1e999999999,u1,eu,12.3`,
			`2026-11-20,u1,eu,12.3`, ` 1795161600,u1,eu,12.3`},
		codec.BadGroup: {`1795161600,u1,,12.3`, `1795161600,u1,mars,12.3`, `1795161600,u1,"e u",12.3`},
		codec.Future:   {`1795161902,u1,eu,12.3`},
	} {
		for _, record := range records {
			checkRejected(t, d, nil, record, want)
			check(t, d, nil, "1795161600,u1,eu,12.3", event{"u1", 0, at, 123}) // nothing is left behind
		}
	}
}

func TestCSVOptions(t *testing.T) {
	s := csvSpec()
	s.Delimiter = ';'
	check(t, decoder(t, s), nil, "1795161600;a,b;eu;12.3", event{"a,b", 0, at, 123})
	s.Delimiter = '\t'
	check(t, decoder(t, s), nil, "1795161600\tu1\teu\t12.3\n", event{"u1", 0, at, 123})
	s.Delimiter = 'é'
	check(t, decoder(t, s), nil, "1795161600éu1éeué12.3", event{"u1", 0, at, 123})

	s = codec.Spec{Format: "csv", User: codec.KeyField, Value: "v", Columns: []string{"v"}}
	d := decoder(t, s)
	check(t, d, []byte("k"), "12.3\n", event{"k", 0, recordTime, 123})
	checkRejected(t, d, []byte("k"), "v", codec.Malformed)
	checkRejected(t, d, []byte("k"), "", codec.Malformed)
	checkRejected(t, d, nil, "1", codec.BadUser)
}
