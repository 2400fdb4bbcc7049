package replay

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"
)

// Times says what was noticed about the times of a file's events.
type Times struct {
	// Events is how many of them have a time.
	Events int
	// First and Last are the earliest and the latest time, as they stand in the file.
	First, Last time.Time
	// Untimed are events without a time that can be read. They are left out, as a stream would reject them.
	Untimed Noted
	// Zoneless are times that name no zone. They are taken as those of [Options.Zone].
	Zoneless Noted
	// Either are dates that can be read in two ways, such as 03/04/2026, in a file of which no date says which way is
	// meant. They are taken with the day first.
	Either Noted
	// Early are times before 1990. Few records are that old, so another column or unit is likely.
	Early Noted
	// Backwards are events that are earlier than the one before them in the file.
	Backwards Noted
}

// Noted says how many events there are of a kind, and on which line the first of them is.
type Noted struct{ Count, First int }

func (n *Noted) add(line int) {
	n.Count, n.First = n.Count+1, cmp.Or(n.First, line)
}

// early ends the time before which a time is [Times.Early].
var early = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)

// mostUntimed is how many events may be without a time before the first one with a time. After that the column or its
// format is taken to be wrong, also if the file goes on for ever.
const mostUntimed = 1000

// note notes a time. before is that of the event before.
func (t *Times) note(at, before time.Time, zoned bool, line int) {
	if t.Events++; t.Events == 1 {
		t.First, t.Last = at, at
	} else if at.Before(before) {
		t.Backwards.add(line)
	}
	if at.Before(t.First) {
		t.First = at
	} else if at.After(t.Last) {
		t.Last = at
	}
	if !zoned {
		t.Zoneless.add(line)
	}
	if at.Before(early) {
		t.Early.add(line)
	}
}

// Scan reads a file to its end and returns what it says of times. The records of the file are gone then: open it again.
// read is called with the number of events so far. The errors are those of [File.Records].
func (f *File) Scan(ctx context.Context, read func(events int)) (Times, error) {
	for {
		if err := ctx.Err(); err != nil {
			return f.times, err
		}
		read(f.times.Events)
		if _, _, err := f.next(); errors.Is(err, io.EOF) {
			return f.times, nil
		} else if err != nil {
			return f.times, err
		}
	}
}
