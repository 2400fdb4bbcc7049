package mechanisms

import (
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/parameter"
)

// Error says which parameter of a query or grid is wrong: its name as in streams files, its value, and what is wanted.
type Error = parameter.Error

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

// listed writes numbers as a list.
func listed(numbers []decimal.Decimal) string {
	if len(numbers) == 1 {
		return parameter.Shown(numbers[0])
	}
	var texts []string
	for _, n := range numbers {
		texts = append(texts, parameter.Shown(n))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
