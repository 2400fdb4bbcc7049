package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/louver/louver/mechanisms"
)

// Exit codes.
const (
	exitDone        = 0
	exitInvalid     = 1 // the input or configuration is wrong
	exitUsage       = 2 // the command line is wrong
	exitBroker      = 3 // Kafka can't be reached or refuses
	exitPrivacyStop = 4 // the charges are unknown, so nothing more is released
)

// exitMeanings says what each exit code means.
var exitMeanings = [...]string{
	exitDone:        "done",
	exitInvalid:     "the input or configuration is wrong",
	exitUsage:       "the command line is wrong",
	exitBroker:      "Kafka can't be reached or refuses",
	exitPrivacyStop: "privacy stop (what has been charged is not known)",
}

// exitText lists the exit codes in one sentence.
func exitText() string {
	text := "Exit codes:"
	for code, meaning := range exitMeanings {
		text += fmt.Sprintf(" %d %s,", code, meaning)
	}
	return strings.TrimSuffix(text, ",") + "."
}

// exitError is an error with the exit code that it ends the program with. Errors without one end it with exitInvalid.
type exitError struct {
	code int
	err  error // nil if everything has been printed
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageError marks a wrong command line.
func usageError(err error) error {
	if e, alone := err.(*mechanisms.Error); alone { //nolint:errorlint // one that is wrapped says more than the flag
		err = fmt.Errorf("--%s %s; want %s", flagOf(e.Parameter), e.Value, strings.NewReplacer("[", "", "]", "").Replace(e.Want))
	}
	return &exitError{exitUsage, err}
}

// brokerError means that Kafka can't be reached or refuses.
func brokerError(err error) error { return &exitError{exitBroker, err} }

// privacyStop means that the charges are unknown.
func privacyStop(err error) error { return &exitError{exitPrivacyStop, err} }

// reported means that the command has already printed what is wrong with the input.
func reported() error { return &exitError{code: exitInvalid} }

// report writes an error, or several with one line each, and returns the exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	code := exitInvalid
	var exit *exitError
	if errors.As(err, &exit) {
		code = exit.code
		if exit.err == nil {
			return code
		}
	}
	for line := range strings.Lines(err.Error()) {
		_, _ = fmt.Fprintf(w, "louver: %s\n", strings.TrimSpace(line))
	}
	return code
}
