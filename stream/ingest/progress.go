package ingest

import (
	"encoding/json"
	"fmt"
	"time"
)

// progress is what a commit remembers beside the offset: how far records have been read, so that a re-read reports no
// bad or late record again, and up to which window end each stream is sealed. It travels as the offset's metadata.
type progress struct {
	Read   int64            `json:"read"`
	Sealed map[string]int64 `json:"sealed"` // stream → Unix seconds
}

// maxMetadata is the broker's default limit of an offset's metadata.
const maxMetadata = 4096

func (p progress) encode() (string, error) {
	b, err := json.Marshal(p)
	if err == nil && len(b) > maxMetadata {
		err = fmt.Errorf("%d streams on one input topic need %d bytes of offset metadata; a broker takes %d: split them over several app ids", len(p.Sealed), len(b), maxMetadata)
	}
	return string(b), err
}

func decodeProgress(metadata string) (progress, error) {
	p := progress{}
	if metadata == "" {
		return p, nil
	}
	if err := json.Unmarshal([]byte(metadata), &p); err != nil {
		return p, fmt.Errorf("offset metadata is not Louver's: %w", err)
	}
	return p, nil
}

// sealedEnd is the end of the last sealed window of the stream in Unix nanoseconds.
func (p progress) sealedEnd(stream string) (int64, bool) {
	s, ok := p.Sealed[stream]
	return s * int64(time.Second), ok
}
