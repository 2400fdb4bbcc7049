package main

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"crypto/rand"

	"github.com/louver/louver/stream/kafkaconn"
	"github.com/louver/louver/stream/replay"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/stream/topics"
	"github.com/louver/louver/stream/txn"
)

// replayCommand sends a file of events to a topic.
type replayCommand struct {
	KafkaSettings
	fileColumns
	File       string  `arg:"" help:"CSV with a header, or JSON lines."`
	Topic      string  `required:"" placeholder:"TOPIC" help:"Topic to send to; made if it is missing."`
	Partitions int     `default:"3" placeholder:"N" help:"Partitions of a topic that has to be made."`
	From       string  `placeholder:"TIME" help:"Move the events' times so that the first is then: now, or RFC 3339; absent: they stay."`
	Speed      float64 `placeholder:"X" help:"1: as fast as it happened; 60: an hour a minute; absent: as fast as possible."`
	Keyed      bool    `help:"Key every record by its user, so that all of a user's go to one partition; otherwise each goes anywhere."`
	Delimiter  string  `default:"," placeholder:"C" help:"What parts the columns of a CSV file."`
}

// Run implements the command.
func (c *replayCommand) Run(app *App) error {
	columns, err := c.columns()
	if err != nil {
		return err
	}
	options := replay.Options{Speed: c.Speed, Keyed: c.Keyed}
	if r := []rune(c.Delimiter); len(r) == 1 {
		options.Delimiter = r[0]
	} else {
		return usageError(fmt.Errorf("--delimiter=%q: want one character", c.Delimiter))
	}
	switch c.From {
	case "":
	case "now":
		options.From = time.Now()
	default:
		if options.From, err = time.Parse(time.RFC3339, c.From); err != nil {
			return usageError(fmt.Errorf("--from=%s: want now, or a time such as 2026-11-20T08:00:00Z", c.From))
		}
	}
	file, err := replay.Open(c.File, columns, options)
	if err != nil {
		return fileError(err)
	}
	defer func() { _ = file.Close() }() // only read
	ctx, stop := app.UntilSignal()
	defer stop()
	conn, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	plan := []topics.Topic{{Name: c.Topic, Partitions: c.Partitions}}
	if err := topics.Create(ctx, conn.Client, plan, -1); err != nil {
		return classed(err)
	}
	sent, err := sendFile(ctx, conn, file, c.Topic)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(app.Out, "%d events sent to %s\n", sent, c.Topic)
	return err
}

// sendAtOnce is how many records are gathered before they are sent, if they come that fast.
const sendAtOnce = 10_000

// sendEvery is after how long gathered records are sent at the latest.
const sendEvery = 100 * time.Millisecond

// sendFile sends the events of a file as they become due. Records have the time of sending as their timestamp: a topic
// would delete what looks older than its retention.
func sendFile(ctx context.Context, conn *kafkaconn.Conn, file *replay.File, topic string) (sent int, err error) {
	partitions, err := topics.PartitionsOf(ctx, conn.Client, topic, 0, nil)
	if err != nil {
		return 0, classed(err)
	}
	var batch []txn.Record
	last := time.Now()
	flush := func() error {
		err := txn.Send(ctx, conn.Client, batch)
		sent += len(batch)
		batch, last = batch[:0], time.Now()
		return classed(err)
	}
	for r, err := range file.Records(ctx) {
		if err != nil {
			return sent, fileError(err)
		}
		partition, err := anywhere(r, partitions)
		if err != nil {
			return sent, err
		}
		batch = append(batch, txn.Record{Topic: topic, Partition: partition, Key: r.Key, Value: r.Value})
		if len(batch) >= sendAtOnce || time.Since(last) >= sendEvery {
			if err := flush(); err != nil {
				return sent, err
			}
		}
	}
	return sent, flush()
}

// anywhere is the partition of a record's key, or any.
func anywhere(r replay.Record, partitions int) (int, error) {
	if r.Key != nil {
		return stage.Place(string(r.Key), partitions), nil
	}
	n, err := rand.Int(rand.Reader, big.NewInt(int64(partitions)))
	if err != nil {
		return 0, err
	}
	return int(n.Int64()), nil
}
