package period

import "time"

// Stretch is the newest time of a stream, such as the last hour: so many windows up to the newest one. Windows are
// numbered since 1970, by their starts. What is added up over a stretch is kept in blocks of one or more windows, and
// the oldest block leaves as a whole. So a stretch takes a bounded number of blocks, however short the windows are. It
// is less than one block shorter than its length says, and never longer.
type Stretch struct {
	every   time.Duration
	windows int64
}

// mostBlocks is how many blocks a stretch has at most. So a day of minutes is 23:56 to 24:00 hours long.
const mostBlocks = 288

// NewStretch returns the stretch of a length, which is a multiple of every, the step from one window to the next.
func NewStretch(length, every time.Duration) Stretch { return Stretch{every, int64(length / every)} }

// block is how many windows a block has.
func (s Stretch) block() int64 { return max(1, (s.windows+mostBlocks-1)/mostBlocks) }

// Blocks is how many blocks a stretch has at most.
func (s Stretch) Blocks() int64 { return (s.windows + s.block() - 1) / s.block() }

// Window returns the number of the window that starts at a moment.
func (s Stretch) Window(start time.Time) int64 { return floor(start.UnixNano(), int64(s.every)) }

// Block returns the number of the block that holds a window.
func (s Stretch) Block(window int64) int64 { return floor(window, s.block()) }

// First returns the number of the oldest block whose windows are all in the stretch that ends with a window.
func (s Stretch) First(newest int64) (block int64) {
	return -floor(-(newest - s.windows + 1), s.block())
}

// Since returns the start of the stretch that ends with a window, and how many windows it has.
func (s Stretch) Since(newest int64) (start time.Time, windows int64) {
	first := s.First(newest) * s.block()
	return time.Unix(0, first*int64(s.every)).UTC(), newest - first + 1
}

// floor returns ⌊x/m⌋ for a positive m.
func floor(x, m int64) int64 {
	q := x / m
	if x%m < 0 {
		q--
	}
	return q
}
