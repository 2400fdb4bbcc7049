package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/watch"
)

// NewWatch makes a watch for the condition of --watch.
func NewWatch(text string, q watch.Query) (*watch.Watch, error) {
	condition, err := watch.ParseCondition(text)
	if err != nil {
		return nil, inCondition(err)
	}
	q.Conditions = []watch.Condition{condition}
	w, err := watch.New(q)
	return w, inCondition(err)
}

// inCondition says of an error about a part of the condition that it is about --watch.
func inCondition(err error) error {
	var wrong *mechanisms.Error
	switch {
	case !errors.As(err, &wrong), wrong.Parameter == "epsilon", wrong.Parameter == "false_alarms":
		return err
	case wrong.Parameter == "grid":
		return errors.New("--watch without --lower, --upper and --step; want the public bounds of the values")
	case wrong.Parameter == "condition":
		return fmt.Errorf("--watch %s; want %s", wrong.Value, wrong.Want)
	}
	return fmt.Errorf("--watch: %s %s; want %s", wrong.Parameter, wrong.Value, wrong.Want)
}

// Direction says whether a condition asks for too many users or too few.
func Direction(condition string) string {
	if strings.Contains(condition, "less_than") || strings.Contains(condition, "users_below") {
		return "too few"
	}
	return "too many"
}
