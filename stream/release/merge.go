package release

import (
	"cmp"
	"context"
	"slices"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/fetch"
	"github.com/louver/louver/windows"
)

// merge puts the parts of a window into one bag a group; lost says that one of them does not fit the stream. Parts whose
// payload is not held are read again, one after another, so that no more than one is in memory.
func (s *session) merge(ctx context.Context, p *program, w windows.Window) (merged *windows.Merger, lost bool, err error) {
	merged = windows.NewMerger(windows.BagSpec{Groups: p.stream.Groups, MaxGroups: p.stream.MaxGroups, Policy: p.stream.Contribution, Window: w, Hasher: s.Hasher})
	add := func(h *windows.Held, payload []byte) {
		if err := merged.Add(payload, h.Slice); err != nil {
			// What the partition sent is lost to this window, but the window is not: the schedule is public.
			s.Log.Error("a part does not fit the stream: it is left out", zap.String("stream", p.stream.Name), zap.Error(err))
			lost = true
		}
	}
	var absent []*windows.Held
	for _, h := range s.gather.Parts(p.stream.Name, p.epoch, w) {
		if h.Payload == nil {
			absent = append(absent, h)
			continue
		}
		add(h, h.Payload)
	}
	missing, err := s.load(ctx, absent, add)
	return merged, lost || missing, err
}

// load reads the messages of parts from the log and gives each part's payload to add. missing says that the log does not
// have all of them any more.
func (s *session) load(ctx context.Context, parts []*windows.Held, add func(*windows.Held, []byte)) (missing bool, err error) {
	type place struct {
		part  *windows.Held
		index int
	}
	wanted := map[int64]place{}
	messages := map[*windows.Held][][]byte{}
	var offsets []int64
	for _, h := range parts {
		for i, at := range h.Offsets {
			wanted[at] = place{h, i}
			offsets = append(offsets, at)
		}
	}
	slices.SortFunc(offsets, cmp.Compare[int64])
	var reader *fetch.Reader
	for len(offsets) > 0 {
		if reader == nil || offsets[0] != reader.Position() {
			reader = s.Fetch.Partition(s.at.Topic, s.at.Number, offsets[0])
		}
		page, err := reader.Poll(ctx)
		if err == nil {
			err = page.Each(func(r *fetch.Record) error {
				at, ok := wanted[r.Offset]
				if !ok {
					return nil
				}
				messages[at.part] = append(messages[at.part], slices.Clone(r.Value))
				got := messages[at.part]
				if len(got) < len(at.part.Offsets) {
					return nil
				}
				delete(messages, at.part)
				payload, err := at.part.Assemble(got)
				if err != nil {
					s.Log.Error("a part is unreadable: it is left out", zap.Int("partition", s.at.Number), zap.Int64("offset", r.Offset), zap.Error(err))
					missing = true
					return nil
				}
				add(at.part, payload)
				return nil
			})
		}
		// What is damaged stays in messages, and so is missing.
		if _, damaged := reader.Skip(err); err != nil && !damaged {
			return missing, err
		}
		for len(offsets) > 0 && offsets[0] < reader.Position() {
			offsets = offsets[1:]
		}
	}
	return missing || len(messages) > 0, nil
}
