package windows_test

import (
	"fmt"
	"time"

	"github.com/louver/louver/windows"
)

func at(clock string) int64 {
	t, err := time.Parse(time.RFC3339, "2026-03-01T"+clock+"Z")
	if err != nil {
		panic(err)
	}
	return t.UnixNano()
}

// Quarter-hour windows that begin every five minutes overlap: each moment is in three of them.
func ExampleSchedule_Containing() {
	s := windows.Schedule{Size: 15 * time.Minute, Every: 5 * time.Minute, Grace: time.Minute, Start: at("00:00:00")}
	for w := range s.Containing(at("12:07:30")) {
		fmt.Println(time.Unix(0, w.Start).UTC().Format("15:04"), "to", time.Unix(0, w.End).UTC().Format("15:04"),
			"closes at", time.Unix(0, s.Due(w)).UTC().Format("15:04"))
	}
	// Output:
	// 11:55 to 12:10 closes at 12:11
	// 12:00 to 12:15 closes at 12:16
	// 12:05 to 12:20 closes at 12:21
}

// However often a user appears, one value counts. Here it is the last by event time, whatever the order of the records.
func ExampleBag() {
	hasher := windows.NewHasher([16]byte{1})
	bag := windows.NewBag(windows.BagSpec{Groups: []string{""}, Policy: windows.Last,
		Window: windows.Window{Start: at("12:00:00"), End: at("12:15:00")}, Hasher: hasher})
	ada, ben := hasher.User([]byte("ada")), hasher.User([]byte("ben"))
	bag.Add(ada, 0, at("12:01:00"), 30)
	bag.Add(ben, 0, at("12:02:00"), 70)
	bag.Add(ada, 0, at("12:09:00"), 40)
	bag.Add(ada, 0, at("12:05:00"), 90) // late, and earlier than the one that counts
	fmt.Println(bag.Sample(0))
	// Output: [{40 1} {70 1}]
}

// Records that one person sent to two partitions meet in the merger and count once.
func ExampleMerger() {
	hasher := windows.NewHasher([16]byte{1})
	spec := windows.BagSpec{Groups: []string{""}, Policy: windows.Max,
		Window: windows.Window{Start: at("12:00:00"), End: at("12:15:00")}, Hasher: hasher}
	ada := hasher.User([]byte("ada"))
	var payloads [][]byte
	for _, value := range []int64{30, 50} {
		bag := windows.NewBag(spec)
		bag.Add(ada, 0, at("12:03:00"), value)
		payloads = append(payloads, bag.Seal())
	}
	merger := windows.NewMerger(spec, 1<<20)
	for merger.Pass() {
		for _, payload := range payloads {
			if err := merger.Add(payload, spec.Window); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	fmt.Println(merger.Sample(0))
	// Output: [{50 1}]
}

// With one-hour windows, nobody counts in more than four of any 24 hours. Ada appears in every hour, Ben in two.
// Whether Ben counts does not depend on Ada.
func ExampleCap() {
	schedule := windows.Schedule{Size: time.Hour, Every: time.Hour}
	rule, err := windows.CapSpec{Count: 4, Per: 24 * time.Hour, Parts: 3}.Rule(schedule)
	if err != nil {
		fmt.Println(err)
		return
	}
	hasher := windows.NewHasher([16]byte{1})
	ada, ben := hasher.User([]byte("ada")), hasher.User([]byte("ben"))
	c := windows.NewCap(rule)
	most, bens := 0, 0
	var recent []bool // in which of the last 24 windows Ada counted
	for hour := range int64(24 * 30) {
		if err := c.Begin(windows.Window{Start: hour * int64(time.Hour),
			End: (hour + 1) * int64(time.Hour)}); err != nil {
			fmt.Println(err)
			return
		}
		recent = append(recent, c.Counts(ada))
		n := 0
		for _, counts := range recent[max(0, len(recent)-24):] {
			if counts {
				n++
			}
		}
		most = max(most, n)
		if (hour == 100 || hour == 500) && c.Counts(ben) {
			bens++
		}
	}
	fmt.Println("Ada counts in at most", most, "windows of any 24 hours, Ben in", bens)
	// Output: Ada counts in at most 4 windows of any 24 hours, Ben in 2
}
