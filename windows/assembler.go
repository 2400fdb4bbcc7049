package windows

import "fmt"

// Assembler makes chunks into partials. For each (stream, window, partition) the attempt that is complete first counts,
// and all others are ignored: readers that begin at the same place of one log agree, whoever wrote how often.
// The zero value is ready. An Assembler is not safe for concurrent use.
type Assembler struct {
	open      map[place]*assembly
	forgotten map[string]int64 // by stream: windows with End ≤ this are ignored
}

// place is what one partial is wanted of.
type place struct {
	stream    string
	window    Window
	partition int
}

// assembly is the state of a place.
type assembly struct {
	done     bool // an attempt is complete
	attempts map[[16]byte]*attempt
}

// attempt is what has arrived of a partial.
type attempt struct {
	first chunk // whichever arrived first; its part of the payload is in parts
	parts map[uint32][]byte
	size  int
}

// Add takes a chunk and returns the partial if it completes the first attempt of its place, and nil otherwise: if
// chunks are missing, if another attempt was first, or if the window is forgotten. It does not keep data. The error
// says that the chunk is corrupt or contradicts another of its attempt; such a chunk changes nothing.
func (a *Assembler) Add(data []byte) (*Partial, error) {
	c, err := decodeChunk(data)
	if err != nil {
		return nil, err
	}
	if end, ok := a.forgotten[c.Stream]; ok && c.Window.End <= end {
		return nil, nil
	}
	at := place{c.Stream, c.Window, c.Partition}
	s := a.open[at]
	if s == nil {
		s = &assembly{attempts: make(map[[16]byte]*attempt)}
		if a.open == nil {
			a.open = make(map[place]*assembly)
		}
		a.open[at] = s
	}
	if s.done {
		return nil, nil
	}
	t := s.attempts[c.Attempt]
	if t == nil {
		t = &attempt{first: c, parts: make(map[uint32][]byte)}
		t.first.Payload = nil
		s.attempts[c.Attempt] = t
	}
	if err := t.add(c); err != nil {
		return nil, fmt.Errorf("stream %s, window ending %s, partition %d: %w", c.Stream, format(c.Window.End), c.Partition, err)
	}
	if len(t.parts) < int(t.first.of) {
		return nil, nil
	}
	s.done, s.attempts = true, nil
	return t.partial(), nil
}

// Forget frees what is known of the stream's windows that end at or before end, in Unix nanoseconds, and makes Add
// ignore them from now on.
func (a *Assembler) Forget(stream string, end int64) {
	if old, ok := a.forgotten[stream]; ok && old >= end {
		return
	}
	if a.forgotten == nil {
		a.forgotten = make(map[string]int64)
	}
	a.forgotten[stream] = end
	for at := range a.open {
		if at.stream == stream && at.window.End <= end {
			delete(a.open, at)
		}
	}
}

func (t *attempt) add(c chunk) error {
	if f := t.first; c.of != f.of || c.Cut != f.Cut || c.Partitions != f.Partitions || c.ValuesOnly != f.ValuesOnly {
		return fmt.Errorf("chunk %d of %d, cut %d, %d partitions, belongs to an attempt of %d chunks, cut %d, %d partitions",
			c.index, c.of, c.Cut, c.Partitions, f.of, f.Cut, f.Partitions)
	}
	if _, known := t.parts[c.index]; !known { // else the log has it twice
		t.parts[c.index] = append([]byte(nil), c.Payload...)
		t.size += len(c.Payload)
	}
	return nil
}

func (t *attempt) partial() *Partial {
	p := t.first.Partial
	p.Payload = make([]byte, 0, t.size)
	for i := range t.first.of {
		p.Payload = append(p.Payload, t.parts[i]...)
	}
	return &p
}
