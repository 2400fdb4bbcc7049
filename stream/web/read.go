package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// reader reads the records of a Store as they come. A reader has no queue: it remembers how far it has read, and asks
// the Store for newer records. So a slow client costs no memory. It is not safe for concurrent use.
type reader struct {
	store *Store
	want  selection
	at    position
	// fresh says that the reader wants only new records: in a partition without a position it skips those that were
	// there before.
	fresh bool
	// claimed are the partitions in a client's position that has not been compared with the Store yet.
	claimed map[partition]bool
	// sequence counts the Store's records that the reader has passed. −1 means that all have to be searched.
	sequence int64
	life     int
}

// read makes a reader that continues from a position. If from is nil, it begins with the next record.
func (s *Store) read(want selection, from position) *reader {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := &reader{store: s, want: want, at: from, life: s.life, claimed: map[partition]bool{}, sequence: -1}
	if from == nil {
		r.jump()
		return r
	}
	for at := range from {
		r.claimed[at] = true
	}
	return r
}

// jump skips everything that is there. The caller holds the lock.
func (r *reader) jump() {
	r.at, r.fresh, r.claimed, r.life = position{}, true, map[partition]bool{}, r.store.life
	for _, e := range r.store.series {
		if n := len(e.points); n > 0 && r.want.wants(e) {
			at := e.points[n-1].at
			if log := r.store.logs[at]; log != nil && log.next > 0 {
				r.at.reach(at, max(log.next, log.end)-1)
			}
		}
	}
	r.sequence = r.store.end()
}

// end counts all records that ever came. The caller holds the lock.
func (s *Store) end() int64 { return s.first + int64(len(s.recent)) }

// next returns the new records, in order within each partition, and a channel that is closed when there may be more.
// The caller calls pass for each record when done with it. lost says that records may have been missed. The caller then
// has to look them up, and the reader goes on with the next record.
func (r *reader) next() (found []*point, more <-chan struct{}, lost bool) {
	s := r.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	behind := r.sequence < s.first
	if r.life != s.life || r.broken() || behind && r.sequence >= 0 && r.dropped() {
		r.jump()
		return nil, s.changed, true
	}
	var news []*point
	if behind {
		for _, e := range s.series {
			if r.want.wants(e) {
				news = append(news, e.points...)
			}
		}
		slices.SortFunc(news,
			func(a, b *point) int { return cmp.Or(a.at.compare(b.at), cmp.Compare(a.offset, b.offset)) })
	} else {
		news = s.recent[r.sequence-s.first:]
	}
	for _, f := range news {
		if f.offset > r.last(f.at) && r.want.wants(f.series) {
			found = append(found, f)
		}
	}
	r.sequence = s.end()
	return found, s.changed, false
}

// last returns the offset up to which the reader is done with a partition. The caller holds the lock.
func (r *reader) last(at partition) int64 {
	if last, ok := r.at[at]; ok {
		return last
	}
	if log := r.store.logs[at]; log != nil && r.fresh {
		return log.end - 1
	}
	return -1
}

// pass records that the caller is done with a record.
func (r *reader) pass(f *point) { r.at.reach(f.at, f.offset) }

// broken compares a client's position with what the Store has read. The position does not fit if later records have
// been dropped or were never read, or if it is beyond the end of the partition, as after a topic was recreated.
func (r *reader) broken() bool {
	for at := range r.claimed {
		log, last := r.store.logs[at], r.at[at]
		if log == nil {
			continue // reading may begin later
		}
		delete(r.claimed, at)
		if last < log.gone || last+1 < log.begin || last >= max(log.end, log.next) {
			return true
		}
	}
	return false
}

// dropped reports whether records after the position have been dropped.
func (r *reader) dropped() bool {
	for at, last := range r.at {
		if log := r.store.logs[at]; log != nil && last < log.gone {
			return true
		}
	}
	return false
}

// partition is one partition of an output topic.
type partition struct {
	topic  string
	number int
}

func (p partition) compare(o partition) int {
	return cmp.Or(cmp.Compare(p.topic, o.topic), cmp.Compare(p.number, o.number))
}

// position says how far a client has read: the offset of the last record of each partition. As text it is the id of an
// event, such as orders.private:0=812,2=40;visits.private:0=7. It means the same to every server that reads these
// topics, now and after a restart.
type position map[partition]int64

func (p position) String() string {
	var b strings.Builder
	topic := ""
	for _, at := range slices.SortedFunc(maps.Keys(p), partition.compare) {
		switch {
		case b.Len() == 0:
			b.WriteString(at.topic + ":")
		case at.topic != topic:
			b.WriteString(";" + at.topic + ":")
		default:
			b.WriteByte(',')
		}
		topic = at.topic
		fmt.Fprintf(&b, "%d=%d", at.number, p[at])
	}
	return b.String()
}

// parsePosition parses the text that String writes.
func parsePosition(text string) (position, error) {
	p := position{}
	for of := range strings.SplitSeq(text, ";") {
		topic, partitions, ok := strings.Cut(of, ":")
		if !ok || topic == "" {
			return nil, fmt.Errorf("%q is not the id of an event; want one such as orders.private:0=812", text)
		}
		for each := range strings.SplitSeq(partitions, ",") {
			number, offset, _ := strings.Cut(each, "=")
			n, err := strconv.ParseUint(number, 10, 31)
			o, err2 := strconv.ParseUint(offset, 10, 63)
			if err != nil || err2 != nil {
				return nil, fmt.Errorf("%q is not the id of an event: %q; want a partition and its offset, such as "+
					"orders.private:0=812", text, each)
			}
			p[partition{topic, int(n)}] = int64(o)
		}
	}
	return p, nil
}

// reach notes that a record has been read.
func (p position) reach(at partition, offset int64) {
	if old, ok := p[at]; !ok || offset > old {
		p[at] = offset
	}
}

// Reading says whether the output topics can be read.
type Reading struct {
	OK bool `json:"ok"`
	// Since is when they could last be read; nil while they can.
	Since *time.Time `json:"since"`
}

func (r Reading) same(o Reading) bool {
	return r.OK == o.OK && (r.Since == nil || o.Since == nil || r.Since.Equal(*o.Since))
}

func (r Reading) json() []byte {
	text, _ := json.Marshal(r) // of a bool and a time: never fails
	return text
}

// reading holds the lasting failures. It is safe for concurrent use.
type reading struct {
	mu      sync.Mutex
	failing map[string]time.Time
}

// settling is how long a failure lasts before it is reported. A leader that moves is back within moments.
const settling = 3 * time.Second

// now says whether the output topics can be read now.
func (f *reading) now() Reading {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := Reading{OK: true}
	for _, since := range f.failing {
		if time.Since(since) >= settling && (r.OK || since.Before(*r.Since)) {
			r.OK, r.Since = false, new(since.UTC().Truncate(time.Second))
		}
	}
	return r
}

// note notes that something fails, or works. It reports whether a failure has ended.
func (f *reading) note(problem string, fails bool) (ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failing == nil {
		f.failing = map[string]time.Time{}
	}
	_, known := f.failing[problem]
	switch {
	case fails && !known:
		f.failing[problem] = time.Now()
	case !fails && known:
		delete(f.failing, problem)
		return true
	}
	return false
}
