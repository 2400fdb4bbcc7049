package progress

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
)

// CheckpointKey is the key of the checkpoint of a partition of the ledger. The topic keeps only the last one.
func CheckpointKey(partition int) string { return fmt.Sprintf("ledger/%d", partition) }

// pieceBytes is how much of a long text goes into one record. By default brokers accept batches of 1 MiB.
const pieceBytes = 512 << 10

// headerPiece says which piece of which text a record holds: the text's hash, the piece's number and the number of
// pieces.
const headerPiece = "piece"

// Text is a long text that was read.
type Text struct {
	Text []byte
	// Pieces is how many records hold it.
	Pieces int
	// Partition and Offset say where its last piece is.
	Partition int
	Offset    int64
}

// ReadText reads the last committed text of a key; found is false if there is none, or if a piece of it is missing.
func (l *Log) ReadText(ctx context.Context, key string) (t Text, found bool, err error) {
	var pieces []string
	var of string // the hash of the text that pieces belong to
	t.Partition = topics.Place(key, topics.Partitions)
	_, err = l.Fetch.ReadAll(ctx, l.Topic, t.Partition, 0, func(r *fetch.Record) error {
		if string(r.Key) != key && !strings.HasPrefix(string(r.Key), key+"/") {
			return nil
		}
		if r.Value == nil && string(r.Key) == key { // the text was deleted
			t.Text, t.Pieces, found = nil, 0, false
			return nil
		}
		name, _ := r.Header(headerPiece)
		var sum string
		var number, count int
		if _, err := fmt.Sscanf(string(name), "%s %d %d", &sum, &number, &count); err != nil {
			return nil // a piece of an earlier text, now deleted
		}
		if number == 0 {
			pieces, of = nil, sum
		}
		if sum != of || number != len(pieces) {
			return nil
		}
		if pieces = append(pieces, string(r.Value)); len(pieces) < count {
			return nil
		}
		whole := []byte(strings.Join(pieces, ""))
		if hash(whole) == sum {
			t.Text, t.Pieces, t.Offset, found = whole, count, r.Offset, true
		}
		return nil
	})
	if err != nil {
		return Text{}, false, fmt.Errorf("read the progress of %s: %w", key, err)
	}
	return t, found, nil
}

// TextRecords encodes the new text of a key, for a transaction, and returns its number of pieces. Surplus pieces of the
// text before are deleted.
func (l *Log) TextRecords(key string, text []byte, before int) (records []txn.Record, count int) {
	count = (len(text) + pieceBytes - 1) / pieceBytes
	now, partition, sum := time.Now().UnixMilli(), topics.Place(key, topics.Partitions), hash(text)
	for i := range max(count, before) {
		r := txn.Record{Topic: l.Topic, Partition: partition, Key: []byte(key), Time: now}
		if i > 0 {
			r.Key = []byte(key + "/" + strconv.Itoa(i))
		}
		if i < count {
			r.Value = bytes.Clone(text[i*pieceBytes : min(len(text), (i+1)*pieceBytes)])
			r.Headers = []txn.Header{{Key: headerPiece, Value: fmt.Appendf(nil, "%s %d %d", sum, i, count)}}
		}
		records = append(records, r)
	}
	return records, count
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
