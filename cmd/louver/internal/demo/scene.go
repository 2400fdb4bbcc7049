package demo

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/clock"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/web"
)

// scene is the subject of a demo: where its events come from, and what may be said about them.
type scene interface {
	// streams returns the streams of the demo. Their windows have a fixed start.
	streams(ctx context.Context, say func(status string)) ([]*config.Stream, error)
	// begin sends the events that must be in the topics before the stages start, because these close every due window
	// at once.
	begin(ctx context.Context, conn *kafkaconn.Conn, say func(status string)) error
	// feed sends the other events. It returns when ctx ends or there are no more.
	feed(ctx context.Context, say func(status string)) error
	// time returns the clock by which windows close; nil: the machine's.
	time() clock.Clock
	// published is told of each figure that is out. It is safe for concurrent use.
	published(r outputs.Record)
	// needed returns the time before which no event of an endless input is needed any more.
	needed() time.Time
	// tell adds what the scene knows to a window's figures.
	tell(p *picture)
	// demo returns what the API tells beyond the figures, or nil for nothing.
	demo() web.Demo
	// text returns what the screen says besides the figures.
	text() sceneText
	// next returns what the viewer can do afterwards, in lines. It is "" if nothing was read.
	next() string
}

// display shows a demo's figures. It is safe for concurrent use.
type display interface {
	// say shows what happens before the first figures.
	say(status string)
	// show takes the figures of the next window.
	show(p picture)
	// kafka tells the address of the broker.
	kafka(address string)
	// listening tells the addresses at which the service answers.
	listening(addresses []string)
	// over says that there will be no more windows.
	over()
	// run returns when ctx ends or the viewer has seen enough.
	run(ctx context.Context) error
}

// inputPartitions is more than one, as usual in Kafka.
const inputPartitions = 3

// picture holds all figures of one window, and what else is known about it.
type picture struct {
	stream     *config.Stream
	start, end time.Time
	// records are in the order of the streams file.
	records []outputs.Record
	// watches are the records of watches, and then of figures that are drawn on change.
	watches []outputs.Record
	// beside are the same window's figures of the streams that run beside this one.
	beside []picture
	// lost is the most ε that one person can have lost, in all windows so far.
	lost decimal.Decimal
	// inPeriod is the most ε that one person can have lost in the period of the budget that ends with the window; nil
	// if that is not known.
	inPeriod *decimal.Decimal
	// count is the number of windows so far.
	count int
	// sim knows the simulated events; nil if they are real.
	sim *simulated
}

// loss is what the window's figures cost one user. What is charged once a period comes on top.
func (p picture) loss() cost.Loss { return cost.Of(p.stream.Budget.Limit, p.stream.Price()) }

// simulated holds what is known about a window of simulated events.
type simulated struct {
	figures  map[string]decimal.Decimal // by "group/release"
	incident string                     // the region that is slow in a part of it; "" if none
	robin    bool                       // Robin called
}

// truth returns the figure without noise, suitably rounded. Its point moves by some places: see [shiftOf].
func (s *simulated) truth(r outputs.Record, shift int32) string {
	d, ok := s.figures[r.Group+"/"+r.Release]
	if !ok {
		return ""
	}
	return short(d.Shift(shift))
}

// sceneText holds what the screen says besides the figures.
type sceneText struct {
	title  string
	remark string // below the title
	// news returns a line below the figures; an alarm has a colour.
	news func(p picture, now time.Time) (line string, alarm bool)
	// guess asks whether Robin called.
	guess bool
	// day is how long a day of the scene's own clock takes; 0: its clock is the machine's.
	day time.Duration
	// beside returns lines about what else is published, for a large screen.
	beside func() []string
	// pace is how long a window stays; 0 means until the next is out.
	pace time.Duration
	// windows is how many there will be; 0 means no end.
	windows int
	// layout is how window times are written.
	layout string
}

// now is the time of a scene.
func now(s scene) time.Time {
	if s == nil || s.time() == nil {
		return time.Now()
	}
	at, _ := s.time().Now()
	return at
}

// demoApp names the internal topics of a demo, which live as long as it does.
const demoApp = "demo"
