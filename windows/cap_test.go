package windows

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawCap draws small rules, so that blocks begin and end often.
func drawCap(t *rapid.T) (CapSpec, Schedule, CapRule) {
	every := time.Duration(rapid.SampledFrom([]int64{1, 60, 3600, 5000}).Draw(t, "every")) * time.Second
	overlap := rapid.Int64Range(1, 3).Draw(t, "overlap")
	s := Schedule{Size: time.Duration(overlap) * every, Every: every}
	c := CapSpec{Per: time.Duration(rapid.Int64Range(overlap, 30).Draw(t, "windows of a period")) * every,
		Parts: rapid.Int64Range(0, 5).Draw(t, "parts")}
	c.Per += time.Duration(rapid.Int64Range(0, int64(every/time.Second)-1).Draw(t, "seconds more")) * time.Second
	parts := c.Parts
	if parts == 0 {
		parts = 3
	}
	c.Count = overlap*(parts+1) + rapid.Int64Range(0, 9).Draw(t, "more")
	rule, err := c.Rule(s)
	if err != nil {
		t.Fatal(err)
	}
	return c, s, rule
}

// ruleOfMinutes returns the rule for windows of a minute.
func ruleOfMinutes(t testing.TB, count int64, per time.Duration) CapRule {
	t.Helper()
	rule, err := CapSpec{Count: count, Per: per}.Rule(Schedule{Size: time.Minute, Every: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

// beginMinute goes on to the window of a minute.
func beginMinute(t testing.TB, c *Cap, number int64) {
	t.Helper()
	if err := c.Begin(Window{number * minute, (number + 1) * minute}); err != nil {
		t.Fatal(err)
	}
}

// drawDays draws the windows in which each user has records, from a first window on.
func drawDays(t *rapid.T) (first int64, windows int, days map[UserHash][]bool) {
	users := rapid.IntRange(1, 6).Draw(t, "users")
	windows = rapid.IntRange(1, 120).Draw(t, "windows")
	busy := rapid.SampledFrom([]int{1, 2, 4, 10}).Draw(t, "busy")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	days = map[UserHash][]bool{}
	for range users {
		day := make([]bool, windows)
		for i := range day {
			day[i] = r.IntN(10) < busy
		}
		days[UserHash{r.Uint64(), r.Uint64()}] = day
	}
	return rapid.Int64Range(-200, 200).Draw(t, "first"), windows, days
}

// counted goes through windows with their users, in any order of users, and returns when each user counts.
func counted(t *rapid.T, c *Cap, s Schedule, first int64, days map[UserHash][]bool, from, to int) map[UserHash][]int {
	out := map[UserHash][]int{}
	for i := from; i < to; i++ {
		start := (first + int64(i)) * int64(s.Every)
		for range 1 + i%2 { // some windows are processed twice
			if err := c.Begin(Window{start, start + int64(s.Size)}); err != nil {
				t.Fatal(err)
			}
			for u, day := range days {
				if day[i] && c.Counts(u) && !slices.Contains(out[u], i) {
					out[u] = append(out[u], i)
				}
			}
		}
	}
	return out
}

// byDefinition computes with sets and division when a user counts.
func byDefinition(rule CapRule, u UserHash, first int64, day []bool) (when []int) {
	blocks := map[int64]int64{}
	for i, there := range day {
		if !there {
			continue
		}
		w := first + int64(i) + 1_000_000*rule.Block // positive, and at the same place in its block
		block := (w + int64(u[1]%uint64(rule.Block))) / rule.Block
		if blocks[block] < rule.Most {
			blocks[block]++
			when = append(when, i)
		}
	}
	return when
}

// No user counts more than k times in any period, whenever it begins, the definition and the cap agree, and who counts
// does not depend on other users.
func TestCapAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec, s, rule := drawCap(t)
		first, windows, days := drawDays(t)
		all := counted(t, NewCap(rule), s, first, days, 0, windows)
		for u, day := range days {
			if want := byDefinition(rule, u, first, day); !slices.Equal(all[u], want) {
				t.Fatalf("user %x counts in %v, want %v", u, all[u], want)
			}
			if rule.AtMost() > spec.Count {
				t.Fatalf("a user counts in %d windows of a period, want at most %d", rule.AtMost(), spec.Count)
			}
			for from := range windows {
				counts := func(within func(after time.Duration) bool) (n int64) {
					for _, i := range all[u] {
						if from <= i && within(time.Duration(i-from)*s.Every) {
							n++
						}
					}
					return n
				}
				if n := counts(func(after time.Duration) bool { return after < spec.Per }); n > rule.AtMost() {
					t.Fatalf("user %x counts in %d windows that begin within %s of window %d, want at most %d", u, n,
						spec.Per, from, rule.AtMost())
				}
				length := 1 + (rule.Windows+int64(from))%40
				n := counts(func(after time.Duration) bool { return after < time.Duration(length)*s.Every })
				if n > rule.AtMostOf(length) {
					t.Fatalf("user %x counts in %d windows of the %d from %d on, want at most %d", u, n, length, from,
						rule.AtMostOf(length))
				}
			}
			alone := counted(t, NewCap(rule), s, first, map[UserHash][]bool{u: day}, 0, windows)
			if !slices.Equal(alone[u], all[u]) {
				t.Fatalf("alone, user %x counts in %v, in company in %v", u, alone[u], all[u])
			}
		}
	})
}

