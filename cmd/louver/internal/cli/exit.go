package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/louver/louver/mechanisms"
)

// Exit codes.
const (
	ExitDone        = 0
	ExitInvalid     = 1 // the input or configuration is wrong
	ExitUsage       = 2 // the command line is wrong
	ExitBroker      = 3 // Kafka can't be reached or refuses
	ExitPrivacyStop = 4 // the charges are unknown, so nothing more is released
)

// ExitMeanings says what each exit code means.
var ExitMeanings = [...]string{
	ExitDone:        "done",
	ExitInvalid:     "the input or configuration is wrong",
	ExitUsage:       "the command line is wrong",
	ExitBroker:      "Kafka can't be reached or refuses",
	ExitPrivacyStop: "privacy stop (what has been charged is not known)",
}

// exitText lists the exit codes in one sentence.
func exitText() string {
	text := "Exit codes:"
	for code, meaning := range ExitMeanings {
		text += fmt.Sprintf(" %d %s,", code, meaning)
	}
	return strings.TrimSuffix(text, ",") + "."
}

// ExitError is an error with the exit code that it ends the program with. Errors without one end it with [ExitInvalid].
type ExitError struct {
	Code int
	Err  error // nil if everything has been printed
}

// Error implements [error].
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the error without its exit code.
func (e *ExitError) Unwrap() error { return e.Err }

// UsageError marks a wrong command line.
func UsageError(err error) error {
	if e, alone := err.(*mechanisms.Error); alone { //nolint:errorlint // one that is wrapped says more than the flag
		err = fmt.Errorf("--%s %s; want %s", FlagOf(e.Parameter), e.Value,
			strings.NewReplacer("[", "", "]", "").Replace(e.Want))
	}
	return &ExitError{ExitUsage, err}
}

// BrokerError means that Kafka can't be reached or refuses.
func BrokerError(err error) error { return &ExitError{ExitBroker, err} }

// PrivacyStop means that the charges are unknown.
func PrivacyStop(err error) error { return &ExitError{ExitPrivacyStop, err} }

// Reported means that the command has already printed what is wrong with the input.
func Reported() error { return &ExitError{Code: ExitInvalid} }

// report writes an error, or several with one line each, and returns the exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return ExitDone
	}
	code := ExitInvalid
	var exit *ExitError
	if errors.As(err, &exit) {
		code = exit.Code
		if exit.Err == nil {
			return code
		}
	}
	for line := range strings.Lines(err.Error()) {
		say(w, "louver: "+strings.TrimSpace(line))
	}
	return code
}
