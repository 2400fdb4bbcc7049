package progress

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

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
	texts, err := l.ReadTexts(ctx, topics.Place(key, topics.Partitions), func(k string) bool { return k == key }, nil)
	t, found = texts[key]
	return t, found, err
}

// ReadTexts reads the last committed text of each wanted key in a partition. Keys whose text has a piece missing are
// left out. damaged, if it is not nil, is told of each batch that cannot be read, which is then passed over. If it
// is nil, such a batch is an error.
func (l *Log) ReadTexts(ctx context.Context, partition int, wanted func(key string) bool,
	damaged func(error)) (map[string]Text, error) {
	found := map[string]Text{}
	pieces := map[string]*text{}
	add := func(r *fetch.Record) error {
		if r.Value == nil { // the text was deleted, or a piece that only an earlier text had
			delete(found, string(r.Key))
			return nil
		}
		name, ok := r.Header(headerPiece)
		if !ok {
			return nil // not a text
		}
		var sum string
		var number, count int
		if _, err := fmt.Sscanf(string(name), "%s %d %d", &sum, &number, &count); err != nil {
			return nil // no version of Louver writes that
		}
		key := string(r.Key)
		if number > 0 {
			key = strings.TrimSuffix(key, "/"+strconv.Itoa(number))
		}
		if !wanted(key) {
			return nil
		}
		if number == 0 {
			pieces[key] = &text{sum: sum}
		}
		t := pieces[key]
		if t == nil || sum != t.sum || number != t.pieces {
			return nil
		}
		t.bytes = append(t.bytes, r.Value...)
		if t.pieces++; t.pieces < count {
			return nil
		}
		if hash(t.bytes) == sum {
			found[key] = Text{t.bytes, count, partition, r.Offset}
		}
		delete(pieces, key)
		return nil
	}
	_, err := l.Fetch.ReadAll(ctx, l.Topic, partition, kafka.FirstOffset, add)
	for batch := (*fetch.BatchError)(nil); damaged != nil && errors.As(err, &batch); {
		damaged(err)
		_, err = l.Fetch.ReadAll(ctx, l.Topic, partition, batch.Next, add)
	}
	if err != nil {
		return nil, fmt.Errorf("read the texts in %s/%d: %w", l.Topic, partition, err)
	}
	return found, nil
}

// text is a text of which some pieces have been read.
type text struct {
	sum    string // its hash
	bytes  []byte
	pieces int
}

// TextRecords encodes the new text of a key, for a transaction, and returns its number of pieces. Surplus pieces of the
// text before are deleted.
func (l *Log) TextRecords(key string, text []byte, before int) (records []txn.Record, count int) {
	return l.TextRecordsIn(topics.Place(key, topics.Partitions), key, text, before)
}

// TextRecordsIn is TextRecords for a partition that the caller chooses.
func (l *Log) TextRecordsIn(partition int, key string, text []byte, before int) (records []txn.Record, count int) {
	count = (len(text) + pieceBytes - 1) / pieceBytes
	now, sum := time.Now().UnixMilli(), hash(text)
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