// A cap that restarts at any window decides like one that never stopped: from a snapshot and the windows since, or from
// the last Reach windows alone.
func TestCapAfterRestart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, s, rule := drawCap(t)
		first, windows, days := drawDays(t)
		taken := rapid.IntRange(0, windows).Draw(t, "snapshot after")
		stopped := rapid.IntRange(taken, windows).Draw(t, "stopped after")
		through := NewCap(rule)
		counted(t, through, s, first, days, 0, taken)
		snapshot := through.Snapshot()
		counted(t, through, s, first, days, taken, stopped)
		want := counted(t, through, s, first, days, stopped, windows)

		if taken > 0 {
			restored, err := RestoreCap(rule, snapshot)
			if err != nil {
				t.Fatal(err)
			}
			if again := restored.Snapshot(); !bytes.Equal(again, snapshot) {
				t.Fatal("the snapshot of what was restored is another one")
			}
			counted(t, restored, s, first, days, taken, stopped)
			sameCounts(t, "from a snapshot", counted(t, restored, s, first, days, stopped, windows), want)
		}
		rebuilt := NewCap(rule)
		counted(t, rebuilt, s, first, days, max(0, stopped-int(rule.Reach())), stopped)
		sameCounts(t, "from the last windows", counted(t, rebuilt, s, first, days, stopped, windows), want)
	})
}

func sameCounts(t *rapid.T, how string, got, want map[UserHash][]int) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d users count, want %d", how, len(got), len(want))
	}
	for u := range want {
		if !slices.Equal(got[u], want[u]) {
			t.Fatalf("%s: user %x counts in %v, want %v", how, u, got[u], want[u])
		}
	}
}

