package outputs

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// FuzzDecode: anybody may write to an output topic. Whatever it is, the gauges show it or leave it out, beside a figure
// that is as it should be.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{published, `{"schema":"louver.release.v1"}`,
		`{"schema":"louver.release.v1","value":"1e999","error_95":1e-999,"interval":{}}`,
		`{"schema":"louver.release.v1","statistic":"watch","value":0,"window_end":"9999-12-31T23:59:59Z"}`,
		`{"schema":"other"}`, `null`, `{`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		g := NewGauges(time.Now)
		g.now = func() time.Time { return time.Date(2026, 11, 20, 8, 16, 0, 0, time.UTC) }
		for _, v := range [][]byte{value, []byte(published)} {
			r, ours, err := Decode(v)
			if err != nil || !ours {
				continue
			}
			r.Band()
			g.Update(r)
			g.Update(r)
		}
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(g)
		if _, err := registry.Gather(); err != nil {
			t.Fatal(err)
		}
	})
}
