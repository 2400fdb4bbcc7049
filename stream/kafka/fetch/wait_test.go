package fetch

import (
	"testing"
	"time"
)

func TestWaitAtMost(t *testing.T) {
	r := (&Client{options: Options{}.withDefaults()}).Partition("t", 0, 0)
	if got := r.request(nil).wire.MaxWaitTime; got != 500 {
		t.Errorf("a request waits %d ms, want 500", got)
	}
	for d, want := range map[time.Duration]int32{time.Hour: 500, 20 * time.Millisecond: 20, 20*time.Millisecond + 1: 21,
		1: 1} {
		r.WaitAtMost(d)
		if got := r.request(nil).wire.MaxWaitTime; got != want {
			t.Errorf("with %s a request waits %d ms, want %d", d, got, want)
		}
	}
}
