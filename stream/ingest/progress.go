package ingest

import (
	"fmt"

	"github.com/louver/louver/stream/stage"
)

// progressRecord is how far one input partition has been read. Everything below Offset is in parts.
type progressRecord struct {
	Offset int64 `json:"offset"`
	// Base is what is added to the broker's offsets, so that they only grow: a topic that was made anew, or lost its end
	// on the brokers, begins again at low ones.
	Base int64 `json:"base,omitempty"`
	// Read is below which records have been looked at, so that reading them again reports no bad or late one again.
	Read    int64                     `json:"read"`
	Streams map[string]streamProgress `json:"streams"`
}

// streamProgress is one stream's share. From counts with the base; Through is in Unix nanoseconds.
type streamProgress struct {
	From    int64 `json:"from"`
	Through int64 `json:"through"`
}

// key is that of the route's share of the progress.
func (r *route) key() string {
	if r.edition == 0 {
		return r.stream.Name
	}
	return fmt.Sprintf("%s#%d", r.stream.Name, r.edition)
}

func progressKey(at stage.Partition) string { return fmt.Sprintf("ingest/%s/%d", at.Topic, at.Number) }
