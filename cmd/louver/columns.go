package main

// fileColumns name the columns of a file of events.
type fileColumns struct {
	User  string `placeholder:"COLUMN" help:"Column of the user."`
	Value string `placeholder:"COLUMN" help:"Column of the value."`
	Time  string `placeholder:"COLUMN" help:"Column of the time."`
	Group string `placeholder:"COLUMN" help:"Column of the group; absent: no groups."`
}
