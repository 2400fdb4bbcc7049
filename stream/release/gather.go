package release

import (
	"github.com/louver/louver/windows"
)

// gathering holds the partials of windows that are not released yet.
type gathering struct {
	assembler windows.Assembler
	windows   map[place]*gathered
	released  map[string]int64 // by stream: windows that end at or before are over
}

type place struct {
	stream string
	window windows.Window
}

func newGathering() *gathering {
	return &gathering{windows: map[place]*gathered{}, released: map[string]int64{}}
}

type gathered struct {
	first int64 // the lowest offset that holds a chunk of the window
	parts map[int]*windows.Partial
	of    int // partitions of the input topic
}

// add takes a chunk that was read at an offset of the partials.
func (g *gathering) add(chunk []byte, offset int64) error {
	stream, window, err := windows.ChunkOf(chunk)
	if err != nil {
		return err
	}
	partial, err := g.assembler.Add(chunk)
	if err != nil {
		return err
	}
	if end, ok := g.released[stream]; ok && window.End <= end {
		return nil
	}
	at := place{stream, window}
	w := g.windows[at]
	if w == nil {
		w = &gathered{first: offset, parts: map[int]*windows.Partial{}}
		g.windows[at] = w
	}
	if partial != nil {
		w.parts[partial.Partition] = partial
		w.of = max(w.of, partial.Partitions)
	}
	return nil
}

// complete gives the partials of a window once those of all partitions are there.
func (g *gathering) complete(stream string, window windows.Window) ([]*windows.Partial, bool) {
	w := g.windows[place{stream, window}]
	if w == nil || w.of == 0 || len(w.parts) < w.of {
		return nil, false
	}
	parts := make([]*windows.Partial, w.of)
	for i := range parts {
		if parts[i] = w.parts[i]; parts[i] == nil {
			return nil, false
		}
	}
	return parts, true
}

// forget frees the stream's windows up to end; what still comes of them is ignored.
func (g *gathering) forget(stream string, end int64) {
	g.assembler.Forget(stream, end)
	g.released[stream] = end
	for at := range g.windows {
		if at.stream == stream && at.window.End <= end {
			delete(g.windows, at)
		}
	}
}

// needs is the lowest offset that a window not released yet needs, or the position if there is none.
func (g *gathering) needs(position int64) int64 {
	for _, w := range g.windows {
		position = min(position, w.first)
	}
	return position
}
