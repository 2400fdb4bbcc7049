package topics_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
)

// TestChargesSurviveABroker creates the app's own topics with the broker's default of replicas, and with one and two:
// two brokers must have a record where there are two or more, and none leads that lacks it. Topics that were made
// otherwise are warned of, and refused where nothing can be written to them.
func TestChargesSurviveABroker(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		defaults := map[bool]string{true: "2", false: "1"}[b.Fake != nil] // three brokers, or one
		wanted := map[int]string{-1: defaults, 1: "1"}
		if b.Fake != nil {
			wanted[2] = "2"
		}
		for replication, want := range wanted {
			app, input := kafkatest.Name(t), b.Topic(t, 1, nil)
			file, err := parse.File("s.yaml", []byte(`
version: 1
streams:
  - name: s
    input: {topic: `+input+`, user: user, value: value}
    bounds: {lower: 0, upper: 10, step: 1}
    window: {size: 1h, grace: 1s}
    releases: [{name: users, statistic: count, epsilon: 1}]
    output: {topic: `+app+`-out}
    budget: {epsilon: 100, per: 24h}
`), os.LookupEnv)
			if err != nil {
				t.Fatal(err)
			}
			plan, ctx := topics.Plan(app, file.Streams), kafkatest.Context(t)
			if _, err := topics.Create(ctx, b.Conn.Client, plan, replication); err != nil {
				t.Fatal(err)
			}
			kafkatest.Await(t, "the topics are known",
				func() bool { _, err := topics.Counts(ctx, b.Conn.Client, plan); return err == nil })
			if err := topics.Verify(ctx, b.Conn.Client, plan, func(line string) { t.Error(line) }); err != nil {
				t.Errorf("replication %d: %v", replication, err)
			}
			ledger := topics.Names{App: app}.Ledger()
			set := func(name, value string) {
				t.Helper()
				res, err := b.Conn.Client.IncrementalAlterConfigs(ctx,
					&kafka.IncrementalAlterConfigsRequest{Resources: []kafka.IncrementalAlterConfigsRequestResource{{
						ResourceType: kafka.ResourceTypeTopic, ResourceName: ledger,
						Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: name, Value: value,
							ConfigOperation: kafka.ConfigOperationSet}}}}})
				if err != nil || res.Resources[0].Error != nil {
					t.Fatal(err, res)
				}
			}
			told := func() string { // what is wrong, as a warning or as a refusal
				text := ""
				err := topics.Verify(ctx, b.Conn.Client, plan, func(line string) { text += "warning: " + line })
				if errors.Is(err, topics.ErrUnfit) {
					return "refused: " + err.Error()
				} else if err != nil {
					t.Fatal(err)
				}
				return text
			}
			command := "--topic " + ledger + " --add-config min.insync.replicas=" + want
			for _, wrong := range []string{"1", "2"} {
				if wrong == want {
					continue
				}
				set("min.insync.replicas", wrong)
				how := map[string]string{"1": "warning: ", "2": "refused: "}[wrong] // two of one replica can't be
				kafkatest.Await(t, "a ledger with min.insync.replicas="+wrong+" is noticed", func() bool {
					text := told()
					return strings.HasPrefix(text, how) && strings.Contains(text, command)
				})
			}
			if set("min.insync.replicas", want); b.Fake == nil { // which does not know the setting
				set("unclean.leader.election.enable", "true")
				kafkatest.Await(t, "a ledger with unclean.leader.election.enable=true is noticed", func() bool {
					return strings.HasPrefix(told(), "warning: "+ledger+" has unclean.leader.election.enable=true") &&
						strings.Contains(told(), "--topic "+ledger+" --add-config unclean.leader.election.enable=false")
				})
			}
		}
	})
}
