package progress

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/louver/louver/stream/episode"
)

// Input is how far one partition of an input topic has been read. Everything below Offset is in parts.
type Input struct {
	Offset int64 `json:"offset"`
	// Base is added to the broker's offsets so that they always increase. A topic that was recreated, or that lost its
	// end, goes back to lower offsets.
	Base int64 `json:"base,omitempty"`
	// TopicID is the topic's id, or "" if unknown. Former is the id of the previous topic of this name: a broker that
	// is not up to date may still report it.
	TopicID string `json:"topic_id,omitempty"`
	Former  string `json:"former_topic_id,omitempty"`
	// Read is the offset below which all records have been seen. Bad or late ones below it are not reported again.
	Read int64 `json:"read"`
	// Streams are the shares of the streams' definitions, by [config.EditionKey].
	Streams map[string]Stream `json:"streams"`
}

// Stream is the share of one definition of a stream: how far the input has been read for it.
type Stream struct {
	// From is the lowest offset, with the base, that is not in parts.
	From int64 `json:"from"`
	// Through says that all windows that end then or earlier are cut, in Unix nanoseconds.
	Through int64 `json:"through"`
	// Marked is when the parts below From were written, in Unix nanoseconds of the writer's clock. 0: not known.
	Marked int64 `json:"marked,omitempty"`
	// Again says that windows that are due wait, because the broker was away. nil: they do not.
	Again *Again `json:"again,omitempty"`
	// Asks says that windows that are due wait for the schema registry. nil: they do not.
	Asks *Asks `json:"asks,omitempty"`
}

// Asks says that windows wait for the schema registry: it has not said yet what a record's schema is.
type Asks struct {
	// Schema is the id of one of the schemas.
	Schema string `json:"schema"`
	// Since is when the windows began to wait.
	Since time.Time `json:"since"`
}

// String says it in words.
func (a Asks) String() string {
	return fmt.Sprintf("waits since %s for the schema registry, which has not said yet what schema %s is",
		a.Since.UTC().Format(time.TimeOnly), a.Schema)
}

// Again says that windows wait for the grace again, because nobody could deliver events while the broker was away.
type Again struct {
	// Away is how long the broker did not answer, in nanoseconds.
	Away time.Duration `json:"away"`
	// Grace is the stream's grace, in nanoseconds. Windows wait for less if the broker keeps going away.
	Grace time.Duration `json:"grace"`
	// Until is when they may be cut.
	Until time.Time `json:"until"`
}

// String says it in words.
func (a Again) String() string {
	return fmt.Sprintf("the broker was away for %s; waits the grace of %s again, until %s", episode.Round(a.Away),
		episode.Round(a.Grace), a.Until.UTC().Format(time.TimeOnly))
}

const keyInput = "ingest/"

// InputKey is the key of an [Input].
func InputKey(topic string, partition int) string {
	return fmt.Sprintf("%s%s/%d", keyInput, topic, partition)
}

// ParseInputKey returns the partition of a key. ok is false if it is not an [InputKey].
func ParseInputKey(key string) (topic string, partition int, ok bool) {
	rest, ok := strings.CutPrefix(key, keyInput)
	if !ok {
		return "", 0, false
	}
	slash := strings.LastIndexByte(rest, '/')
	if slash < 0 {
		return "", 0, false
	}
	partition, err := strconv.Atoi(rest[slash+1:])
	return rest[:slash], partition, err == nil
}

// DecodeInput reads the value of an [InputKey].
func DecodeInput(value []byte) (Input, error) {
	var in Input
	if err := json.Unmarshal(value, &in); err != nil {
		return in, fmt.Errorf("progress of an input: %w", err)
	}
	return in, nil
}
