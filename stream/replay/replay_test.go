package replay_test

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/replay"
)

var columns = replay.Columns{User: "client", Value: "bytes", Time: "time", Group: "section"}

const table = `time,client,section,status,bytes
2015-05-17T10:05:00Z,414cc,presentations,200,25230
2015-05-17T10:05:03Z,cf19f,assets,200,1015.50
`

// read returns what a text replays as, and the error that ended it.
func read(t *testing.T, text string, c replay.Columns, o replay.Options) (records []replay.Record, err error) {
	t.Helper()
	f, err := replay.New("f.csv", strings.NewReader(text), c, o)
	if err != nil {
		return nil, err
	}
	for r, err := range f.Records(t.Context()) {
		if err != nil {
			return records, err
		}
		if !json.Valid(r.Value) {
			t.Errorf("line %d: %s is not JSON", r.Line, r.Value)
		}
		records = append(records, r)
	}
	return records, nil
}

func values(records []replay.Record) (values []string) {
	for _, r := range records {
		values = append(values, string(r.Value))
	}
	return values
}

func TestRecords(t *testing.T) {
	for _, c := range []struct {
		name, text string
		columns    replay.Columns
		options    replay.Options
		want       []string
	}{
		{"csv", table, columns, replay.Options{}, []string{
			`{"client":"414cc","bytes":25230,"time":"2015-05-17T10:05:00Z","section":"presentations"}`,
			`{"client":"cf19f","bytes":1015.50,"time":"2015-05-17T10:05:03Z","section":"assets"}`,
		}},
		{"without group", table, replay.Columns{User: "client", Value: "status", Time: "time"},
			replay.Options{}, []string{
				`{"client":"414cc","status":200,"time":"2015-05-17T10:05:00Z"}`,
				`{"client":"cf19f","status":200,"time":"2015-05-17T10:05:03Z"}`,
			}},
		{"byte order mark, line ends of Windows, quotes, spaces, empty line",
			"\ufefftime, client,bytes,section\r\n\r\n1431857100,\"a \"\"b\"\", c\", 1,\"x\ny\"\r\n", columns,
			replay.Options{},
			[]string{`{"client":"a \"b\", c","bytes":1,"time":"2015-05-17T10:05:00Z","section":"x\ny"}`}},
		{"ids as they are written", "time,client,bytes,section\n0, u, 1,g\n0,u ,1 ,g\n0,\" u\",1,g\n0,e\u0301,1,g\n",
			columns, replay.Options{}, []string{
				`{"client":" u","bytes":1,"time":"1970-01-01T00:00:00Z","section":"g"}`,
				`{"client":"u ","bytes":1,"time":"1970-01-01T00:00:00Z","section":"g"}`,
				`{"client":" u","bytes":1,"time":"1970-01-01T00:00:00Z","section":"g"}`,
				"{\"client\":\"e\u0301\",\"bytes\":1,\"time\":\"1970-01-01T00:00:00Z\",\"section\":\"g\"}",
			}},
		{"spaces behind all delimiters, as in the header", "\"time, UTC\", client, bytes\n0, \"u\", 1\n0, \" u\", 1\n",
			replay.Columns{User: "client", Value: "bytes", Time: "time, UTC"}, replay.Options{}, []string{
				`{"client":"u","bytes":1,"time, UTC":"1970-01-01T00:00:00Z"}`,
				`{"client":" u","bytes":1,"time, UTC":"1970-01-01T00:00:00Z"}`,
			}},
		{"tabs around an empty cell", "time\tclient\tbytes\tsection\n0\tu\t\tg\n", columns,
			replay.Options{Delimiter: '\t'}, []string{
				`{"client":"u","bytes":"","time":"1970-01-01T00:00:00Z","section":"g"}`}},
		{"another delimiter", "time;client;bytes;section\n1431857100,25;007;1;é\n",
			columns, replay.Options{Delimiter: ';'}, nil},
		{"semicolons", "time;client;bytes;section\n1431857100.25;007;1;é\n", columns, replay.Options{Delimiter: ';'},
			[]string{`{"client":"007","bytes":1,"time":"2015-05-17T10:05:00.25Z","section":"é"}`}},
		{"numbers keep their text, other things stay", "time,client,bytes,section\n" +
			"0,u,1.2300,g\n0,u,-1E+5,g\n0,u,123456789012345678901234567890.5,g\n0,u,NA,g\n" +
			"0,u,,g\n0,u,007,g\n0,u,.5,g\n0,u,true,g\n0,,1 ,\n" +
			"0,u,5.,g\n0,u,+5,g\n0,u,-.5e1,g\n0,u,.,g\n0,u,+.,g\n0,u,-,g\n", columns, replay.Options{}, []string{
			`{"client":"u","bytes":1.2300,"time":"1970-01-01T00:00:00Z","section":"g"}`,
			`{"client":"u","bytes":-1E+5,"time":"1970-01-01T00:00:00Z","section":"g"}`,
			`{"client":"u","bytes":123456789012345678901234567890.5,"time":"1970-01-01T00:00:00Z","section":"g"}`,
			`{"client":"u","bytes":"NA","time":"1970-01-01T00:00:00Z","section":"g"}`,
			`{"client":"u","bytes":"","time":"1970-01-01T00:00:00Z","section":"g"}`,
			`{"client":"u","bytes":"007","time":"1970-01-01T00:00:00Z","section":"g"}`,
			`{"client":"u","bytes":0.5,"time":"1970-01-01T00:00:00Z","section":"g"}`,
			`{"client":"u","bytes":"true","time":"1970-01-01T00:00:00Z","section":"g"}`,
			`{"client":"","bytes":1,"time":"1970-01-01T00:00:00Z","section":""}`,
			`{"client":"u","bytes":5,"time":"1970-01-01T00:00:00Z","section":"g"}`,
			`{"client":"u","bytes":5,"time":"1970-01-01T00:00:00Z","section":"g"}`,
			`{"client":"u","bytes":-0.5e1,"time":"1970-01-01T00:00:00Z","section":"g"}`,
			`{"client":"u","bytes":".","time":"1970-01-01T00:00:00Z","section":"g"}`,
			`{"client":"u","bytes":"+.","time":"1970-01-01T00:00:00Z","section":"g"}`,
			`{"client":"u","bytes":"-","time":"1970-01-01T00:00:00Z","section":"g"}`,
		}},
		{"times", "time,client,bytes\n2015-05-17 10:05:00,u,1\n2015-05-17T10:05:00.5,u,1\n" +
			"2015-05-17 12:05:00+02:00,u,1\n" +
			"2015-05-17 10:05,u,1\n2015-05-17,u,1\n1431857100123,u,1\n",
			replay.Columns{User: "client", Value: "bytes", Time: "time"}, replay.Options{}, []string{
				`{"client":"u","bytes":1,"time":"2015-05-17T10:05:00Z"}`,
				`{"client":"u","bytes":1,"time":"2015-05-17T10:05:00.5Z"}`,
				`{"client":"u","bytes":1,"time":"2015-05-17T10:05:00Z"}`,
				`{"client":"u","bytes":1,"time":"2015-05-17T10:05:00Z"}`,
				`{"client":"u","bytes":1,"time":"2015-05-17T00:00:00Z"}`,
				`{"client":"u","bytes":1,"time":"2015-05-17T10:05:00.123Z"}`,
			}},
		{"access log", "t,client,bytes\n17/May/2015:10:05:03 +0200,u,1\n[17/May/2015:10:05:03 +0000],u,1\n",
			replay.Columns{User: "client", Value: "bytes", Time: "t"}, replay.Options{}, []string{
				`{"client":"u","bytes":1,"t":"2015-05-17T08:05:03Z"}`,
				`{"client":"u","bytes":1,"t":"2015-05-17T10:05:03Z"}`,
			}},
		{"date and time in two columns", "date,time,client,bytes\n2015-05-17,10:05:03.5,u,1\n" +
			"[17/May/2015:10:05:03,+0000],u,1\n2015-05-17, 10:05:03 Z,u,1\n2015-05-17,,u,1\n",
			replay.Columns{User: "client", Value: "bytes", Time: "date", Clock: "time"}, replay.Options{}, []string{
				`{"client":"u","bytes":1,"date":"2015-05-17T10:05:03.5Z"}`,
				`{"client":"u","bytes":1,"date":"2015-05-17T10:05:03Z"}`,
				`{"client":"u","bytes":1,"date":"2015-05-17T10:05:03Z"}`,
			}},
		{"date and time in two fields", `{"u":1,"v":2,"at":{"d":"2015-05-17","t":"10:05"}}`,
			replay.Columns{User: "u", Value: "v", Time: "at.d", Clock: "at.t"}, replay.Options{}, []string{
				`{"u":1,"v":2,"at":{"d":"2015-05-17T10:05:00Z"}}`,
			}},
		{"other columns are kept", "time,client,bytes,section,status,geo.city\n0,u,1,g,007,\n0,v,2,g,200,\"a \"\"b\"\"\"\n",
			replay.Columns{User: "client", Value: "bytes", Time: "time", Keep: []string{"status", "geo.city"}},
			replay.Options{Sort: true}, []string{
				`{"client":"u","bytes":1,"time":"1970-01-01T00:00:00Z","status":"007","geo":{"city":""}}`,
				`{"client":"v","bytes":2,"time":"1970-01-01T00:00:00Z","status":"200","geo":{"city":"a \"b\""}}`,
			}},
		{"other fields are kept as they are", "{\"u\":1,\"v\":2,\"t\":0,\"more\":[1.50,null],\"ok\":true}\n" +
			`{"u":1,"v":2,"t":0,"ok":null}`,
			replay.Columns{User: "u", Value: "v", Time: "t", Keep: []string{"more", "ok"}}, replay.Options{}, []string{
				`{"u":1,"v":2,"t":"1970-01-01T00:00:00Z","more":[1.50,null],"ok":true}`,
				`{"u":1,"v":2,"t":"1970-01-01T00:00:00Z","ok":null}`,
			}},
		{"json lines", "{\"u\":{\"id\":\"ren\\u00e9\"},\"v\":1.20,\"t\":1431857100,\"g\":7}\n\n" +
			" {\"t\":\"2015-05-17T12:05:00+02:00\",\"v\":null,\"u\":{\"id\":12},\"g\":\"\\u00e9\\\"\"} \r\n{\"t\":0}",
			replay.Columns{User: "u.id", Value: "v", Time: "t", Group: "g"}, replay.Options{}, []string{
				`{"u":{"id":"ren\u00e9"},"v":1.20,"t":"2015-05-17T10:05:00Z","g":7}`,
				`{"u":{"id":12},"v":null,"t":"2015-05-17T10:05:00Z","g":"\u00e9\""}`,
				`{"t":"1970-01-01T00:00:00Z"}`,
			}},
		{"dots lead into objects", "geo.city,geo.at,ms.p,id\nberlin,0,5,ann\n",
			replay.Columns{User: "id", Value: "ms.p", Time: "geo.at", Group: "geo.city"}, replay.Options{},
			[]string{`{"id":"ann","ms":{"p":5},"geo":{"at":"1970-01-01T00:00:00Z","city":"berlin"}}`}},
		{"dots in names of json lines", `{"u.id":"ann","ms.p":5,"t":0}`,
			replay.Columns{User: "u.id", Value: "ms.p", Time: "t"}, replay.Options{},
			[]string{`{"u":{"id":"ann"},"ms":{"p":5},"t":"1970-01-01T00:00:00Z"}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			records, err := read(t, c.text, c.columns, c.options)
			if (err != nil) != (c.want == nil) {
				t.Fatal(err)
			}
			if got := values(records); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// The same events are skipped as a stream would skip: columns of CSV have no types, and JSON has.
func TestWhere(t *testing.T) {
	status := codec.Condition{Field: "status", Is: []codec.Operand{{Text: "200", Number: true}}}
	coupon := codec.Condition{Field: "coupon", Missing: true}
	c := replay.Columns{User: "u", Value: "v", Time: "t"}
	for name, x := range map[string]struct {
		text  string
		where []codec.Condition
		want  string // the values
	}{
		"csv": {"t,u,v,status,coupon\n1,a,1,200,\n2,a,2,200.0,x\n3,a,3,404,\n4,a,4,,\n", []codec.Condition{status}, "1 2"},
		"csv, two": {"t,u,v,status,coupon\n1,a,1,200,\n2,a,2,200.0,x\n3,a,3,404,\n4,a,4,200,\n",
			[]codec.Condition{status, coupon}, "1 4"},
		"JSON": {`{"t":1,"u":"a","v":1,"status":"200"}` + "\n" + `{"t":2,"u":"a","v":2,"status":2e2}` + "\n" +
			`{"t":3,"u":"a","v":3}` + "\n" + `{"t":4,"u":"a","v":4,"coupon":null,"status":200}`, []codec.Condition{coupon, status}, "2 4"},
	} {
		f, err := replay.New(name, strings.NewReader(x.text), c, replay.Options{Where: x.where})
		if err != nil {
			t.Fatal(err)
		}
		var values []string
		for r, err := range f.Records(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			var got struct{ V json.Number }
			if err := json.Unmarshal(r.Value, &got); err != nil {
				t.Fatal(err)
			}
			values = append(values, got.V.String())
		}
		if got := strings.Join(values, " "); got != x.want || f.Skipped() != 4-len(values) {
			t.Errorf("%s: %s, %d skipped; want %s", name, got, f.Skipped(), x.want)
		}
	}
	_, err := replay.New("f", strings.NewReader("t,u,v\n"), c, replay.Options{Where: []codec.Condition{status}})
	if err == nil || err.Error() != `f:1: where "status" is not in the header; want one of t, u, v` {
		t.Error(err)
	}
}

func TestKeysAndLines(t *testing.T) {
	records, err := read(t, table, columns, replay.Options{Keyed: true})
	if err != nil || len(records) != 2 || string(records[0].Key) != "414cc" || string(records[1].Key) != "cf19f" ||
		records[1].Line != 3 {
		t.Errorf("got %+v, %v", records, err)
	}
	records, err = read(t, `{"u":"ren\u00e9","v":1,"t":0}`+"\n\n"+`{"u":12,"t":0}`+"\n"+`{"t":0}`,
		replay.Columns{User: "u", Value: "v", Time: "t"}, replay.Options{Keyed: true})
	if err != nil || len(records) != 3 || string(records[0].Key) != "rené" || string(records[1].Key) != "12" ||
		records[2].Key != nil || records[1].Line != 3 {
		t.Errorf("got %+v, %v", records, err)
	}
	if records, _ := read(t, table, columns, replay.Options{}); records[0].Key != nil {
		t.Errorf("key %q, want none", records[0].Key)
	}
}

// cutOff is the first half of a packed file.
func cutOff(t *testing.T) string {
	t.Helper()
	var packed strings.Builder
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write([]byte(strings.Repeat(table, 100))); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.String()[:packed.Len()/2]
}

func TestErrors(t *testing.T) {
	var none replay.Options
	const head = "time,client,section,status,bytes\n"
	jsonColumns := replay.Columns{User: "u", Value: "v", Time: "t"}
	named := func(user, value string) replay.Columns { return replay.Columns{User: user, Value: value, Time: "time"} }
	for _, c := range []struct {
		text    string
		columns replay.Columns
		options replay.Options
		want    string
	}{
		{"", columns, none, "f.csv:1: the file is empty; want CSV with a header, or JSON lines"},
		{"\ufeff", columns, none, "f.csv:1: the file is empty"},
		{"\n\n", columns, none, "f.csv:1: the file has no header"},
		{`[{"u":1}]`, columns, none,
			"f.csv:1: the file is a JSON array; want one object per line, as jq -c '.[]' writes them"},
		{"2015-05-17T10:05:00Z,secret,1\n", columns, none,
			`f.csv:1: user "client" is not in the first line, which looks like data; want a header`},
		{"secret,12.5\n", columns, none,
			`f.csv:1: user "client" is not in the first line, which looks like data; want a header`},
		{"PK\x03\x04", columns, none,
			"f.csv: the file is a zip archive or a spreadsheet; unpack it, or save it as CSV"},
		{cutOff(t), columns, none, "f.csv: the file is compressed and cut off; want all of it"},
		{"\xff\xfea\x00", columns, none, "f.csv: the file is UTF-16; want UTF-8: iconv"},
		{"a\x00b", columns, none, "f.csv: the file is not text"},
		{table, replay.Columns{User: "client", Value: "bytes", Time: "time", Clock: "at"}, none,
			`f.csv:1: time of day "at" is not in the header; want one of time, client, section, status, bytes`},
		{table, replay.Columns{User: "client", Value: "bytes", Time: "time", Keep: []string{"status", "client"}}, none,
			`user and keep are both "client"`},
		{table, replay.Columns{User: "client", Value: "bytes", Time: "time", Keep: []string{""}}, none,
			"keep is missing"},
		{table, replay.Columns{Value: "bytes", Time: "time"}, none, "user is missing"},
		{table, replay.Columns{User: "client", Value: "bytes"}, none, "time is missing"},
		{table, named("$key", "bytes"), none, `user "$key": names that begin with $`},
		{table, named("a..b", "bytes"), none, `user "a..b": a dot leads into an object`},
		{table, replay.Columns{User: "client", Value: "bytes", Time: "time", Group: "client"}, none,
			`user and group are both "client"; want a column for each`},
		{table, named("a.b", "a"), none, `user "a.b" and value "a": a dot leads into an object`},
		{table, columns, replay.Options{Speed: -1}, "speed -1; want a number greater than 0"},
		{table, named("Client", "bytes"), none,
			`f.csv:1: user "Client" is not in the header; want one of time, client, section, status, bytes`},
		{strings.ReplaceAll(table, ",", ";"), columns, none,
			`f.csv:1: user "client" is not in the header, which has one column if ',' separates them; want delimiter ';'`},
		{"a,a,b,t\n1,2,3,4\n", replay.Columns{User: "a", Value: "b", Time: "t"}, none,
			`f.csv:1: user "a" occurs twice in the header`},
		{`{"usr":{"id":1},"v":2,"t":0}`, replay.Columns{User: "usr.name", Value: "v", Time: "t"}, none,
			`f.csv:1: user "usr.name" is not in the first event; want one of usr.id, v, t`},
		{table + "secret,1\n", columns, none, "f.csv:4: the line does not have as many fields as the header"},
		{table + "2015-05-17T10:05:04Z,se\"cret,x,1,1\n", columns, none,
			`f.csv:4: bare " in non-quoted-field; want CSV, RFC 4180`},
		{table + "2015-05-17T10:05:04Z,\"secret,x,1,1\n", columns, none, "f.csv:4: extraneous or missing"},
		{table + "2015-05-17T10:05:04Z,secret\xe9,x,1,1\n", columns, none, "f.csv:4: the line is not UTF-8"},
		{head + "secret,c,x,1,1\n", columns, none, "f.csv:2: the time is missing or not in a known format, here and " +
			"in all other lines; want 2026-11-20T08:00:00Z (RFC 3339)"},
		{head + ",c,x,1,1\n,c,x,1,1\n", columns, none, "f.csv:2: the time is missing or not in a known format"},
		{head + "1969-01-01 00:00:00,c,x,1,1\n", columns, none,
			"f.csv:2: the time is missing or not in a known format"},
		{head + strings.Repeat("secret,c,x,1,1\n", 1001) + table, columns, none,
			"f.csv:2: the time is missing or not in a known format"},
		{"{\"u\":1,\"v\":1,\"t\":1}\nsecret\n", jsonColumns, none,
			"f.csv:2: the line is not JSON; want one object per line"},
		{"{\"u\":1,\"v\":1,\"t\":1}\n\n[\"secret\"]\n", jsonColumns, none, "f.csv:3: the line is a JSON array and not an object; want one object per line"},
		{"{\"u\":\"secret\",\"t\":1", jsonColumns, none,
			"f.csv:1: the line ends in the middle of JSON; want one object per line"},
		{"{\"u\":\"secret\",\"v\":1,\"t\":null}", jsonColumns, none, "f.csv:1: the time is missing"},
		{"{\"u\":1,\"v\":1,\"t\":1}\n{\"u\":\"" + strings.Repeat("x", 17<<20) + "\"}", jsonColumns, none,
			"f.csv:2: the line is longer than 16 MB"},
	} {
		_, err := read(t, c.text, c.columns, c.options)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) ||
			strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.60q: got error %v, want %s", c.text, err, c.want)
		}
	}
	_, err := replay.Open(filepath.Join(t.TempDir(), "none.csv"), columns, none)
	if err == nil || !strings.Contains(err.Error(), "none.csv") {
		t.Errorf("got error %v, want one that names the file", err)
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.csv")
	if err := os.WriteFile(path, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := replay.Open(path, columns, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func BenchmarkRecords(b *testing.B) {
	const n = 10000
	for _, bb := range []struct {
		name, text string
		columns    replay.Columns
	}{
		{"csv", "time,client,section,status,bytes\n" +
			strings.Repeat("2015-05-17T10:05:00Z,414cc777dfcb,presentations,200,25230\n", n), columns},
		{"json", strings.Repeat(`{"client":"414cc777dfcb","section":"presentations","bytes":25230,`+
			`"time":"2015-05-17T10:05:00Z"}`+"\n", n), columns},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.text)))
			for b.Loop() {
				f, err := replay.New("f", strings.NewReader(bb.text), bb.columns, replay.Options{Keyed: true})
				if err != nil {
					b.Fatal(err)
				}
				for _, err := range f.Records(b.Context()) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/event")
		})
	}
}
