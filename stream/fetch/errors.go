package fetch

import "fmt"

// BatchError is a batch that can't be read: its CRC does not fit, its format
// is too old, or what it holds breaks the format. Polling again fetches it
// again; Reader.Skip goes on behind it.
type BatchError struct {
	Topic     string
	Partition int
	// Offset is the first one that was not delivered.
	Offset int64
	// Next is where to go on: the first offset after the batch, or Offset + 1
	// if the batch does not tell its end reliably.
	Next   int64
	Reason string
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("batch at offset %d of %s/%d can't be read: %s", e.Offset, e.Topic, e.Partition, e.Reason)
}

// TruncatedError is a position above the end of the partition: the log was
// truncated (an unclean leader election) or the topic deleted and made again.
// What the position means now only the caller can say; polling again fails in
// the same way until the log has grown past the position.
type TruncatedError struct {
	Topic         string
	Partition     int
	Position, End int64
}

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("position %d of %s/%d is above the end %d: the log was truncated, or the topic deleted and made again",
		e.Position, e.Topic, e.Partition, e.End)
}

// LostError is a ReadAll that could not be complete: the broker had deleted
// the records from the offset From to below Start.
type LostError struct {
	Topic       string
	Partition   int
	From, Start int64
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%s/%d begins at offset %d, the records from %d on are deleted: check its retention",
		e.Topic, e.Partition, e.Start, e.From)
}