// The rules that users are likely to choose.
func TestCapRules(t *testing.T) {
	for _, c := range []struct {
		spec         CapSpec
		size, every  time.Duration
		block, most  int64
		windows, day int64
	}{
		// 480 minutes divide a day
		{CapSpec{Count: 8, Per: 24 * time.Hour}, time.Minute, time.Minute, 481, 2, 1440, 1440},
		{CapSpec{Count: 8, Per: 24 * time.Hour, Parts: 7}, time.Minute, time.Minute, 206, 1, 1440, 1440},
		{CapSpec{Count: 11, Per: 24 * time.Hour}, time.Hour, time.Hour, 9, 2, 24, 24}, // 8 hours divide a day
		{CapSpec{Count: 4, Per: 7 * 24 * time.Hour}, 24 * time.Hour, 24 * time.Hour, 3, 1, 7, 1},
		// overlapping; 20 minutes divide a day
		{CapSpec{Count: 20, Per: time.Hour}, 5 * time.Minute, time.Minute, 21, 5, 60, 1440},
		{CapSpec{Count: 4, Per: 24 * time.Hour}, 24 * time.Hour, 24 * time.Hour, 2, 1, 1, 1},
		// two windows begin within 90 minutes
		{CapSpec{Count: 4, Per: 90 * time.Minute, Parts: 1}, time.Hour, time.Hour, 5, 2, 2, 24},
	} {
		r, err := c.spec.Rule(Schedule{Size: c.size, Every: c.every})
		if err != nil {
			t.Fatal(err)
		}
		if r.Block != c.block || r.Most != c.most || r.Windows != c.windows {
			t.Errorf("%+v of %s: %+v; want blocks of %d, %d of each, %d windows", c.spec, c.every, r,
				c.block, c.most, c.windows)
		}
	}
	day := Schedule{Size: 24 * time.Hour, Every: 24 * time.Hour}
	for _, c := range []struct {
		spec CapSpec
		s    Schedule
	}{
		{CapSpec{Count: 3, Per: 24 * time.Hour}, day},
		{CapSpec{Count: 0, Per: 24 * time.Hour}, day},
		{CapSpec{Count: 2e9, Per: 24 * time.Hour}, day},
		{CapSpec{Count: 8, Per: time.Hour}, day},
		{CapSpec{Count: 8}, day},
		{CapSpec{Count: 8, Per: 24 * time.Hour, Parts: -1}, day},
		{CapSpec{Count: 7, Per: time.Hour}, Schedule{Size: 2 * time.Minute, Every: time.Minute}},
	} {
		if _, err := c.spec.Rule(c.s); err == nil {
			t.Errorf("%+v is accepted", c.spec)
		}
	}
}

// A day of one-minute windows with many occasional users: the cap forgets those who are not in their block any more.
func TestCapForgets(t *testing.T) {
	rule := ruleOfMinutes(t, 8, 24*time.Hour)
	c := NewCap(rule)
	r := rand.New(rand.NewPCG(1, 2))
	const perWindow = 20
	most := 0
	for w := range int64(5000) {
		beginMinute(t, c, w)
		for range perWindow {
			c.Counts(UserHash{r.Uint64(), r.Uint64()})
		}
		most = max(most, c.users.n)
	}
	if limit := perWindow * int(rule.Block) * 5 / 4; most > limit+perWindow {
		t.Errorf("%d users are remembered, want at most those of a block and a quarter, %d", most, limit)
	}
}

