package form

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/shopspring/decimal"
)

// Numbers as people write them, and what they probably mean by other spellings.

var (
	digits     = regexp.MustCompile(`^[0-9]+$`)
	comma      = regexp.MustCompile(`^([-+]?[0-9]+),([0-9]+)$`)
	thousands  = regexp.MustCompile(`^[-+]?[1-9][0-9]{0,2}([ _'][0-9]{3})+$|^[-+]?[1-9][0-9]{0,2}(,[0-9]{3})+$`)
	percentage = regexp.MustCompile(`^[0-9.]+ ?%$`)
	exponent   = regexp.MustCompile(`^[-+]?[0-9.]+[eE][-+]?[0-9]+$`)
	leading    = regexp.MustCompile(`^([-+]?)0+([0-9].*)$`)
)

// ParseNumber reads a decimal number exactly. It refuses more than 60 digits, because exact arithmetic on them could
// take for ever.
func ParseNumber(text string) (decimal.Decimal, error) {
	d, err := parseNumber(text)
	if err != nil {
		return d, fmt.Errorf("%s %w", show(text), err)
	}
	return d, nil
}

func parseNumber(text string) (decimal.Decimal, error) {
	d, err := decimal.NewFromString(text)
	switch {
	case err != nil && thousands.MatchString(text):
		plain := strings.NewReplacer(",", "", " ", "", "_", "", "'", "").Replace(text)
		if strings.Count(text, ",") == 1 {
			plain += " or " + strings.Replace(text, ",", ".", 1)
		}
		return d, errors.New("is not a number; write " + plain)
	case err != nil && comma.MatchString(text):
		return d, errors.New("is not a number; write " + comma.ReplaceAllString(text, "$1.$2"))
	case err != nil && percentage.MatchString(text):
		if d, err = decimal.NewFromString(strings.TrimRight(text, " %")); err == nil {
			return d, fmt.Errorf("is not a number; write %s", d.Shift(-2))
		}
		return d, errors.New("is not a number")
	case err != nil && !exponent.MatchString(text):
		return d, errors.New("is not a number")
	case leading.MatchString(text):
		return d, errors.New("begins with a 0, which some YAML readers take as octal; write " +
			leading.ReplaceAllString(text, "$1$2"))
	case err != nil || len(text) > 60 || d.Exponent() < -60 || d.Exponent() > 60:
		return d, errors.New("is too long; want a number of at most 60 digits")
	}
	return d, nil
}
