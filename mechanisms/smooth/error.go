package smooth

import "fmt"

// Error says which parameter is wrong.
type Error struct {
	// Parameter is its name as in streams files, such as "epsilon".
	Parameter string
	// Value is the given value, as text, and Want says what is right.
	Value, Want string
}

// Error implements error: "epsilon 0; want more than 0".
func (e *Error) Error() string { return fmt.Sprintf("%s %s; want %s", e.Parameter, e.Value, e.Want) }

// wrong makes an [Error].
func wrong(parameter string, value any, want string, args ...any) error {
	return &Error{parameter, fmt.Sprint(value), fmt.Sprintf(want, args...)}
}