func TestCapSnapshotsThatAreWrong(t *testing.T) {
	s := Schedule{Size: time.Minute, Every: time.Minute}
	rule := ruleOfMinutes(t, 8, time.Hour)
	c := NewCap(rule)
	if c.Snapshot() != nil {
		t.Error("a cap that has not begun has a snapshot")
	}
	if err := c.Begin(Window{0, int64(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	c.Counts(UserHash{1, 2})
	c.Counts(UserHash{3, 4})
	good := c.Snapshot()
	if _, err := RestoreCap(rule, good); err != nil {
		t.Fatal(err)
	}
	other := ruleOfMinutes(t, 12, time.Hour)
	if _, err := RestoreCap(other, good); err == nil {
		t.Error("a snapshot of another rule is restored")
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 1
		// Some bits of a frame's header do not affect its content.
		if got, err := RestoreCap(rule, bad); err == nil && !bytes.Equal(got.Snapshot(), good) {
			t.Errorf("a snapshot with another bit in byte %d is restored as another one", i)
		}
		if _, err := RestoreCap(rule, good[:i]); err == nil {
			t.Errorf("the first %d bytes of a snapshot are restored", i)
		}
	}
	beyond := &Cap{rule: rule, now: horizon/int64(s.Every) + 1, begun: true}
	if _, err := RestoreCap(rule, beyond.Snapshot()); err == nil {
		t.Error("a snapshot of a window beyond all schedules is restored")
	}
	for _, raw := range [][]byte{nil, {2}, {1}, append([]byte{1}, good...)} {
		if _, err := RestoreCap(rule, compress(raw)); err == nil {
			t.Errorf("%x is restored", raw)
		}
	}
	if err := c.Begin(Window{-int64(time.Minute), 0}); err == nil {
		t.Error("a window begins before the one that has begun")
	}
}

// addSnapshot gives a fuzz target a snapshot, compressed and not.
func addSnapshot(f *testing.F, snapshot []byte) {
	raw, err := decompress(snapshot)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(snapshot)
	f.Add(raw)
}

// FuzzRestoreCap: whatever the bytes are, compressed or not, they are an error or a cap of the rule. That one writes
// the same down again, also from there, and counts nobody too often.
func FuzzRestoreCap(f *testing.F) {
	s := Schedule{Size: time.Minute, Every: time.Minute}
	rule := ruleOfMinutes(f, 8, time.Hour)
	c := NewCap(rule)
	for i := range int64(30) {
		beginMinute(f, c, i)
		c.Counts(UserHash{uint64(i % 7), 1 << 63})
		addSnapshot(f, c.Snapshot())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, snapshot := range [][]byte{data, compress(data)} {
			c, err := RestoreCap(rule, snapshot)
			if err != nil {
				continue
			}
			written := c.Snapshot()
			again, err := RestoreCap(rule, written)
			if err != nil || !bytes.Equal(again.Snapshot(), written) {
				t.Fatalf("what was restored does not come back (%v)", err)
			}
			for _, i := range c.users.ascending() {
				r := c.users.row(i)
				if r.value > rule.Most || r.value < 1 || r.order > c.now || c.now-r.order >= rule.Block {
					t.Fatalf("user %x has counted %d times, the last time in window %d of %d", r.user,
						r.value, r.order, c.now)
				}
				c.Counts(r.user)
			}
			next := c.Began() + int64(s.Every)
			if err := c.Begin(Window{next, next + int64(s.Size)}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A frame that claims to unpack to a gigabyte reserves nothing, in a snapshot as in a payload.
func TestClaimedSizesReserveNoMemory(t *testing.T) {
	// a window of 1 KB, the size in 8 bytes
	frame := binary.LittleEndian.AppendUint64([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xc0, 0}, 1<<30)
	// one block, the last, without content
	frame = append(frame, 1, 0, 0)
	rule := ruleOfMinutes(t, 8, time.Hour)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, ofSnapshot := RestoreCap(rule, frame)
	_, ofPayload := decodePayload(frame, 0)
	runtime.ReadMemStats(&after)
	if most := uint64(64 << 20); ofSnapshot == nil || ofPayload == nil || after.TotalAlloc-before.TotalAlloc > most {
		t.Errorf("%v, %v, and %d bytes are allocated; want errors, and less than %d", ofSnapshot, ofPayload,
			after.TotalAlloc-before.TotalAlloc, most)
	}
}

// BenchmarkCap goes through windows of 10,000 users, of 100,000 in all.
func BenchmarkCap(b *testing.B) {
	rule := ruleOfMinutes(b, 8, 24*time.Hour)
	c := NewCap(rule)
	r := rand.New(rand.NewPCG(1, 2))
	users := make([]UserHash, 100_000)
	for i := range users {
		users[i] = UserHash{r.Uint64(), r.Uint64()}
	}
	w := int64(0)
	for b.Loop() {
		beginMinute(b, c, w)
		for i := range 10_000 {
			c.Counts(users[(int(w)*7_919+i)%len(users)])
		}
		w++
	}
}

// changed returns how many windows have another sample if a user with these moments takes back those from one to before
// another. A window is overlap moments long, and one begins at every moment.
func changed(rule CapRule, u UserHash, overlap int, moments []bool, from, to int) (n int64) {
	with, without, touched := make([]bool, len(moments)), make([]bool, len(moments)), make([]bool, len(moments))
	for w := range moments {
		for at := w; at < min(w+overlap, len(moments)); at++ {
			goes := from <= at && at < to
			with[w] = with[w] || moments[at]
			without[w] = without[w] || moments[at] && !goes
			touched[w] = touched[w] || moments[at] && goes
		}
	}
	before, after := byDefinition(rule, u, 0, with), byDefinition(rule, u, 0, without)
	for w := range moments {
		counted, counts := slices.Contains(before, w), slices.Contains(after, w)
		if counted != counts || counted && touched[w] {
			n++
		}
	}
	return n
}

// What a user takes back changes no more windows than ChangedBy says, whatever stays.
func TestCapChangesNoMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, s, rule := drawCap(t)
		overlap := int(s.Size / s.Every)
		first, _, days := drawDays(t)
		for u, moments := range days {
			u[1] += uint64(first + 200)
			for from := range moments {
				for _, length := range []int{1, 2, 1 + from%7, int(rule.Windows)} {
					touched := int64(length + overlap - 1)
					if n := changed(rule, u, overlap, moments, from, from+length); n > rule.ChangedBy(touched) {
						t.Fatalf("%d windows change with %d of user %x from %d on; want at most %d: %+v", n, touched, u,
							from, rule.ChangedBy(touched), rule)
					}
				}
			}
		}
	})
}

// Somebody who comes for the first time when a day begins, and stays, changes as many windows as it says.
func TestCapChangesSoMany(t *testing.T) {
	for name, c := range map[string]struct {
		every         time.Duration
		count, parts  int64
		overlap       int
		counts, wants int64 // in a stretch of a day
		one           int64 // of the windows of one event
	}{
		"hours":           {time.Hour, 8, 3, 1, 8, 10, 2},
		"minutes":         {time.Minute, 8, 3, 1, 8, 10, 2},
		"quarters":        {15 * time.Minute, 12, 2, 1, 12, 16, 2},
		"one part":        {time.Hour, 4, 1, 1, 4, 6, 2},
		"hours of two":    {time.Hour, 8, 3, 2, 8, 10, 4},
		"every window":    {12 * time.Hour, 2, 1, 1, 2, 3, 2},
		"one of each day": {24 * time.Hour, 2, 1, 1, 1, 3, 2},
	} {
		rule, err := CapSpec{Count: c.count, Per: 24 * time.Hour,
			Parts: c.parts}.Rule(Schedule{Size: time.Duration(c.overlap) * c.every, Every: c.every})
		if err != nil {
			t.Fatal(err)
		}
		day := int(24 * time.Hour / c.every)
		most := func(from, moments int) (most int64) {
			all := make([]bool, from+moments+3*int(rule.Block)+c.overlap)
			for i := from; i < len(all); i++ {
				all[i] = true
			}
			for shift := range uint64(rule.Block) {
				most = max(most, changed(rule, UserHash{1, shift}, c.overlap, all, from, from+moments))
			}
			return most
		}
		// A stretch of a day that begins within a moment reaches into one more.
		if n, said := most(c.overlap, day+1), rule.ChangedBy(int64(day+c.overlap)); n != c.wants || said != c.wants ||
			rule.AtMost() != c.counts {
			t.Errorf("%s: %d windows change, %d is said, and a user counts in %d; want %d, and %d: %+v", name, n, said,
				rule.AtMost(), c.wants, c.counts, rule)
		}
		if n, said := most(c.overlap, 1), rule.ChangedBy(int64(c.overlap)); n > said || said != c.one {
			t.Errorf("%s: one event changes %d windows, %d is said; want %d", name, n, said, c.one)
		}
	}
}
