package main

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/kafkaconn"
	"github.com/louver/louver/stream/replay"
)

// fromFile makes the demo show a file's figures: its events are replayed as if they happened now.
func (c *demoCommand) fromFile() (yaml []byte, feed feeder, err error) {
	columns, err := c.columns()
	if err != nil {
		return nil, nil, err
	}
	d := replay.Demo{Columns: columns, Unit: c.Unit}
	for _, f := range []struct {
		to   *decimal.Decimal
		from string
	}{{&d.Lower, c.Lower}, {&d.Upper, c.Upper}, {&d.Step, c.Step}} {
		if *f.to, err = decimal.NewFromString(f.from); err != nil {
			return nil, nil, usageError(err)
		}
	}
	if columns.Group != "" {
		if d.Groups, err = replay.Groups(c.CSV, columns, replay.Options{}); err != nil {
			return nil, nil, fileError(err)
		}
	}
	text, err := replay.StreamsFor(d)
	if err != nil {
		return nil, nil, err
	}
	feed = func(ctx context.Context, conn *kafkaconn.Conn, s *config.Stream) error {
		file, err := replay.Open(c.CSV, columns, replay.Options{From: time.Unix(0, s.Window.Start), Speed: c.Speed})
		if err != nil {
			return fileError(err)
		}
		defer func() { _ = file.Close() }() // only read
		if _, err = sendRecords(ctx, conn, file.Records(ctx), s.Input.Topic); err != nil {
			return stoppedAs(ctx, err)
		}
		return nil
	}
	return []byte(text), feed, nil
}
