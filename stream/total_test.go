package stream_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
)

// TestTotalsAfterAnyStop crashes a service again and again, and takes the transactional id of the release stage away at
// each step of its transactions. Totals have an ε of a million, so that records show from outside who counts: each user
// once since the hour began, whatever is killed, and each visit until three are used up.
func TestTotalsAfterAnyStop(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const minutes, users = 30, 40
		start := midnight.Add(50 * time.Minute)
		w := newWorld(t, b, 2, configtest.File(configtest.Stream("totals", configtest.Groups("eu", "us"),
			configtest.Set("bounds", "{lower: 0, upper: 1000, step: 1}"), configtest.Window(time.Minute, time.Second),
			configtest.Start(start), configtest.End(start.Add(minutes*time.Minute)),
			configtest.Releases("{name: today, statistic: count, since: hour, epsilon: 1000000}",
				"{name: visits, statistic: count, since: hour, update: 2m, max_total: 3, epsilon: 1000000}"),
			configtest.Budget("50000000", "24h"))))
		random := rand.New(rand.NewPCG(24, 1))
		came := map[string][]int{} // the minutes in which each user comes, of each group
		for minute := range minutes {
			var events []event
			for i := range users {
				group := []string{"eu", "us"}[i%2]
				for range random.IntN(3) { // a user may send several events
					user := fmt.Sprint(group, i)
					events = append(events,
						event{User: user, Group: group, Value: i,
							Time: start.Add(time.Duration(minute)*time.Minute +
								time.Duration(random.IntN(59))*time.Second)})
					if all := came[user]; len(all) == 0 || all[len(all)-1] != minute {
						came[user] = append(all, minute)
					}
				}
			}
			for _, e := range events {
				b.Produce(t, w.input, random.IntN(2), e.record())
			}
		}
		taken := w.takeovers(2, topics.Place("totals", topics.Partitions))
		for range 3 {
			s := w.start(taken, often(7))
			s.works(t, time.Duration(300+random.IntN(900))*time.Millisecond)
			s.end(t)
		}
		last := w.start(taken, often(7))
		figures := w.await(minutes*2 + minutes/2*2)
		last.end(t)
		armed := 0
		for _, e := range w.audit() {
			for _, s := range e.Continual {
				if s.Arms {
					armed++
				}
			}
		}
		if armed != 4 {
			t.Errorf("%d instances, want two hours of two totals", armed)
		}
		for _, r := range figures {
			since, until := 0, 10 // in minutes
			if r.WindowEnd.After(start.Add(10 * time.Minute)) {
				since, until = 10, minutes
			}
			end, want, unit := int(r.WindowEnd.Sub(start).Minutes()), 0, "users"
			if r.Release == "visits" { // of which each user adds up to three
				unit = "visits"
			}
			for user, all := range came {
				n := 0
				for _, minute := range all {
					if user[:2] == r.Group && minute >= since && minute < end {
						n++
					}
				}
				want += min(n, map[string]int{"today": 1, "visits": 3}[r.Release])
			}
			if shown(r) != fmt.Sprint(want) || r.Since == nil ||
				!r.Since.Equal(start.Add(time.Duration(since)*time.Minute)) ||
				r.Final == nil || *r.Final != (end == until) || r.Epsilon != "1000000" ||
				r.Smoothed.Value != *r.Value ||
				r.Mechanism != "tree" || r.Unit != unit || r.Statistic != "count" || r.Users != nil ||
				(r.MaxTotal != nil) != (r.Release == "visits") || r.Error95.String() != "1" {
				t.Errorf("%s is %s ± %v %s since %v; want %d since minute %d, and the rest of %+v", r.ID, shown(r),
					r.Error95, r.Unit, r.Since, want, since, r)
			}
		}
	})
}
