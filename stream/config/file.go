package config

// File is the content of one or more streams files, checked as a whole. It is safe for concurrent use as long as
// nobody changes it.
type File struct {
	// Streams in the order of files and of lines. Names are unique.
	Streams []*Stream
	// Revision is raised to go back to an earlier definition. Removed names the streams that the files end.
	Revision int
	Removed  []string
	// Budgets are the shared ones, and then those of single streams. Names are unique.
	Budgets []*Budget
}

// StreamsOf returns the streams that a budget pays for.
func (f *File) StreamsOf(b *Budget) []*Stream {
	var streams []*Stream
	for _, s := range f.Streams {
		if s.Budget == b {
			streams = append(streams, s)
		}
	}
	return streams
}

// Stream returns the stream of that name, or nil.
func (f *File) Stream(name string) *Stream {
	for _, s := range f.Streams {
		if s.Name == name {
			return s
		}
	}
	return nil
}
