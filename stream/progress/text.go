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

// CheckpointKey is the key of the checkpoint of a partition of the ledger. The topic keeps the last one and forgets those
// before.
func CheckpointKey(partition int) string { return fmt.Sprintf("ledger/%d", partition) }

// pieceBytes is how much of a long text goes into one record: brokers take batches of 1 MiB unless they are told otherwise.
const pieceBytes = 512 << 10

// headerPiece tells which piece of which text a record holds: the text's hash, the piece's number and how many there are.
const headerPiece = "piece"

// Text is a long text as it was read.
type Text struct {
	Text []byte
	// Pieces is how many records hold it.
	Pieces int
	// Partition and Offset say where its last piece is.
	Partition int
	Offset    int64
}

// ReadText reads the last committed text of a key; found is false if there is none. A text of which not all pieces are there
// is none.
func (l *Log) ReadText(ctx context.Context, key string) (t Text, found bool, err error) {
	var pieces []string
	var of string // the hash of the text that pieces belong to
	t.Partition = topics.Place(key, topics.Partitions)
	_, err = l.Fetch.ReadAll(ctx, l.Topic, t.Partition, 0, func(r *fetch.Record) error {
		if string(r.Key) != key && !strings.HasPrefix(string(r.Key), key+"/") {
			return nil
		}
		if r.Value == nil && string(r.Key) == key { // somebody deleted the text
			t.Text, t.Pieces, found = nil, 0, false
			return nil
		}
		name, _ := r.Header(headerPiece)
		var sum string
		var number, count int
		if _, err := fmt.Sscanf(string(name), "%s %d %d", &sum, &number, &count); err != nil {
			return nil // a former piece, which is deleted
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

// TextRecords are the new text of a key, for a transaction, and in how many pieces it is. Of the pieces before, those that
// are too many are deleted.
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
