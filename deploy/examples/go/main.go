// Command go follows an output topic of Louver and prints its figures, each once: a copy does not have to be added
// again.
//
//	go run ./deploy/examples/go localhost:9092 checkout.private
//
// It uses franz-go, which leaves out what was never committed. The Reader of kafka-go hands that out, too.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// figure is what this program wants of a record; deploy/RECORD.md has all fields. A json.Number keeps every digit, and
// nil is null: the figure has no such thing.
type figure struct {
	Schema     string       `json:"schema"`
	WindowEnd  string       `json:"window_end"`
	Statistic  string       `json:"statistic"`
	Value      *json.Number `json:"value"`
	Unit       string       `json:"unit"`
	Status     string       `json:"status"`
	Reason     string       `json:"reason"`
	Incomplete bool         `json:"incomplete"`
	Quality    string       `json:"quality"`
	Low        *json.Number `json:"low"` // the band; records of earlier releases have none
	High       *json.Number `json:"high"`
	Level      *json.Number `json:"level"`
	PLow       *json.Number `json:"p_low"`
	PHigh      *json.Number `json:"p_high"`
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("want the brokers and an output topic, such as localhost:9092 checkout.private")
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(os.Args[1], ",")...), kgo.ConsumeTopics(os.Args[2]),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	newest := map[string]string{} // the last window of each series: they come in order, and a key is a series
	for {
		fetches := client.PollFetches(context.Background())
		fetches.EachError(func(topic string, partition int32, err error) {
			log.Printf("%s/%d: %v", topic, partition,
				err)
		})
		fetches.EachRecord(func(r *kgo.Record) {
			var f figure
			if json.Unmarshal(r.Value, &f) != nil || f.Schema != "louver.release.v1" ||
				f.WindowEnd <= newest[string(r.Key)] {
				return // not a figure, or one that is known
			}
			newest[string(r.Key)] = f.WindowEnd
			fmt.Println(f.WindowEnd, string(r.Key), f.text())
		})
	}
}

// text says how much the value can be trusted.
func (f figure) text() string {
	text := "withheld: " + f.Reason
	if f.Status == "ok" && f.Value != nil {
		text = strings.TrimSpace(fmt.Sprint(*f.Value, " ", f.Unit))
		switch {
		case f.Statistic == "watch": // an alarm: 1 once it has fired
		case f.Low != nil && f.High != nil && f.Level != nil:
			text += fmt.Sprint(", between ", *f.Low, " and ", *f.High, " with probability ", *f.Level)
		case f.PLow != nil && f.PHigh != nil:
			text += fmt.Sprint(", between the quantiles ", *f.PLow, " and ", *f.PHigh)
		default:
			text += ", no band"
		}
		if f.Quality == "noise" {
			text += ", mostly noise"
		}
	}
	if f.Incomplete {
		text += ", incomplete"
	}
	return text
}
