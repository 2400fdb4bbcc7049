package cli

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// longestDays is how many days a duration can have.
const longestDays = 100 * 366

// durations reads durations as streams files have them: also 7d.
func durations(c *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := c.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	if days, found := strings.CutSuffix(text, "d"); found {
		var n int
		if n, err = strconv.Atoi(days); n > longestDays {
			return fmt.Errorf("%s is too long; want at most %dd", text, longestDays)
		}
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil {
		return fmt.Errorf("%q is not a duration; want one such as 90s, 15m, 1h30m or 7d", text)
	}
	if d < 0 {
		return fmt.Errorf("%s is negative; want a duration of 0s or more, such as 90s, 15m, 1h30m or 7d",
			text)
	}
	target.SetInt(int64(d))
	return nil
}
