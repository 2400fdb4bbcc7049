package smooth

import "fmt"

// Error names a parameter that is wrong.
type Error struct {
	// Parameter is the name in streams files, for example "epsilon".
	Parameter string
	// Value is the given value, as text; Want describes valid values.
	Value, Want string
}

// Error implements error: "epsilon 0; want more than 0".
func (e *Error) Error() string { return fmt.Sprintf("%s %s; want %s", e.Parameter, e.Value, e.Want) }

// wrong makes an [Error].
func wrong(parameter string, value any, want string, args ...any) error {
	return &Error{parameter, fmt.Sprint(value), fmt.Sprintf(want, args...)}
}
