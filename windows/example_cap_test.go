package windows_test

import (
	"fmt"
	"time"

	"github.com/louver/louver/windows"
)

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
