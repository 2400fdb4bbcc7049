package release

import (
	"context"
	"maps"
	"slices"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/windows"
)

// merge turns parts of a window into one sample for each of some groups. lost says that a part does not fit the
// stream, or is gone. If the window's users do not fit into MergeBytes, merge makes several passes over the parts.
// join, if it is not nil, has trackers ask about the users.
func (ps *parts) merge(ctx context.Context, p *program, w windows.Window, held []*windows.Held, groups []string,
	join func(m *windows.Merger)) (merged *windows.Merger, lost bool, err error) {
	spec := windows.BagSpec{Groups: groups, MaxGroups: p.stream.MaxGroups, Policy: p.stream.Contribution,
		Window: w, Hasher: ps.Hasher, Open: p.stream.Found != nil, Other: p.rules.Other != "" && len(groups) > 0,
		Adding: p.stream.Adding()}
	if join == nil && ps.last.of(spec, held) {
		return ps.last.merged, false, nil
	}
	ps.last = mergedParts{}
	merged = windows.NewMerger(spec, ps.MergeBytes)
	if join != nil {
		join(merged)
	}
	readings, lost, err := ps.each(ctx, p, w, held, merged)
	if err != nil {
		return nil, false, err
	}
	ps.Metrics.MergePasses.WithLabelValues(p.stream.Name).Add(float64(readings))
	if !lost && join == nil && len(ps.programs) > 1 {
		ps.last = mergedParts{spec, written(held), merged}
	}
	return merged, lost, nil
}

// passes takes the payloads of all parts, once in each pass: a [windows.Merger], or the notes of a discovery.
type passes interface {
	Pass() bool
	Add(data []byte, slice windows.Window) error
}

// choosy says which parts it wants in a pass.
type choosy interface{ wants(h *windows.Held) bool }

// partsAtOnce is how many parts are read again before a discovery is asked whether it needs more.
const partsAtOnce = 64

// each adds the parts of a window or a period, in as many passes as are wanted. lost says that a part does not fit the
// stream, or is gone. Parts whose payload is not held are read again, one after another. If they are a window's, each
// reads parts of the next windows with them, and holds them all if there is room.
func (ps *parts) each(ctx context.Context, p *program, w windows.Window, held []*windows.Held,
	to passes) (readings int, lost bool, err error) {
	bad := map[*windows.Held]bool{}
	leave := func(h *windows.Held, why string, err error) {
		// The window loses this part. But it is still released: the schedule is public.
		ps.Log.Error(why+" and is left out", zap.String("stream", p.stream.Name), zap.Int("partition", ps.at.Number),
			zap.Int64("offset", h.Offsets[0]), zap.Error(err))
		bad[h] = true
	}
	// A discovery has noted most parts already. Mostly it needs only a few to know the names it has found.
	discovery, counts := to.(choosy)
	wants := func(h *windows.Held) bool { return !bad[h] && (!counts || discovery.wants(h)) }
	for ; to.Pass(); readings++ {
		add := func(h *windows.Held, payload []byte) {
			if err := to.Add(payload, h.Slice); err != nil {
				leave(h, "a part does not fit the stream", err)
			} else if !counts {
				ps.note(p, h, payload)
			}
		}
		var absent []*windows.Held
		for _, h := range held {
			switch {
			case !wants(h):
			case h.Payload == nil:
				absent = append(absent, h)
			default:
				add(h, h.Payload)
			}
		}
		own := func(h *windows.Held) bool { return h.Slice.Start < w.End }
		for len(absent) > 0 {
			some := absent
			if counts {
				if absent = slices.DeleteFunc(absent, func(h *windows.Held) bool { return !wants(h) }); len(
					absent) == 0 {
					break
				}
				some = absent[:min(len(absent), partsAtOnce)]
			}
			absent = absent[len(some):]
			if !counts {
				some = append(some, ps.gather.Ahead(p.stream.Name, p.epoch, w, windows.Size(some))...)
			}
			missing, err := ps.again(ctx, some, func(h *windows.Held, payload []byte, err error) {
				switch {
				case err == nil:
					if !counts {
						ps.gather.Hold(h, payload)
					}
					if own(h) {
						add(h, payload)
					}
				case own(h):
					leave(h, "a part is unreadable", err)
				}
			})
			if err != nil {
				return readings, false, err
			}
			lost = lost || slices.ContainsFunc(missing, own)
		}
	}
	return readings, lost || len(bad) > 0, nil
}

// load reads the messages of parts from the log and passes each part's payload to take, or the error that makes it
// unreadable. It returns the parts that the log no longer has.
func (ps *parts) load(ctx context.Context, parts []*windows.Held,
	take func(*windows.Held, []byte, error)) (missing []*windows.Held, err error) {
	type place struct {
		part  *windows.Held
		index int
	}
	wanted := map[int64]place{}
	messages := map[*windows.Held][][]byte{} // messages so far, of parts not yet passed to take
	for _, h := range parts {
		messages[h] = make([][]byte, len(h.Offsets))
		for i, at := range h.Offsets {
			wanted[at] = place{h, i}
		}
	}
	offsets := slices.Sorted(maps.Keys(wanted))
	reader := ps.Fetch.Partition(ps.at.Topic, ps.at.Number, 0)
	for len(offsets) > 0 {
		reader.MoveTo(offsets[0])
		page, err := reader.Poll(ctx)
		if err == nil {
			err = page.Each(func(r *fetch.Record) error {
				at, ok := wanted[r.Offset]
				if !ok {
					return nil
				}
				got := messages[at.part]
				got[at.index] = slices.Clone(r.Value)
				if slices.ContainsFunc(got, func(m []byte) bool { return m == nil }) {
					return nil
				}
				delete(messages, at.part)
				payload, err := at.part.Assemble(got)
				take(at.part, payload, err)
				return nil
			})
		}
		// A damaged part stays in messages, so it counts as missing.
		if _, damaged := reader.Skip(err); err != nil && !damaged {
			return nil, err
		}
		for len(offsets) > 0 && offsets[0] < reader.Position() {
			offsets = offsets[1:]
		}
	}
	return slices.Collect(maps.Keys(messages)), nil
}
