package web

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// histogramText is the record of a histogram of three buckets, "of" windows together.
func histogramText(release string, window, windows int) string {
	r := strings.NewReplacer(`"statistic":"count"`, `"statistic":"histogram"`, `"mechanism":"geometric"`,
		`"mechanism":"histogram"`, `"budget_windows_left":9}`,
		`"budget_windows_left":9,"buckets":{"le":[100,800,null],"raw":[600,300,100],"coarse":[],"groups":0,"count":[600,300,100]}}`)
	text := r.Replace(text("h", "", release, window, "1000"))
	if windows > 1 {
		text = strings.Replace(strings.Replace(text, `"epsilon":0.1`, `"epsilon":0`, 1), `"budget_windows_left":9,`,
			fmt.Sprintf(
				`"budget_windows_left":9,"windows":{"of":60,"released":%d,"incomplete":0},"counts":"user_windows",`,
				windows), 1)
	}
	return text
}

func TestDistribution(t *testing.T) {
	w := newWorld(t, 1<<20)
	w.publish(0, histogramText("latency", 0, 1))
	w.publish(0, histogramText("latency", 1, 1))
	w.publish(0, histogramText("latency.1h", 1, 9))
	w.publish(0, text("h", "", "users", 1, "100"))
	h := w.handler()
	for _, c := range []struct {
		query  string
		status int
		want   string
	}{
		{"stream=h&release=latency", 200,
			`"window_end":"2026-11-20T08:02:00Z","users":1000,"windows":null,"le":[100,800,null],` +
				`"count":[600,300,100],"share":[0.6,0.9,1],"low":[`},
		{"stream=h&release=latency&window_end=2026-11-20T08:01:00Z", 200, `"window_end":"2026-11-20T08:01:00Z"`},
		{"stream=h&release=latency.1h", 200, `"windows":{"of":60,"released":9,"incomplete":0}`},
		{"stream=h&release=latency&window_end=2026-11-20T08:07:00Z", 404, "has no such window in memory"},
		{"stream=h&release=users", 400, "h/users is a count; want a histogram"},
		{"release=latency", 400, "stream is missing"},
		{"stream=h&release=latency&format=xml", 400, "want json or csv"},
		{"stream=x&release=latency", 404, `there is no stream`},
	} {
		r := httptest.NewRecorder()
		h.ServeHTTP(r, httptest.NewRequest("GET", "/api/v1/distribution?"+c.query, nil))
		if r.Code != c.status || !strings.Contains(r.Body.String(), c.want) {
			t.Errorf("%s: %d %s; want %d with %s", c.query, r.Code, r.Body, c.status, c.want)
		}
	}
	bands := func(release string) (low, high float64) {
		r := httptest.NewRecorder()
		h.ServeHTTP(r, httptest.NewRequest("GET", "/api/v1/distribution?stream=h&format=csv&release="+release, nil))
		lines := strings.Split(r.Body.String(), "\n")
		var share float64
		if _, err := fmt.Sscanf(lines[1], "100,600,%f,%f,%f", &share, &low, &high); err != nil ||
			lines[0] != "le,count,share,low,high" ||
			lines[3] != "+Inf,100,1,1,1" || share != 0.6 {
			t.Errorf("%s: %q, %v", release, lines, err)
		}
		return low, high
	}
	// At ε 0.1 a number has a variance of 200: 600 of 1,000 may be 57 to 63 %. Nine windows have three times that.
	if low, high := bands("latency"); low < 0.56 || low > 0.58 || high < 0.62 || high > 0.64 {
		t.Errorf("the band of a window is %v to %v", low, high)
	}
	if low, high := bands("latency.1h"); low < 0.48 || low > 0.53 || high < 0.67 || high > 0.72 {
		t.Errorf("the band of nine windows is %v to %v", low, high)
	}
}

// The band of all groups together is that of the sum of their draws: with four groups it is twice as wide as that of
// one. Their records cost nothing, so the ε is that of a group.
func TestDistributionOfAllGroups(t *testing.T) {
	w := newWorld(t, 1<<20)
	for _, group := range []string{"a", "b", "c", "d", "all"} {
		record := strings.NewReplacer(`"group":""`, fmt.Sprintf(`"group":%q`, group), "h//", "h/"+group+"/").
			Replace(histogramText("latency", 0, 1))
		if group == "all" {
			record = strings.NewReplacer(`"epsilon":0.1`, `"epsilon":0,"together":true`).Replace(record)
		}
		w.publish(0, record)
	}
	h := w.handler()
	width := func(group string) float64 {
		r := httptest.NewRecorder()
		h.ServeHTTP(r, httptest.NewRequest("GET", "/api/v1/distribution?stream=h&format=csv&release=latency&group="+group, nil))
		var share, low, high float64
		if _, err := fmt.Sscanf(strings.Split(r.Body.String()+"\n\n", "\n")[1], "100,600,%f,%f,%f", &share, &low, &high); err != nil {
			t.Fatalf("%s: %v in %s", group, err, r.Body)
		}
		return high - low
	}
	if one, all := width("a"), width("all"); all < 1.8*one || all > 2.2*one {
		t.Errorf("the band of a group is %v wide, and that of all %v; want about twice that", one, all)
	}
}

// Two windows of a day in blocks begin at the same moment. Their ids have the start of the newest window, and find
// them.
func TestRecordsOfTheNewestTimeAreFoundByTheirIDs(t *testing.T) {
	w := newWorld(t, 1<<20)
	for i := range 2 {
		record := histogramText("latency.last_1h", i, 60)
		end := fmt.Sprintf("2026-11-20T08:%02d:00Z", 58+i)
		for key, value := range map[string]string{"window_start": "2026-11-20T07:00:00Z", "window_end": end} {
			_, after, _ := strings.Cut(record, fmt.Sprintf(`"%s":"`, key))
			record = strings.Replace(record, fmt.Sprintf(`"%s":"%s"`, key, after[:20]), fmt.Sprintf(`"%s":%q`, key, value), 1)
		}
		w.publish(0, strings.Replace(record, `"of":60`, fmt.Sprintf(`"of":%d`, 118+i), 1))
	}
	for minute, want := range map[string]string{"57": "08:58:00", "58": "08:59:00"} {
		at, _ := time.Parse(time.RFC3339, "2026-11-20T08:"+minute+":00Z")
		if f := w.store.record("h", "", "latency.last_1h", at.Unix()); f == nil ||
			time.Unix(f.end, 0).UTC().Format("15:04:05") != want {
			t.Errorf("minute %s finds %v; want the record that ends at %s", minute, f, want)
		}
	}
}
