package inspect

import (
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows/period"
)

// TestPeriodsOfAnAudit: the calendar of an audit is that of the definition that an entry names.
func TestPeriodsOfAnAudit(t *testing.T) {
	edition := func(number uint32, zone string) config.Edition {
		days, err := period.NewCalendar(period.Midnight, zone)
		if err != nil {
			t.Fatal(err)
		}
		s := &config.Stream{Name: "s"}
		s.Add(&config.Total{Head: config.Head{Name: "today"}, Calendar: days}, &config.Release{
			Head: config.Head{Name: "shape"}, Days: map[time.Duration]period.Calendar{24 * time.Hour: days}})
		s.Window.Every = time.Hour
		return config.Edition{Stream: s, Number: number}
	}
	c := newCalendar([]config.Edition{edition(0, "UTC"), edition(1, "America/Sao_Paulo")})
	at := time.Date(2018, 11, 4, 12, 0, 0, 0, time.UTC) // a day without midnight in São Paulo
	for _, want := range []struct {
		epoch        uint32
		stream, name string
		rollup       string
		since, until int // hours of the day
		known        bool
	}{{0, "s", "today", "", 0, 24, true}, {1, "s", "today", "", 3, 26, true}, {2, "s", "today", "", 0, 0, false},
		{1, "s", "x", "", 0, 0, false}, {1, "x", "today", "", 0, 0, false}, {0, "s", "shape", "1d", 0, 24, true},
		{1, "s", "shape", "1d", 3, 26, true}, {1, "s", "shape", "1h", 0, 0, false},
		{1, "s", "today", "1d", 0, 0, false},
		{2, "s", "shape", "1d", 0, 0, false}} {
		e := ledger.Entry{Stream: want.stream, Epoch: want.epoch, WindowStart: at, WindowEnd: at.Add(time.Hour)}
		since, until, known := c.Period(e, want.name, want.rollup)
		hour := func(n int) int64 { return at.Add(time.Duration(n-12) * time.Hour).UnixNano() }
		if known != want.known || known && (since != hour(want.since) || until != hour(want.until)) {
			t.Errorf("%+v: %s, %s, %t", want, time.Unix(0, since).UTC(), time.Unix(0, until).UTC(), known)
		}
	}
}

// TestNotesArePrinted: a note is a line of its own, and the verdict stays ok.
func TestNotesArePrinted(t *testing.T) {
	var out strings.Builder
	printFindings(&out, audit.Findings{OK: true, Notes: []audit.Fault{{Kind: audit.PeriodDiffers, What: "a total"}}})
	if !strings.HasPrefix(out.String(), "note: /0@0: period_differs: a total\nok: ") {
		t.Errorf("%q", &out)
	}
}
