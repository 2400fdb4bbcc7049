package release

import (
	"slices"

	"github.com/louver/louver/windows"
)

// mergedParts are the last parts that were merged. Streams of one topic that differ only in their releases have the
// same parts. Then their windows have the same sample, which is made once. Each stream still draws with its own noise,
// and is charged separately.
type mergedParts struct {
	spec   windows.BagSpec
	parts  []writtenPart // in any order
	merged *windows.Merger
}

// writtenPart names what a part holds, whichever stream it is for. 16 random bytes name each writing of parts, which
// has one part for each slice.
type writtenPart struct {
	attempt   [16]byte
	partition int
	slice     int64
}

func written(held []*windows.Held) []writtenPart {
	parts := make([]writtenPart, len(held))
	for i, h := range held {
		parts[i] = writtenPart{h.Attempt, h.Partition, h.Slice.Start}
	}
	return parts
}

// of reports whether these are the parts, merged in this way.
func (m *mergedParts) of(spec windows.BagSpec, held []*windows.Held) bool {
	if m.merged == nil || len(held) != len(m.parts) || spec.Window != m.spec.Window || spec.Policy != m.spec.Policy ||
		spec.Adding != m.spec.Adding ||
		spec.MaxGroups != m.spec.MaxGroups || spec.Hasher != m.spec.Hasher || spec.Other != m.spec.Other ||
		spec.Open != m.spec.Open ||
		!slices.Equal(spec.Groups, m.spec.Groups) {
		return false
	}
	have := map[writtenPart]bool{}
	for _, p := range m.parts {
		have[p] = true
	}
	for _, p := range written(held) {
		if !have[p] {
			return false
		}
	}
	return true
}
