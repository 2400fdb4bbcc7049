package bench

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/valyala/fastjson"
)

// floorVariable makes the test binary a client that fetches a topic, and perhaps parses it: kind, brokers, topic,
// events.
const floorVariable = "LOUVER_BENCH_FLOOR"

// floor reads a topic's events and does nothing with them.
func floor(args string) error {
	all := strings.Fields(args)
	parse := all[0] == "parse"
	events, err := strconv.Atoi(all[3])
	if err != nil {
		return err
	}
	from := map[int32]kgo.Offset{}
	for p := range int32(partitions) {
		from[p] = kgo.NewOffset().AtStart()
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(all[1], ",")...),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{all[2]: from}))
	if err != nil {
		return err
	}
	defer client.Close()
	var parser fastjson.Parser
	found := 0
	for seen := 0; seen < events; {
		fetches := client.PollFetches(context.Background())
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			seen++
			if !parse {
				return
			}
			v, err := parser.ParseBytes(r.Value)
			if err != nil {
				return
			}
			if len(v.GetStringBytes("user_id")) > 0 && len(v.GetStringBytes("region")) > 0 &&
				len(v.GetStringBytes("ts")) > 0 &&
				v.GetInt("latency_ms") > 0 {
				found++
			}
		})
	}
	if parse && found != events {
		return errors.New("an event is not as it was sent")
	}
	return nil
}

func floorMain(args string) int {
	if err := floor(args); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return 0
}
