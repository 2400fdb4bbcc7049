package ingest

import (
	"sync"
	"time"

	"github.com/louver/louver/stream/codec"
)

// One person whose keys are JSON is several users if producers write the same keys in different ways. Nobody can tell
// which users are one person, since that needs their values. But ways of writing the same names are seen easily, and a
// topic whose keys are written in two ways has such persons, unless each producer has persons of its own.

const (
	// remembered is for how long a way to write keys counts as used after it was last seen. A producer that has changed
	// its serializer for good is told of for so long.
	remembered = time.Hour
	// relearned is how soon a partition asks again what it knows of a way.
	relearned = 10 * time.Second
	// mostShapes bounds the memory: keys of a topic have one shape or a few.
	mostShapes = 64
)

// spellings are the ways in which the keys of topics are written. All partitions of a process share them. They are safe
// for concurrent use.
type spellings struct {
	mu   sync.Mutex
	used map[shape]used
}

type shape struct {
	topic string
	shape uint64
}

// used is the way in which keys of a shape are written that came first.
type used struct {
	way  uint64
	seen time.Time
}

// other reports whether keys of a topic with the same shape are written in another way too, which came first.
func (s *spellings) other(topic string, key codec.Spelled) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, now := shape{topic, key.Shape}, time.Now()
	first, known := s.used[of]
	if known && first.way != key.Way && now.Sub(first.seen) < remembered {
		return true
	}
	if s.used == nil || !known && len(s.used) >= mostShapes {
		s.used = map[shape]used{}
	}
	s.used[of] = used{key.Way, now}
	return false
}

// speller looks at keys of one partition: the first few of every ten seconds, and then one in so many.
type speller struct {
	topic string
	all   *spellings
	known map[codec.Spelled]bool // whether another way came first, since began
	began time.Time
	keys  int // since began
}

const everyFirst, everyLater = 2000, 16

// look reports whether a key is JSON that is written in another way than others of its shape before it. looked is false
// if it was not looked at.
func (s *speller) look(key []byte) (other, looked bool) {
	if len(key) > 5 && key[0] == 0 { // the number of a schema
		key = key[5:]
	}
	if len(key) < 2 || key[0] > ' ' && key[0] != '{' && key[0] != '[' {
		return false, false
	}
	if s.keys++; s.keys > everyFirst && s.keys%everyLater > 0 {
		return false, false
	}
	if len(s.known) >= mostShapes || time.Since(s.began) >= relearned { // at the beginning too
		s.known, s.began, s.keys = map[codec.Spelled]bool{}, time.Now(), 0
	}
	spelled, ok := codec.SpellingOf(key)
	if !ok {
		return false, false
	}
	other, known := s.known[spelled]
	if !known {
		other = s.all.other(s.topic, spelled)
		s.known[spelled] = other
	}
	return other, true
}
