package web

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/louver/louver/stream/outputs"
)

// world is a Store and the topic that its records stand in.
type world struct {
	testing.TB
	store *Store
	next  map[int]int64 // offsets of topic "out"
}

var epoch = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

func newWorld(t testing.TB, bytes int64) *world {
	return &world{t, NewStore(bytes), map[int]int64{}}
}

// text is a record of a window of a minute.
func text(stream, group, release string, window int, value string) string {
	start := epoch.Add(time.Duration(window) * time.Minute)
	at := func(t time.Time) string { return t.Format(time.RFC3339) }
	users, _ := strconv.ParseFloat(value, 64)
	return fmt.Sprintf(`{"schema":"louver.release.v1","id":"%s/%s/%s/%s","stream":%[1]q,"group":%[2]q,"release":%[4]q,"window_start":%[3]q,"window_end":%[5]q,"due_at":%[6]q,`+
		`"incomplete":false,"statistic":"count","p":null,"mechanism":"geometric","unit":"users","value":%[7]s,"status":"ok","reason":null,"epsilon":0.1,"delta":0,`+
		`"rank_error_95":null,"error_95":30,"low":%[8]v,"high":%[9]v,"level":0.95,"basis":"noise","quality":"useful","users":%[7]s,"p_low":null,"p_high":null,"interval":null,"smoothed":null,"stream_epsilon_spent":1,`+
		`"budget":"b","budget_epsilon_spent":1,"budget_epsilon_limit":10,"budget_windows_left":9}`,
		stream, group, at(start), release, at(start.Add(time.Minute)), at(start.Add(time.Minute+5*time.Second)), value,
		max(0, users-30), users+30)
}

// publish puts a record into a partition. The marker of its transaction takes an offset, too.
func (w *world) publish(partition int, value string) {
	w.Helper()
	r, ok, err := outputs.Decode([]byte(value))
	if err != nil || !ok {
		w.Fatal(ok, err)
	}
	w.store.Add(outputs.Message{Topic: "out", Partition: partition, Offset: w.next[partition], Value: []byte(value)}, r)
	w.next[partition] += 2
}

// windows are the numbers of the windows of figures.
func windowsIn(points []*point) (numbers []int) {
	for _, f := range points {
		numbers = append(numbers, int((f.start-epoch.Unix())/60))
	}
	return numbers
}

func want[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		t.Errorf("%s: %s; want %s", what, g, w)
	}
}

func TestStoreKeepsTheNewestOfEachSeries(t *testing.T) {
	w := newWorld(t, 40*(int64(len(text("s", "g", "r", 0, "100")))+overhead))
	for i := range 100 {
		w.publish(0, text("s", "eu", "users", i, "100"))
		if i%25 == 0 {
			w.publish(1, text("slow", "eu", "users", i, "100"))
		}
	}
	if w.store.held > w.store.bytes {
		t.Errorf("%d bytes; want at most %d", w.store.held, w.store.bytes)
	}
	fast, _, _ := w.store.find(selection{streams: []string{"s"}}, nil, 1000)
	slow, _, _ := w.store.find(selection{streams: []string{"slow"}}, nil, 1000)
	if len(fast) < 25 || windowsIn(fast)[len(fast)-1] != 99 {
		t.Errorf("windows %v; want the newest, about 36", windowsIn(fast))
	}
	want(t, "windows of the slow stream", windowsIn(slow), []int{0, 25, 50, 75})
	// More series than there is room for: each keeps its newest record.
	for i := range 60 {
		w.publish(2, text(fmt.Sprint("t", i), "", "users", 1, "7"))
		w.publish(2, text(fmt.Sprint("t", i), "", "users", 2, "7"))
	}
	if got := w.store.latest(selection{}); len(got) != 62 {
		t.Errorf("%d series; want 62", len(got))
	}
	// The count of bytes is that of what is there.
	sum := int64(0)
	w.store.each(func(e *series) {
		for _, f := range e.points {
			sum += f.size()
		}
	})
	want(t, "bytes", w.store.held, sum)
}

func TestStoreTakesAWindowOnce(t *testing.T) {
	w := newWorld(t, 1<<20)
	w.publish(0, text("s", "", "users", 2, "2"))
	w.publish(0, text("s", "", "users", 1, "1"))
	w.publish(0, text("s", "", "users", 2, "22"))
	got, _, _ := w.store.find(selection{}, nil, 10)
	want(t, "windows", windowsIn(got), []int{1, 2})
	if r, err := got[1].decode(); err != nil || r.Value.String() != "22" {
		t.Errorf("%v, %v; want the record that came last", r.Value, err)
	}
}

func TestSelection(t *testing.T) {
	w := newWorld(t, 1<<20)
	for i := range 10 {
		for _, g := range []string{"eu", "us"} {
			w.publish(0, text("s", g, "users", i, "100"))
		}
	}
	at := func(minutes int) int64 { return epoch.Add(time.Duration(minutes) * time.Minute).Unix() }
	for _, c := range []struct {
		name string
		want selection
		got  []int
	}{
		{"within", selection{groups: []string{"eu"}, from: at(2), to: at(5)}, []int{2, 3, 4}},
		{"not the half of a window", selection{groups: []string{"eu"}, from: at(2) + 1, to: at(5) - 1}, []int{3}},
		{"last", selection{groups: []string{"eu"}, last: 2}, []int{8, 9}},
		{"last of a range", selection{groups: []string{"eu"}, to: at(5), last: 2}, []int{3, 4}},
		{"two groups", selection{from: at(8)}, []int{8, 8, 9, 9}},
		{"nothing", selection{from: at(20)}, nil},
	} {
		found, _, more := w.store.find(c.want, nil, 100)
		if want(t, c.name, windowsIn(found), c.got); more {
			t.Errorf("%s: there is more; want no more", c.name)
		}
	}
	// Page by page, each record comes once, though a new one comes in between.
	var all []int
	var after *mark
	for range 20 {
		found, next, more := w.store.find(selection{}, after, 3)
		all = append(all, windowsIn(found)...)
		if !more {
			break
		}
		m, err := parseCursor(next.cursor())
		if err != nil {
			t.Fatal(err)
		}
		after = &m
		w.publish(0, text("s", "ap", "users", 9, "100"))
	}
	want(t, "all pages", all, []int{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 9})
}

// TestPagesOfTheLastWindows: page by page come the last windows of each series, and no others, though the series end at
// different times and new windows come in between.
func TestPagesOfTheLastWindows(t *testing.T) {
	w := newWorld(t, 1<<20)
	for i := range 6 {
		w.publish(0, text("s", "eu", "users", i, "100"))
		if i < 3 {
			w.publish(0, text("s", "us", "users", i, "200"))
		}
	}
	var all []int
	var after *mark
	for i := range 10 {
		found, next, more := w.store.find(selection{last: 2}, after, 1)
		all = append(all, windowsIn(found)...)
		if !more {
			break
		}
		m, err := parseCursor(next.cursor())
		if err != nil {
			t.Fatal(err)
		}
		after = &m
		w.publish(0, text("s", "eu", "users", 6+i, "100"))
	}
	want(t, "all pages", all, []int{1, 2, 4, 5})
}
