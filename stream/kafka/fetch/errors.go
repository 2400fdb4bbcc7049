package fetch

import "fmt"

// BatchError reports a batch that can't be read: its CRC is wrong, its format is too old, or its content breaks the
// format. Polling again fetches it again; Reader.Skip continues after it.
type BatchError struct {
	Topic     string
	Partition int
	// Offset is the first one that was not delivered.
	Offset int64
	// Next is where to continue: the first offset after the batch, or Offset + 1 if the batch's end is not reliable.
	Next   int64
	Reason string
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("batch at offset %d of %s/%d can't be read: %s", e.Offset, e.Topic, e.Partition, e.Reason)
}

// TruncatedError reports a position above the end of the partition: the log was truncated (an unclean leader election),
// or the topic was deleted and recreated. Only the caller can decide what the position means now. Polling again fails
// in the same way until the log has grown past the position.
type TruncatedError struct {
	Topic         string
	Partition     int
	Position, End int64
}

func (e *TruncatedError) Error() string {
	return fmt.Sprintf(
		"position %d of %s/%d is above the end %d: the log was truncated, or the topic was deleted and recreated",
		e.Position, e.Topic, e.Partition, e.End)
}

// LostError says that ReadAll was incomplete, because the broker had deleted the records from offset From to below
// Start.
type LostError struct {
	Topic       string
	Partition   int
	From, Start int64
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%s/%d begins at offset %d, the records from %d on were deleted: check its retention",
		e.Topic, e.Partition, e.Start, e.From)
}
