package ledger

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// storedList is what is known of a list, in a checkpoint. Names are in a table, and stand for their numbers in it
// elsewhere. Times are in Unix seconds.
type storedList struct {
	Stream string   `json:"stream"`
	Source string   `json:"source"`
	End    int64    `json:"end"`
	Names  []string `json:"names"`
	Listed []int    `json:"listed,omitempty"`
	Rows   []struct {
		Row string `json:"row"`
		// Found has the number of a name, when the row last found it, and the count. Last has the number of each name
		// that the row left on the list, and when that name was last found.
		Found [][3]int64 `json:"found,omitempty"`
		Last  [][2]int64 `json:"last,omitempty"`
	} `json:"rows,omitempty"`
}

// storedShown are the groups of the last window of a stream that follows another one's list.
type storedShown struct {
	Stream string   `json:"stream"`
	Groups []string `json:"groups"`
}

// followers returns the last groups of each stream of a budget that follows another stream's list, by stream.
func (l *Lists) followers(budget string) (all []storedShown) {
	for _, of := range slices.SortedFunc(maps.Keys(l.shown), listName.compare) {
		if of.budget == budget {
			all = append(all, storedShown{of.stream, l.shown[of]})
		}
	}
	return all
}

// stored returns the lists of a budget, by stream.
func (l *Lists) stored(budget string) (all []storedList) {
	for _, of := range slices.SortedFunc(maps.Keys(l.of), listName.compare) {
		if of.budget == budget {
			all = append(all, l.of[of].stored(of.stream))
		}
	}
	return all
}

func (f *found) stored(stream string) storedList {
	s := storedList{Stream: stream, Source: f.source, End: f.end}
	names, rows := map[string]bool{}, map[string]bool{}
	for _, name := range f.listed {
		names[name] = true
	}
	for name, of := range f.names {
		names[name] = true
		for row := range of {
			rows[row] = true
		}
	}
	for row, last := range f.rows {
		rows[row] = true
		for name := range last {
			names[name] = true
		}
	}
	s.Names = slices.Sorted(maps.Keys(names))
	number := map[string]int{}
	for i, name := range s.Names {
		number[name] = i
	}
	for _, name := range f.listed {
		s.Listed = append(s.Listed, number[name])
	}
	for i, row := range slices.Sorted(maps.Keys(rows)) {
		s.Rows = slices.Grow(s.Rows, 1)[:i+1]
		of := &s.Rows[i]
		of.Row = row
		for i, name := range s.Names {
			if x, ok := f.names[name][row]; ok {
				of.Found = append(of.Found, [3]int64{int64(i), x.end, x.value})
			}
			if at, ok := f.rows[row][name]; ok {
				of.Last = append(of.Last, [2]int64{int64(i), at})
			}
		}
	}
	return s
}

// restore takes the lists of a budget from a checkpoint.
func (l *Lists) restore(budget string, all []storedList, followers []storedShown) error {
	for _, s := range followers {
		of := listName{budget, s.Stream}
		if l.shown[of] != nil || len(s.Groups) == 0 {
			return fmt.Errorf("stream %q has %d groups of another stream's list, or has them twice", s.Stream,
				len(s.Groups))
		}
		l.shown[of] = s.Groups
	}
	for _, s := range all {
		of := listName{budget, s.Stream}
		if l.of[of] != nil {
			return fmt.Errorf("stream %q has two lists", s.Stream)
		}
		f, err := s.found()
		if err != nil {
			return fmt.Errorf("the list of stream %q: %w", s.Stream, err)
		}
		l.of[of] = f
	}
	return nil
}

func (s storedList) found() (*found, error) {
	f := &found{source: s.Source, end: s.End, names: map[string]map[string]finding{},
		rows: map[string]map[string]int64{}}
	ascends := func(x, y string) int {
		if x < y {
			return -1
		}
		return 1 // also for equal ones
	}
	if s.End <= -farthest || s.End >= farthest || s.End == 0 || !slices.IsSortedFunc(s.Names, ascends) {
		return nil, errors.New("names are out of order, or there was no discovery")
	}
	wrong := errors.New("a number of a name that is not in the table, or a time out of range")
	for _, i := range s.Listed {
		if i < 0 || i >= len(s.Names) {
			return nil, wrong
		}
		f.listed = append(f.listed, s.Names[i])
	}
	for _, of := range s.Rows {
		for _, x := range of.Found {
			if x[0] < 0 || x[0] >= int64(len(s.Names)) || x[1] > s.End || x[1] <= -farthest {
				return nil, wrong
			}
			name := s.Names[x[0]]
			if f.names[name] == nil {
				f.names[name] = map[string]finding{}
			}
			f.names[name][of.Row] = finding{x[1], x[2]}
		}
		for _, x := range of.Last {
			if x[0] < 0 || x[0] >= int64(len(s.Names)) || x[1] > s.End || x[1] <= -farthest {
				return nil, wrong
			}
			if f.rows[of.Row] == nil {
				f.rows[of.Row] = map[string]int64{}
			}
			f.rows[of.Row][s.Names[x[0]]] = x[1]
		}
	}
	return f, nil
}
