package ingest

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/windows"
)

// many is n times the same verdict.
func many(n int, v verdict) tally {
	var t tally
	for range n {
		t.count(v)
	}
	return t
}

// skipped is n records that were skipped for one reason.
func skipped(n int, why codec.Skip) tally {
	t := many(n, verdict{rejected: codec.Unwanted})
	t.unmet[why.Condition][why.Why] += n
	return t
}

func TestTrafficLines(t *testing.T) {
	noValue := verdict{rejected: codec.BadValue, missing: true}
	for _, c := range []struct {
		name       string
		partitions int
		// each ten seconds for so many minutes
		minutes int
		events  func(minute int) []tally
		want    []string
	}{
		{"all is well", 3, 120, func(int) []tally { return []tally{many(90, verdict{}), many(9, noValue)} }, nil},
		{"all rejected", 3, 3, func(int) []tally { return []tally{many(505, noValue)} },
			[]string{`10s WARN stream web: 505 of 505 events rejected in the last minute (bad_value: no field "bytes")`}},
		{"one of several reasons", 3, 1, func(int) []tally {
			return []tally{many(2000, verdict{}), many(1000, noValue), many(1, verdict{rejected: codec.BadValue}),
				many(400, verdict{rejected: codec.Malformed}), many(1, verdict{rejected: codec.Future})}
		}, []string{`10s WARN stream web: 1,402 of 3,402 events rejected in the last minute (400 malformed, 1,001 bad_value: field "bytes" is missing or unusable, 1 future)`}},
		{"an unknown group", 3, 1, func(int) []tally { return []tally{many(90, verdict{rejected: codec.BadGroup})} },
			[]string{`10s WARN stream web: 90 of 90 events rejected in the last minute (bad_group: field "section" is not in groups)`}},
		{"a bad hour and a half", 3, 120, func(minute int) []tally {
			if minute < 90 {
				return []tally{many(10, verdict{}), many(10, verdict{rejected: codec.BadUser})}
			}
			return []tally{many(10, verdict{})}
		}, []string{
			`10s WARN stream web: 10 of 20 events rejected in the last minute (bad_user: field "client" is unusable)`,
			`1h0m10s WARN stream web: 60 of 120 events rejected in the last minute (bad_user: field "client" is unusable)`,
			`1h35m50s INFO stream web: few or no events rejected now`,
		}},
		{"some, then all", 3, 30, func(minute int) []tally {
			if minute < 10 {
				return []tally{many(10, verdict{}), many(10, verdict{when: tooLate})}
			}
			return []tally{many(20, verdict{when: tooLate})}
		}, []string{
			`10s WARN stream web: 10 of 20 events late in the last minute: their windows had closed`,
			`11m0s WARN stream web: 120 of 120 events late in the last minute: their windows had closed`,
		}},
		{"now and then", 3, 60, func(minute int) []tally {
			if minute%3 == 0 {
				return []tally{many(1, verdict{when: tooLate})}
			}
			return []tally{many(1, verdict{})}
		}, []string{`10s WARN stream web: 1 of 1 events late in the last minute: their windows had closed`}},
		{"beyond the bounds", 3, 2, func(int) []tally {
			return []tally{many(4, verdict{}), many(5, verdict{clamped: true}), many(1, verdict{when: tooLate})}
		}, []string{`10s WARN stream web: 5 of 9 values beyond the bounds in the last minute`}},
		{"a topic with a past", 3, 2,
			func(int) []tally { return []tally{many(100, verdict{when: history}), many(1, verdict{})} }, nil},
		{"half of them is not beyond half", 3, 2,
			func(int) []tally { return []tally{many(5, verdict{}), many(5, verdict{clamped: true})} }, nil},
		{"none at all", 3, 180, func(int) []tally { return nil },
			[]string{`1m10s WARN stream web: no events for 1m0s in the 3 partitions of topic events that this process reads`}},
		{"none any more", 1, 60, func(minute int) []tally {
			if minute < 2 || minute > 40 {
				return []tally{many(1, verdict{})}
			}
			return nil
		}, []string{
			`12m10s WARN stream web: no events for 10m0s in the 1 partition of topic events that this process reads`,
			`41m10s INFO stream web: events are arriving again`,
		}},
		{"records of another format", 3, 12, func(minute int) []tally {
			if minute < 10 {
				return []tally{{empty: 250}}
			}
			return []tally{many(1, verdict{}), {empty: 250}}
		}, []string{
			`1m10s WARN stream web: no events for 1m0s: 1,500 records of the last minute hold no items of ; louver init --topic events says what the topic holds`,
			`10m10s INFO stream web: events count again`,
		}},
		{"all skipped", 3, 75, func(minute int) []tally {
			if minute == 71 {
				return []tally{many(1, verdict{})}
			}
			return []tally{skipped(500, codec.Skip{Why: codec.IsMissing}), skipped(10, codec.Skip{Condition: 1})}
		}, []string{
			`1m10s WARN stream web: no events for 1m0s: all 3,060 records of the last minute were skipped (3,000: where needs field "kind", which is missing; 60: where wants code: 7)`,
			`1h1m10s WARN stream web: no events for 1m0s: all 3,060 records of the last minute were skipped (3,000: where needs field "kind", which is missing; 60: where wants code: 7)`,
			`1h11m10s INFO stream web: events count again`,
		}},
		{"a text that is compared with a number, beside events that count", 3, 3, func(int) []tally {
			return []tally{many(9, verdict{}), skipped(1, codec.Skip{Condition: 1, Why: codec.IsText})}
		}, []string{`0s WARN stream web: field "code" is a text, but where has a number: what has such a field is skipped`}},
		{"most skipped", 3, 60, func(minute int) []tally {
			if minute%5 == 0 {
				return []tally{many(1, verdict{})}
			}
			return []tally{skipped(500, codec.Skip{Why: codec.Differs})}
		}, nil},
		{"some are totals", 3, 40, func(minute int) []tally {
			if minute < 2 {
				return []tally{many(15, verdict{}), many(5, verdict{rejected: codec.NoDelta}),
					many(9, verdict{rejected: codec.NoUser})}
			}
			return []tally{many(20, verdict{})}
		}, []string{
			`10s WARN stream web: 5 of 20 data points skipped in the last minute: they are totals so far, not events; ` + wantDeltas,
			`7m50s INFO stream web: few or no events that are totals so far now`,
		}},
		{"somebody else reads", 0, 60, func(int) []tally { return nil }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				core, logs := observer.New(zap.InfoLevel)
				s := &config.Stream{Name: "web"}
				s.Input.Topic, s.Input.Value, s.Input.User, s.Input.Group = "events", "bytes", "client", "section"
				s.Input.Where = []codec.Condition{{Field: "kind", Is: []codec.Operand{{Text: "page"}}},
					{Field: "code", Is: []codec.Operand{{Text: "7", Number: true}}}}
				s.Window.Size = 10 * time.Second
				began := time.Now()
				web := newTraffic(s, zap.New(core), episode.New(zap.New(core)))
				go watch(t.Context(), []*traffic{web}, func(topic string) int {
					if topic != "events" {
						t.Errorf("asked for topic %q", topic)
					}
					return c.partitions
				})
				synctest.Wait()
				for minute := range c.minutes {
					for range slots {
						for _, e := range c.events(minute) {
							web.add(e)
						}
						time.Sleep(lookEvery)
						synctest.Wait()
					}
				}
				var got []string
				for _, e := range logs.All() {
					got = append(got, fmt.Sprintf("%s %s %s", e.Time.Sub(began), e.Level.CapitalString(), e.Message))
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestNamesThatAreNone: where groups are found there is no list that a group could be missing in.
func TestNamesThatAreNone(t *testing.T) {
	of := &config.Stream{Found: &config.Found{}}
	of.Input.Group = "section"
	web := &traffic{stream: of}
	const want = `bad_group: field "section" is not a name of 1–200 characters that can be printed`
	if got := web.reasons(many(3, verdict{rejected: codec.BadGroup})); got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// A misspelt user skips all items of telemetry, and so does a metric whose points have no number. Or the topic holds
// items of another kind.
func TestSkippedItemsInWords(t *testing.T) {
	of := &config.Stream{}
	of.Input.Format, of.Input.User, of.Input.Topic = "otlp_metrics", "usr.id", "metrics"
	core, logs := observer.New(zap.WarnLevel)
	web := newTraffic(of, zap.New(core), episode.New(zap.New(core)))
	m := many(30, verdict{rejected: codec.NoUser})
	m.add(many(1200, verdict{rejected: codec.NoValue}))
	m.add(many(1300, verdict{rejected: codec.NoDelta}))
	if got, want := web.unmet(m), `1,300: points of a sum that are totals so far, not events; `+wantDeltas+`; 1,200: data points without a number of their own, such as those of histograms and summaries; 30: no field "usr.id", which says who`; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	web.quiet, web.minute = 1, m
	synctest.Test(t, func(*testing.T) {
		web.tellQuiet(true)
		time.Sleep(firstQuiet)
		web.tellQuiet(true)
	})
	if all := logs.All(); len(all) != 1 ||
		!strings.HasSuffix(all[0].Message, "; louver init --topic metrics says what the topic holds") {
		t.Errorf("%v; want one line that says how to see what the topic holds", all)
	}
}

// Records of another kind have no items, and nothing of them is rejected. They are counted, so that silence is explained.
func TestRecordsWithoutItemsAreCounted(t *testing.T) {
	s := testStream(t)
	s.Input.Spec = codec.Spec{Format: "otlp_traces", User: "user.id", Value: "span.duration_ms",
		Time: "span.end_time_unix_nano", MaxFuture: time.Hour}
	in := testStreamInput(t, s)
	var p partition
	for offset, value := range []string{`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}`, `{"user_id":"u"}`, "",
		`{"resourceSpans":[{"scopeSpans":[{"spans":[{}]}]}]}`} {
		p.takePart(lane{in}, int64(offset), 0, &fetch.Record{Value: []byte(value)})
	}
	if in.fresh.empty != 3 || in.fresh.skipped != 1 {
		t.Errorf("%d without items, %d items skipped; want 3 and 1", in.fresh.empty, in.fresh.skipped)
	}
}

// Why records are malformed, that they have no timestamp, and how a name with dots is written.
func TestReasonsInWords(t *testing.T) {
	of := &config.Stream{}
	of.Input.Format, of.Input.User, of.Input.Time, of.Input.Value = "json", "user.id", "ts", "ms"
	web := &traffic{stream: of}
	of2 := &config.Stream{}
	of2.Input.Format, of2.Input.User = "cloudevents", "data.user.id"
	events := &traffic{stream: of2}
	dotted := &config.Stream{}
	dotted.Input.Format, dotted.Input.Value = "json", `latency\.ms`
	caused := func(m tally, r codec.Reason, causes ...string) tally {
		for i, words := range causes {
			m.caused(r, words, i+1)
		}
		return m
	}
	both := many(5, verdict{rejected: codec.BadTime})
	made := many(100, verdict{rejected: codec.Malformed})
	for i := range 100 { // a sender makes numbers of schemas up
		made.caused(codec.Malformed, fmt.Sprintf("names schema %d, which the registry does not have", i), 1)
	}
	unknown := func(n int, ids ...uint32) tally {
		m := many(n, verdict{rejected: codec.Malformed})
		for _, id := range ids {
			m.unknown.add(waiting{records: n / len(ids), id: codec.Numbered(id)})
		}
		return m
	}
	for _, c := range []struct {
		at   *traffic
		m    tally
		want string
	}{
		{web, unknown(1624, 1211512113, 7), "malformed: 1,624 records begin with ids of schemas that the registry " +
			"does not have, such as 1211512113: are they framed?"},
		{web, unknown(2, 7), "malformed: the record names schema 7, which the registry does not have"},
		{web, caused(unknown(4, 7, 7), codec.Malformed, "is empty"), "malformed: the record names schema 7, which the " +
			"registry does not have (4), or is empty (1)"},
		{web, caused(many(1, verdict{rejected: codec.Malformed}), codec.Malformed, "is empty"), "malformed: the record is empty"},
		{web, caused(many(6, verdict{rejected: codec.Malformed}), codec.Malformed, "is empty", "has no value",
			"is not JSON"),
			"malformed: the record is not JSON (3), or has no value (2), or is empty (1)"},
		{web, caused(many(1, verdict{rejected: codec.BadTime}), codec.BadTime, unstamped), "bad_time: the records have no timestamp"},
		{web, caused(both, codec.BadTime, unstamped),
			`bad_time: 1 record has no timestamp; field "ts" is missing or unusable in the others`},
		{web, caused(many(3, verdict{rejected: codec.BadValue}), codec.BadValue, "may be a decimal", "is odd"),
			`bad_value: field "ms" is unusable: the record is odd (2), or may be a decimal (1)`},
		{web, many(2, verdict{rejected: codec.BadValue}), `bad_value: field "ms" is unusable`},
		{&traffic{stream: dotted}, many(2, verdict{rejected: codec.BadValue}),
			`bad_value: field "latency\.ms" is unusable`}, // as the streams file has it
		{web, many(2, verdict{rejected: codec.BadUser, missing: true}),
			`bad_user: no field "user.id"; a name that itself has a dot is written 'user\.id'`},
		{events, many(2, verdict{rejected: codec.BadUser, missing: true}),
			`bad_user: no field "data.user.id"; a name that itself has a dot is written 'data.user\.id'`},
	} {
		if got := c.at.reasons(c.m); got != c.want {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
	}
	if got := web.reasons(made); strings.Count(got, "names schema") != mostCauses ||
		!strings.HasSuffix(got, ", or is wrong in another way (92)") {
		t.Errorf("%s; want %d causes, and how many others", got, mostCauses)
	}
}

// TestManyQuietStreamsShareALine: twenty streams without events need no twenty lines.
func TestManyQuietStreamsShareALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		episodes, began := episode.New(zap.New(core)), time.Now()
		var all []*traffic
		for i := range 20 {
			s := &config.Stream{Name: fmt.Sprintf("s%02d", i)}
			s.Input.Topic = "events"
			all = append(all, newTraffic(s, zap.New(core), episodes))
		}
		go watch(t.Context(), all, func(string) int { return 3 })
		synctest.Wait()
		for range 3 * slots {
			time.Sleep(lookEvery)
			synctest.Wait()
		}
		for _, quiet := range all {
			quiet.add(many(1, verdict{}))
		}
		time.Sleep(lookEvery)
		synctest.Wait()
		var got []string
		for _, e := range logs.All() {
			got = append(got, fmt.Sprintf("%s %s %s", e.Time.Sub(began), e.Level.CapitalString(), e.Message))
		}
		want := []string{
			"1m10s WARN no events in 20 of the 20 streams that this process reads, such as s00, s01, s02",
			"3m10s INFO few or no streams are without events now",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// Events in no window are told with the time of the oldest, or of the newest if windows are over, and records that are
// too old to be read with their number.
func TestEventsOutsideAllWindows(t *testing.T) {
	at := func(text string) int64 {
		moment, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return moment.UnixNano()
	}
	astray := func(n int, times ...string) tally {
		o := many(n, verdict{when: outside})
		for i := range n {
			o.strayed(at(times[i%len(times)]))
		}
		return o
	}
	of := windows.Schedule{Start: at("2026-11-28T08:15:00Z"), End: at("2026-11-29T00:00:00Z")}
	for _, c := range []struct {
		name   string
		events []tally
		skip   int64
		want   []string
	}{
		{"all before", []tally{astray(10000, "2015-05-18T00:00:00Z", "2015-05-17T10:05:00Z")}, 0, []string{
			"WARN stream web: 0 of 10,000 records are in any window: the oldest is of 2015-05-17, the first window " +
				"starts at 2026-11-28T08:15:00Z"}},
		{"some before", []tally{many(30, verdict{}), astray(10, "2015-05-17T10:05:00Z")}, 0, []string{
			"WARN stream web: 10 of 40 events in the last minute are in no window: the oldest is of 2015-05-17, the " +
				"first window starts at 2026-11-28T08:15:00Z"}},
		{"all after", []tally{astray(7, "2026-11-29T00:00:00Z", "2026-11-30T01:00:00Z")}, 0, []string{
			"WARN stream web: 0 of 7 records are in any window: the newest is of 2026-11-30, the last window ends at " +
				"2026-11-29T00:00:00Z"}},
		{"a few", []tally{many(99, verdict{}), astray(1, "2015-05-17T10:05:00Z")}, 0, nil},
		{"timestamps in seconds", []tally{astray(110, "1970-01-21T10:05:00Z")}, -1, []string{
			"WARN stream web: 110 of 110 events lie before the stream's start, 2026-11-28T08:15:00Z: their timestamps " +
				"are of 1970-01-21. Kafka counts timestamps in milliseconds, and these look like seconds"}},
		{"timestamps an hour behind", []tally{astray(110, "2026-11-28T07:05:00Z", "2026-11-28T06:59:00Z")}, -1, []string{
			"WARN stream web: 110 of 110 events lie before the stream's start, 2026-11-28T08:15:00Z: their timestamps " +
				"are of 2026-11-28, 06 h to 2026-11-28, 07 h"}},
		{"too old to be read", nil, 10000, []string{"INFO stream web: 10,000 records of topic events from " +
			"before the first window, which starts at 2026-11-28T08:15:00Z: not read; to count such events, let " +
			"window.start lie before them"}},
		{"one too old to be read", nil, 1, []string{"INFO stream web: 1 record of topic events from before the first " +
			"window, which starts at 2026-11-28T08:15:00Z: not read; to count such events, let window.start lie " +
			"before them"}},
	} {
		core, logs := observer.New(zap.InfoLevel)
		s := &config.Stream{Name: "web"}
		s.Input.Topic = "events"
		web := newTraffic(s, zap.New(core), episode.New(zap.New(core)))
		web.between(windows.Schedule{Start: of.Start + int64(time.Hour), End: of.End - int64(time.Hour)})
		web.between(of)
		if c.skip < 0 { // the time of an event is that of its record
			s.Input.Time, c.skip = codec.TimestampField, 0
		}
		web.skip(c.skip / 2)
		web.skip(c.skip - c.skip/2)
		for _, e := range c.events {
			web.add(e)
		}
		web.look(3)
		web.look(3)
		var got []string
		for _, e := range logs.All() {
			got = append(got, e.Level.CapitalString()+" "+e.Message)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// trafficOfKeys is the traffic of a stream whose users are in the records' keys, and what it logs.
func trafficOfKeys(t *testing.T) (*traffic, *observer.ObservedLogs) {
	core, logs := observer.New(zap.WarnLevel)
	log := zap.New(core)
	s := testStream(t)
	s.Input.User = codec.KeyField
	return newTraffic(s, log, episode.New(log)), logs
}

// Keys that name their schema make one person several users.
func TestFramedKeysAreTold(t *testing.T) {
	w, logs := trafficOfKeys(t)
	m := many(1000, verdict{})
	for i := range 1000 {
		if codec.Framed([]byte{0, 0, 0, 0, byte(i%2 + 1), 4, 'u', '1'}[:6+i%3]) {
			m.framed++
		}
	}
	w.add(m)
	w.look(1)
	if all := logs.All(); len(all) != 1 || !strings.Contains(all[0].Message, "667 of 1,000 keys in the last minute begin "+
		"like the header of a schema registry") || !strings.HasSuffix(all[0].Message, "a field of the value as user") {
		t.Errorf("%v", all)
	}
	if w.stream.Input.Format = "avro"; !strings.HasPrefix(w.bareKeys(), "schema: registry") {
		t.Errorf("%s; want what reads keys with headers", w.bareKeys())
	}
}
