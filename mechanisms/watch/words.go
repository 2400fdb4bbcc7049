package watch

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"
)

// Words writes a valid condition as a clause: "more than 1 % of the users have a value above 2000 ms".
func (c Condition) Words(unit string) string {
	if c.UsersBelow != nil {
		return fmt.Sprintf("there are fewer than %d users", *c.UsersBelow)
	}
	who, side, limit := "", "above", c.Above
	switch {
	case c.MoreThan != nil:
		who = "more than " + percent(*c.MoreThan) + " of the users"
	case c.LessThan != nil:
		who = "less than " + percent(*c.LessThan) + " of the users"
	case c.Users != nil:
		who = fmt.Sprintf("more than %d users", *c.Users)
	}
	if limit == nil {
		side, limit = "below", c.Below
	}
	return strings.TrimSpace(fmt.Sprintf("%s have a value %s %s %s", who, side, limit, unit))
}

func percent(share decimal.Decimal) string { return share.Shift(2).String() + " %" }
