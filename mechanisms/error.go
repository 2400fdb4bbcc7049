package mechanisms

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/smooth"
)

// Error says which parameter of a query or grid is wrong: its name as in streams files, its value, and what is wanted.
type Error = smooth.Error

// wrong makes an [Error].
func wrong(parameter string, value any, want string, args ...any) error {
	return &Error{Parameter: parameter, Value: fmt.Sprint(value), Want: fmt.Sprintf(want, args...)}
}

func quoted(text string) string { return `"` + text + `"` }

// oneOf lists words: "a, b or c".
func oneOf[S ~string](words []S) string {
	var b strings.Builder
	for i, w := range words {
		switch {
		case i > 0 && i == len(words)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(string(w))
	}
	return b.String()
}

// shown prints a decimal that may have an absurd exponent.
func shown(d decimal.Decimal) string {
	if d.Exponent() > 100 || d.Exponent() < -200 {
		return fmt.Sprintf("%se%d", d.Coefficient(), d.Exponent())
	}
	return d.String()
}

// listed writes numbers as a list.
func listed(numbers []decimal.Decimal) string {
	if len(numbers) == 1 {
		return shown(numbers[0])
	}
	var texts []string
	for _, n := range numbers {
		texts = append(texts, shown(n))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
