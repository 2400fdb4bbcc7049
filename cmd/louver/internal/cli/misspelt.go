package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// prefix begins the names of our variables.
const prefix = "LOUVER_"

// injected are the names that Kubernetes gives to variables of every container for a Service called louver or louver-…,
// such as LOUVER_SERVICE_HOST, LOUVER_PORT and LOUVER_HTTP_PORT_8080_TCP_ADDR:
// https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
var injected = regexp.MustCompile(
	`_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// refuseMisspelt refuses variables that look like misspelt settings. Other names that begin with LOUVER_ are ignored:
// they may belong to another program.
func refuseMisspelt(environment, settings []string) error {
	var errs []error
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, prefix) || slices.Contains(settings, name) || injected.MatchString(name) {
			continue
		}
		if others := meant(name, settings); others != nil {
			errs = append(errs, fmt.Errorf("%s is not a setting; did you mean %s?", name, strings.Join(others, " or ")))
		}
	}
	return errors.Join(errs...)
}

// meant returns the settings that a name probably stands for: those with one word more or less at an end, otherwise
// those that differ in a few letters.
func meant(name string, settings []string) (others []string) {
	name = strings.TrimPrefix(name, prefix)
	for _, s := range settings {
		if other := strings.TrimPrefix(s, prefix); longer(name, other) || longer(other, name) {
			others = append(others, s)
		}
	}
	if others != nil {
		return others
	}
	least := max(1, len(name)/4)
	for _, s := range settings {
		switch d := levenshtein.ComputeDistance(name, strings.TrimPrefix(s, prefix)); {
		case d < least:
			least, others = d, []string{s}
		case d == least:
			others = append(others, s)
		}
	}
	return others
}

// longer reports whether a name is another name with one more word at its start or end.
func longer(name, other string) bool {
	front, ok := strings.CutSuffix(name, "_"+other)
	if !ok {
		front, ok = strings.CutPrefix(name, other+"_")
	}
	return ok && !strings.Contains(front, "_")
}
