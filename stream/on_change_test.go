package stream_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/record"
)

// calm has nothing but a release on change, with so large an ε that draws and tests follow the events: of 200 users
// with one value, the median is another one with a probability of less than 1000·e^{−100}, and a change of all of them
// is overlooked, or seen where there is none, with less than 1e-6.
func calm(size time.Duration) string {
	return configtest.File(configtest.Stream("calm", configtest.Groups("eu", "us"),
		configtest.Set("bounds", "{lower: 0, upper: 1000, step: 1}"), configtest.Window(size, time.Second),
		configtest.Every(time.Minute), configtest.Start(midnight), configtest.End(midnight.Add(30*time.Minute)),
		configtest.Releases("{name: p50, statistic: median, epsilon: 4, "+
			"publish: on_change, tolerance: 0.1, watch_epsilon: 6, at_most: 5}"), configtest.Budget("54", "24h")))
}

// TestFiguresOnChange crashes a service again and again, and takes the transactional id of the release stage away at
// each step of its transactions. Every window still has the same figures: those of eu change in the 20th minute, those
// of us in the 15th. Each instance is charged once, and the first one pays for the first values.
func TestFiguresOnChange(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) { figuresOnChange(t, b, 1) })
}

// TestFiguresOnChangeOfHoppingWindows is the same with windows of two minutes, one every minute. Everybody counts with
// their last value, so a change is seen in the first window that holds its minute.
func TestFiguresOnChangeOfHoppingWindows(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		figuresOnChange(t, b, 2)
	})
}

// figuresOnChange has windows of so many minutes.
func figuresOnChange(t *testing.T, b *kafkatest.Broker, minutes int) {
	w := newWorld(t, b, 2, calm(time.Duration(minutes)*time.Minute))
	random := rand.New(rand.NewPCG(10, 1))
	right := func(group string, minute int) int {
		if group == "eu" && minute >= 20 || group == "us" && minute >= 15 {
			return 700
		}
		return 300
	}
	for minute := range 30 {
		var events []event
		for i := range 200 {
			for _, g := range []string{"eu", "us"} {
				events = append(events, event{User: fmt.Sprint(g, i), Group: g, Value: right(g, minute),
					Time: midnight.Add(time.Duration(minute) * time.Minute)})
			}
		}
		b.Produce(t, w.input, minute%2, records(events...)...)
	}
	taken := w.takeovers(2, topics.Place("calm", topics.Partitions))
	for range 3 {
		s := w.start(taken, often(7))
		s.works(t, time.Duration(300+random.IntN(900))*time.Millisecond)
		s.end(t)
	}
	last := w.start(taken, often(7))
	figures := w.await((31 - minutes) * 2)
	last.end(t)
	armed := 0
	for _, e := range w.audit() {
		if e.Reason != "" || len(e.Price) > 0 {
			t.Errorf("the window of %s costs %v, with the reason %q; want nothing", e.WindowStart, e.Price, e.Reason)
		}
		for _, x := range e.Continual {
			if x.Arms {
				armed++
			}
		}
	}
	if armed != 3 {
		t.Errorf("%d instances, want 3", armed)
	}
	for _, r := range figures {
		minute := int(r.WindowEnd.Sub(midnight).Minutes()) - 1 // the last one that is in it
		from, instance, epsilon := minutes-1, 1, "14"          // 6 + 4, and 4 for the first values
		switch {
		case minute > 20:
			instance, epsilon = 3, "10"
		case minute > 15:
			instance, epsilon = 2, "10"
		}
		if r.Group == "us" && minute >= 15 {
			from = 15
		} else if r.Group == "eu" && minute >= 20 {
			from = 20
		}
		since := midnight.Add(time.Duration(from+1) * time.Minute)
		if shown(r) != fmt.Sprint(right(r.Group, minute)) || r.Since == nil || !r.Since.Equal(since) ||
			r.Changed == nil ||
			*r.Changed != (from == minute) ||
			r.Instance != int64(instance) || r.Epsilon != json.Number(epsilon) || r.Statistic != "median" ||
			r.Smoothed != nil {
			t.Errorf("%s is %s since %v, instance %d for ε %s; want %d since %s, instance %d for ε %s", r.ID, shown(r),
				r.Since, r.Instance, r.Epsilon, right(r.Group, minute), since, instance, epsilon)
		}
		if want := []string{"14", "24", "34"}[instance-1]; r.BudgetSpent.String() != want || r.BudgetLeft != 1<<53 {
			t.Errorf("%s: the budget has spent %s and pays for %d windows more, want %s and no end", r.ID,
				r.BudgetSpent, r.BudgetLeft, want)
		}
		if r.Mechanism == record.MechanismWatch || r.Unit != "" {
			t.Errorf("%s: mechanism %s, unit %q", r.ID, r.Mechanism, r.Unit)
		}
	}
}
