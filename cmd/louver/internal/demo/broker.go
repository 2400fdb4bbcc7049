package demo

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/service"
	"github.com/louver/louver/stream/config/parse"
	local "github.com/louver/louver/stream/kafka/embedded"
)

// BrokerCommand is the embedded broker alone.
type BrokerCommand struct {
	Listen  string `default:"127.0.0.1:9092" placeholder:"ADDR" help:"Address to listen on."`
	DataDir string `placeholder:"DIR" help:"Directory for the data. Absent: data is kept in memory."`
}

// Help is the long help.
func (BrokerCommand) Help() string {
	return `Keeps all records for ever, in memory or in --data-dir. It neither deletes by age nor compacts.`
}

// Run implements the command.
func (c *BrokerCommand) Run(app *cli.App) error {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return cli.UsageError(fmt.Errorf("--listen=%s; want host:port, such as 127.0.0.1:9092", c.Listen))
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return cli.UsageError(fmt.Errorf("--listen=%s: the port is not a number; want host:port, such as "+
			"127.0.0.1:9092", c.Listen))
	}
	if c.DataDir != "" {
		if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
			return fmt.Errorf("--data-dir=%s: %w; want a directory that you may write to", c.DataDir, err)
		}
	}
	ctx, stop := app.UntilSignal()
	defer stop()
	broker, err := embedded(host, number, c.DataDir)
	if err != nil {
		return err
	}
	defer broker.Close()
	_, _ = fmt.Fprintf(app.Out, "the embedded broker listens on %s; Ctrl-C stops it\n", c.Listen)
	<-ctx.Done()
	return nil
}

// cleanEvery is the setting that says after how many milliseconds the broker looks for records to delete and to compact
// again, and never is that for a broker that does neither: 30 years.
const (
	cleanEvery = "log.cleaner.backoff.ms"
	never      = "1000000000000"
)

// embedded starts a broker in the process. Port 0 means any free one. It does not compact, unless more says so: where
// kfake has compacted a topic, the topic begins later, and Louver takes that for records that were deleted.
func embedded(host string, port int, dataDir string, more ...kfake.Opt) (*kfake.Cluster, error) {
	options := []kfake.Opt{kfake.NumBrokers(1), kfake.Ports(port), kfake.AllowAutoTopicCreation(),
		kfake.DefaultNumPartitions(3), kfake.BrokerConfigs(map[string]string{cleanEvery: never})}
	listen := net.Listen
	if host != "" {
		listen = func(network, address string) (net.Listener, error) {
			_, p, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return net.Listen(network, net.JoinHostPort(host, p))
		}
	}
	if dataDir != "" {
		options = append(options, kfake.DataDir(dataDir), kfake.SyncWrites())
	}
	broker, err := local.Start(listen, append(options, more...)...)
	if err != nil {
		return nil, fmt.Errorf("the embedded broker cannot listen on %s: %w; want a free host:port of this machine",
			net.JoinHostPort(host, strconv.Itoa(port)), service.Cause(err))
	}
	refuseNames(broker)
	return broker, nil
}

// refuseNames makes the embedded broker refuse names of topics that Kafka refuses. It refuses the whole request.
func refuseNames(broker *kfake.Cluster) {
	broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.CreateTopics, kmsg.Metadata}, Err: kerr.InvalidTopicException,
		Count: -1, When: func(q kmsg.Request) bool {
			switch q := q.(type) {
			case *kmsg.CreateTopicsRequest:
				return slices.ContainsFunc(q.Topics,
					func(t kmsg.CreateTopicsRequestTopic) bool { return !parse.IsTopic(t.Topic) })
			case *kmsg.MetadataRequest:
				return slices.ContainsFunc(q.Topics,
					func(t kmsg.MetadataRequestTopic) bool { return t.Topic != nil && !parse.IsTopic(*t.Topic) })
			}
			return false
		}})
}
