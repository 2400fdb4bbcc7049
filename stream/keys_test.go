package stream_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
)

// Persons who count twice because their keys are written in two ways, or name two schemas, are told of: one line each,
// also if each way has a partition of its own.
func TestKeysThatMakePersonsTwo(t *testing.T) {
	for name, c := range map[string]struct {
		keys func(i int) [2]string // of a person, for two producers
		want string
	}{
		"white space": {func(i int) [2]string { return [2]string{fmt.Sprintf(`{"id":%d}`, i), fmt.Sprintf(`{"id": %d}`, i)} },
			"keys that were looked at in the last minute are JSON that others write in another way"},
		"order": {func(i int) [2]string {
			return [2]string{fmt.Sprintf(`{"id":%d,"at":"x"}`, i), fmt.Sprintf(`{"at":"x","id":%d}`, i)}
		}, "keys that were looked at in the last minute are JSON that others write in another way"},
		"schemas": {func(i int) [2]string {
			return [2]string{fmt.Sprintf("\x00\x00\x00\x00\x07\"%d\"", i), fmt.Sprintf("\x00\x00\x00\x00\x08\"%d\"", i)}
		}, "keys in the last minute begin like the header of a schema registry"},
		"alike": {func(i int) [2]string { return [2]string{fmt.Sprintf(`{"id":%d}`, i), fmt.Sprintf(`{"id":%d}`, i)} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
				w := newWorld(t, b, 2, strings.Replace(exactly, "user: user,", "user: $key,", 1))
				observe, logs := observed()
				s := w.start(observe)
				at := time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC)
				for i := range 100 {
					for partition, key := range c.keys(i) {
						r := event{User: "nobody", Value: i, Time: at, Group: "eu"}.record()
						b.Produce(t, w.input, partition, txn.Record{Key: []byte(key), Value: r.Value})
					}
				}
				s.works(t, time.Minute)
				var told []string
				for _, line := range messages(logs) {
					if strings.Contains(line, "a person counts once for each") {
						told = append(told, line)
					}
				}
				switch {
				case c.want == "" && len(told) > 0:
					t.Errorf("%q; want nothing", told)
				case c.want != "" && (len(told) != 1 || !strings.Contains(told[0], c.want)):
					t.Errorf("%q; want one line: %s", told, c.want)
				}
				s.end(t)
			})
		})
	}
}
