package replay

import "time"

// Options says how a file is replayed. The zero value yields the file as it is.
type Options struct {
	// Delimiter separates the columns of CSV. Defaults to a comma.
	Delimiter rune
	// Zone is that of times that name none. Defaults to UTC.
	Zone *time.Location
	// From moves event times so that the file's first event is at From. Zero leaves them unchanged. With a Speed, event
	// times are also divided by it, so that events keep to the clock: a day at speed 60 takes 24 minutes of event time
	// too. Without a Speed, the last events may be so far ahead of the clock that streams reject them.
	From time.Time
	// Speed says when records are due: 1 is as fast as the events happened, 60 plays an hour in a minute, 0 is as fast
	// as possible.
	Speed float64
	// First is the time in the file of the event that From and Speed begin with. Defaults to that of the first line. In
	// a file whose events are not in order it is an earlier one: see [File.Scan].
	First time.Time
	// Sort yields the events in the order of their times. For that the whole file is read into memory first.
	Sort bool
	// Keyed gives each record its user as key, so that all records of a user go to one partition; otherwise records
	// have no key and go to any partition.
	Keyed bool
}
