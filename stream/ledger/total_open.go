package ledger

// OpenTotal is an instance of a total that has not ended. Times are Unix nanoseconds.
type OpenTotal struct {
	Number int64
	// Since and Until bound its period. From and Looked are the ends of the first and the last window that it looked
	// at.
	Since, Until, From, Looked int64
	// Leaf is how many leaves are finished.
	Leaf int64
}

// OpenTotal returns the instance of a total that has not ended, or false if there is none.
func (b *Books) OpenTotal(budget, stream, name, definition string) (OpenTotal, bool) {
	of := stepName{budget, stream, name}
	number := b.lasting.last(of, definition, nil)
	a := b.lasting.get(of, number)
	if a == nil || a.Over || a.Total == nil {
		return OpenTotal{}, false
	}
	return OpenTotal{number, a.Total.Since, a.Until, a.From, a.Looked, a.Total.Leaf}, true
}
