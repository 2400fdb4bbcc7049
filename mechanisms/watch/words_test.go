package watch

import "testing"

func TestConditionInWords(t *testing.T) {
	for text, want := range map[string]string{
		"above: 2000, more_than: 0.01": "more than 1 % of the users have a value above 2000 ms",
		"below: 0.5, less_than: 0.9":   "less than 90 % of the users have a value below 0.5 ms",
		"above: 7, users: 12":          "more than 12 users have a value above 7 ms",
		"users_below: 500":             "there are fewer than 500 users",
	} {
		c, err := ParseCondition(text)
		if got := c.Words("ms"); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
}
