package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// schemas asks a schema registry for the schemas that records name, apart from the goroutines that read. A sender who
// makes numbers up, or whose records have no such number at all, costs the registry little: one request at a time, at
// most 20 a second while it has none of the schemas, and few new numbers a minute. Of those that wait, the one that
// most records name is asked for first. It is safe for concurrent use.
type schemas struct {
	registry codec.Registry
	log      *zap.Logger
	tell     func(error) // takes each failure of the registry, and nil when it answers

	mu      sync.Mutex
	all     map[codec.SchemaID]*asked
	denied  [2][]time.Time // when the registry first denied the numbers of the last minute, by [asked.often]
	changed chan struct{}  // closed at the next answer
	wake    chan struct{}  // has a message when somebody wants a number
}

// asked is what the registry said about a number.
type asked struct {
	schema codec.Registered
	known  bool
	told   bool      // that its records cannot be read
	denied time.Time // when it first said that it has no such schema; zero: it has not
	tries  int       // answers, failures included
	wanted int       // how often somebody wanted the schema since the last answer
	named  int       // how many records name it that are kept aside, or were
	next   time.Time // when to ask again
}

// finding says how far the question for a schema has come.
type finding int

const (
	isKnown finding = iota
	// isAsked: the answer is still to come. Nothing can be decided about the record.
	isAsked
	// isDenied: the registry said a moment ago that it has no such schema. It may be behind.
	isDenied
	// isUnknown: it has been saying so for a while, or too many numbers are unknown to ask for this one.
	isUnknown
)

const (
	// mostDenied is how many numbers the registry may deny in a minute. Then no new ones are asked for.
	mostDenied = 10
	// mostDeniedOften is that limit for numbers that mostRecords records name, or more. Numbers that are no schemas
	// differ mostly from record to record, and must not keep a new schema from being found.
	mostDeniedOften, mostRecords = 20, 3
	// denialPause is the least time between a request that found nothing and the next one.
	denialPause = 50 * time.Millisecond
	// behind is how long a registry may plausibly be behind its producers.
	behind = 30 * time.Second
	// firstAgain and lastAgain bound how soon the registry is asked again for a schema that it does not have.
	firstAgain, lastAgain = time.Second, time.Minute
	// mostNumbers bounds the memory for schemas and for numbers that records name.
	mostNumbers = 1000
)

func newSchemas(r codec.Registry, log *zap.Logger, tell func(error)) *schemas {
	return &schemas{registry: r, log: log, tell: tell, all: map[codec.SchemaID]*asked{}, changed: make(chan struct{}),
		wake: make(chan struct{}, 1)}
}

// Known implements [codec.Schemas].
func (s *schemas) Known(id codec.SchemaID) (codec.Registered, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.want(id)
	return a.schema, a.known
}

// named notes that one more record names a schema.
func (s *schemas) named(id codec.SchemaID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.want(id).named++
}

// often tells numbers that several records name from others, as an index of denied.
func (a *asked) often() int {
	if a.named >= mostRecords {
		return 1
	}
	return 0
}

// Unusable implements [codec.Schemas]: it says so once. Several partitions and streams may find it out.
func (s *schemas) Unusable(id codec.SchemaID, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.want(id); !a.told {
		a.told = true
		s.log.Warn(why)
	}
}

// want returns what is known of a number, and sees to it that the registry is asked.
func (s *schemas) want(id codec.SchemaID) *asked {
	a := s.all[id]
	if a == nil {
		s.makeRoom()
		a = &asked{}
		s.all[id] = a
	}
	if a.wanted++; a.wanted == 1 && !a.known {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
	return a
}

// makeRoom forgets numbers if there are too many: first those that nobody has asked for yet.
func (s *schemas) makeRoom() {
	for _, spare := range []func(*asked) bool{
		func(a *asked) bool { return a.tries == 0 && a.often() == 0 },
		func(a *asked) bool { return !a.known },
		func(*asked) bool { return true },
	} {
		if len(s.all) < mostNumbers {
			return
		}
		for id, a := range s.all {
			if spare(a) {
				delete(s.all, id)
			}
		}
	}
}

// find says how far the question for a schema has come.
func (s *schemas) find(id codec.SchemaID) finding {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, now := s.want(id), time.Now()
	switch {
	case a.known:
		return isKnown
	case !a.denied.IsZero() && now.Sub(a.denied) < behind:
		return isDenied
	case !a.denied.IsZero(), a.tries == 0 && s.asksAt(a.often(), now).After(now):
		return isUnknown
	}
	return isAsked
}

// answers returns a channel that is closed at the next answer.
func (s *schemas) answers() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// asksAt returns when a new number may be asked for that few records name, or that several do.
func (s *schemas) asksAt(often int, now time.Time) time.Time {
	denied, most := &s.denied[often], [2]int{mostDenied, mostDeniedOften}[often]
	*denied = slices.DeleteFunc(*denied, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	if len(*denied) < most {
		return now
	}
	return (*denied)[len(*denied)-most].Add(time.Minute)
}

// next returns the number to ask for, or how long there is none unless somebody wants one.
func (s *schemas) next() (id codec.SchemaID, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	fresh := [2]time.Time{s.asksAt(0, now), s.asksAt(1, now)}
	var best *asked
	wait = time.Hour
	for n, a := range s.all {
		if a.known || a.wanted == 0 {
			continue
		}
		at := a.next
		if a.tries == 0 {
			at = fresh[a.often()]
		}
		if at.After(now) {
			wait = min(wait, at.Sub(now))
			continue
		}
		if best == nil || a.denied.IsZero() && !best.denied.IsZero() ||
			a.denied.IsZero() == best.denied.IsZero() && a.wanted > best.wanted {
			id, best = n, a
		}
	}
	if best != nil {
		wait = 0
	}
	return id, wait
}

// run asks until ctx ends.
func (s *schemas) run(ctx context.Context) {
	failing := kafkaconn.NewBackOff()
	for ctx.Err() == nil {
		id, wait := s.next()
		if wait > 0 {
			s.sleep(ctx, wait, s.wake)
			continue
		}
		schema, err := s.registry.Schema(ctx, id)
		if ctx.Err() != nil {
			return
		}
		absent := errors.Is(err, codec.ErrNoSchema)
		if err == nil || absent {
			s.tell(nil)
			failing.Reset()
		} else {
			s.tell(fmt.Errorf("schema %s: %w", id, err))
		}
		s.answered(id, schema, err)
		switch {
		case absent:
			s.sleep(ctx, denialPause, nil)
		case err != nil:
			s.sleep(ctx, failing.NextBackOff(), nil)
		}
	}
}

func (s *schemas) sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
	}
}

// answered notes what the registry answered. A failure takes nothing back that it said before.
func (s *schemas) answered(id codec.SchemaID, schema codec.Registered, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, now := s.all[id], time.Now()
	if a == nil { // forgotten while it was asked for
		a = &asked{}
		s.all[id] = a
	}
	a.tries++
	a.wanted = 0
	switch {
	case err == nil:
		a.schema, a.known = schema, true
	case errors.Is(err, codec.ErrNoSchema):
		if a.denied.IsZero() {
			a.denied = now
			s.denied[a.often()] = append(s.denied[a.often()], now)
		}
		// After half as long again as it has been denied.
		a.next = now.Add(min(max(now.Sub(a.denied)/2, firstAgain), lastAgain))
	default:
		a.wanted = 1 // whoever waits for it does not say so again
		a.next = now
	}
	close(s.changed)
	s.changed = make(chan struct{})
}
