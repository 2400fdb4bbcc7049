package topics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// ErrMissing means that a topic does not exist and Louver is not to create it.
var ErrMissing = errors.New("topic missing")

// missing is an [ErrMissing] for a topic. The topic may still appear. The broker does not say whether it does not exist
// or only must not be described.
type missing struct{ topic, right string }

func (m missing) Error() string {
	return fmt.Sprintf("%v: %s does not exist, or you may not describe it; create it or grant %s", ErrMissing, m.topic,
		m.right)
}

func (missing) Unwrap() []error { return []error{ErrMissing, kafka.UnknownTopicOrPartition} }

// State says what Create found or did about a topic.
type State string

// The states of a topic after Create.
const (
	Exists  State = "exists"
	Created State = "created"
	Yours   State = "yours to create" // missing, and not one that Louver may create
)

// Create creates the topics of the plan that the broker does not have and that Louver may create. Replication −1 means
// the broker's default. It returns the state of every topic by name. Topics that cannot be created have no state and
// cause an error.
func Create(ctx context.Context, client *kafka.Client, plan []Topic, replication int) (map[string]State, error) {
	have, err := partitions(ctx, client, plan)
	if err != nil {
		return nil, err
	}
	states := make(map[string]State, len(plan))
	var missing []kafka.TopicConfig
	for _, t := range plan {
		switch {
		case have[t.Name] > 0:
			states[t.Name] = Exists
		case t.Partitions == 0:
			states[t.Name] = Yours
		default:
			c := kafka.TopicConfig{Topic: t.Name, NumPartitions: t.Partitions, ReplicationFactor: replication}
			replicas := 0
			if t.Own() {
				if replicas, err = replicasOf(ctx, client, c); err != nil {
					return nil, err
				}
			}
			c.ConfigEntries = entries(Settings(t, replicas))
			missing = append(missing, c)
		}
	}
	if len(missing) == 0 {
		return states, nil
	}
	res, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: missing})
	if err != nil {
		return nil, fmt.Errorf("create topics: %w", err)
	}
	var failed []string
	var failure error // of the last of them
	for name, err := range res.Errors {
		switch {
		case errors.Is(err, kafka.TopicAlreadyExists): // by another process, just now
			states[name] = Exists
		case err != nil:
			failed, failure = append(failed, name), err
		default:
			states[name] = Created
		}
	}
	if failure != nil {
		slices.Sort(failed)
		names := "topic " + strings.Join(failed, ", ")
		if errors.Is(failure, kafka.InvalidReplicationFactor) {
			failure = fmt.Errorf("%w: there are fewer brokers than replicas; want LOUVER_TOPICS_REPLICATION of at "+
				"most their number", kafka.InvalidReplicationFactor)
		}
		return states, fmt.Errorf("create %s: %w", names, kafkaconn.Needs(failure, "Create", names))
	}
	return states, nil
}

// maxMessage is the setting that says how large a batch of records may be.
const maxMessage = "max.message.bytes"

// leastMaxMessage takes every batch of parts, checkpoints and ledger entries: they are kept below 900 KiB. Brokers
// accept a few bytes more by default.
const leastMaxMessage = 1 << 20

// Settings returns the settings that [Create] gives a topic with so many replicas. 0 or less means that their number is
// not known.
func Settings(t Topic, replicas int) map[string]string {
	settings := map[string]string{}
	if t.Cleanup != "" {
		settings["cleanup.policy"], settings[maxMessage] = t.Cleanup, strconv.Itoa(leastMaxMessage)
		settings[unclean] = "false"
	}
	if t.Erased {
		settings["segment.ms"] = milliseconds(time.Hour)
	}
	if t.AppendTime {
		settings["message.timestamp.type"] = "LogAppendTime"
	}
	switch {
	case t.MinRetention == Forever:
		settings["retention.ms"], settings["retention.bytes"] = "-1", "-1"
	case t.Backfilled:
		settings["retention.ms"] = "-1"
	case t.MinRetention > 0:
		settings["retention.ms"] = milliseconds(t.MinRetention)
	}
	if t.Own() && replicas > 0 {
		settings[minInsync] = strconv.Itoa(safe(replicas))
	}
	return settings
}

func entries(settings map[string]string) (all []kafka.ConfigEntry) {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		all = append(all, kafka.ConfigEntry{ConfigName: name, ConfigValue: settings[name]})
	}
	return all
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Counts returns the number of partitions of every topic of the plan. For a missing topic it returns an [ErrMissing],
// which may pass: the topic may just have been created.
func Counts(ctx context.Context, client *kafka.Client, plan []Topic) (map[string]int, error) {
	have, err := partitions(ctx, client, plan)
	if err != nil {
		return nil, err
	}
	for _, t := range plan {
		if have[t.Name] == 0 {
			right := "Describe"
			if len(t.Operations) > 0 {
				right = t.Operations[0] // which includes Describe
			}
			return nil, missing{t.Name, right}
		}
	}
	return have, nil
}

func partitions(ctx context.Context, client *kafka.Client, plan []Topic) (map[string]int, error) {
	all, err := described(ctx, client, plan)
	if err != nil {
		return nil, err
	}
	have := make(map[string]int, len(all))
	for name, partitions := range all {
		have[name] = len(partitions)
	}
	return have, nil
}

// described returns the partitions of the topics that exist.
func described(ctx context.Context, client *kafka.Client, plan []Topic) (map[string][]kafka.Partition, error) {
	names := make([]string, len(plan))
	for i, t := range plan {
		names[i] = t.Name
	}
	res, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: names})
	if err != nil {
		return nil, fmt.Errorf("read metadata: %w", err)
	}
	all := make(map[string][]kafka.Partition, len(plan))
	for _, t := range res.Topics {
		if t.Error == nil {
			all[t.Name] = t.Partitions
		}
	}
	return all, nil
}

// VerifyExisting is [Verify] before the first run: topics that Louver would create may be missing.
func VerifyExisting(ctx context.Context, client *kafka.Client, plan []Topic, warn func(string)) error {
	have, err := partitions(ctx, client, plan)
	if err != nil {
		return err
	}
	later := func(t Topic) bool { return t.Partitions != 0 && have[t.Name] == 0 }
	return Verify(ctx, client, slices.DeleteFunc(slices.Clone(plan), later), warn)
}

// Verify checks that every topic of the plan exists and keeps its records as long as needed. An error wraps
// [ErrMissing], [ErrUnfit] or the broker's error. warn gets one line for each setting that should be changed but stops
// nothing.
func Verify(ctx context.Context, client *kafka.Client, plan []Topic, warn func(string)) error {
	have, err := Counts(ctx, client, plan)
	if err != nil {
		return err
	}
	shapes, err := described(ctx, client, plan)
	if err != nil {
		return err
	}
	var req kafka.DescribeConfigsRequest
	byName := map[string]Topic{}
	for _, t := range plan {
		if t.Own() && t.Partitions > 1 && have[t.Name] != Partitions {
			return fmt.Errorf("%w: %s has %d partitions; it needs %d, so that a budget stays in its partition",
				ErrUnfit, t.Name, have[t.Name], Partitions)
		}
		if !t.Own() && t.MinRetention == 0 {
			continue
		}
		byName[t.Name] = t
		req.Resources = append(req.Resources, kafka.DescribeConfigRequestResource{ResourceType: kafka.ResourceTypeTopic,
			ResourceName: t.Name, ConfigNames: []string{"cleanup.policy", "retention.ms", "retention.bytes", maxMessage,
				minInsync, unclean}})
	}
	res, err := client.DescribeConfigs(ctx, &req)
	if err != nil {
		return fmt.Errorf("read topic settings: %w", err)
	}
	for _, r := range res.Resources {
		if r.Error != nil {
			return fmt.Errorf("read the settings of topic %s: %w", r.ResourceName,
				kafkaconn.Needs(r.Error, "DescribeConfigs", "topic "+r.ResourceName))
		}
		settings := map[string]string{}
		for _, e := range r.ConfigEntries {
			settings[e.ConfigName] = e.ConfigValue
		}
		t := byName[r.ResourceName]
		if err := fits(t, settings); err != nil {
			return err
		}
		lines, err := survives(t, shapes[t.Name], settings)
		if err != nil {
			return err
		}
		for _, line := range lines {
			warn(line)
		}
	}
	return nil
}

// fits compares a topic's settings with the plan. A setting that the broker does not report counts as right.
func fits(t Topic, settings map[string]string) error {
	if have := settings["cleanup.policy"]; t.Own() && have != "" && !samePolicies(have, t.Cleanup) {
		return fmt.Errorf("%w: %s has cleanup.policy=%s; it needs %s", ErrUnfit, t.Name, have, t.Cleanup)
	}
	if n, err := strconv.Atoi(settings[maxMessage]); t.Own() && err == nil && n < leastMaxMessage {
		return fmt.Errorf("%w: %s has %s=%d; it needs %d or more", ErrUnfit, t.Name, maxMessage, n, leastMaxMessage)
	}
	if strings.Contains(settings["cleanup.policy"], "compact") &&
		!strings.Contains(settings["cleanup.policy"], "delete") {
		return nil
	}
	if ms, err := strconv.ParseInt(settings["retention.ms"], 10, 64); err == nil && ms >= 0 {
		have := time.Duration(min(ms, int64(1<<63-1)/int64(time.Millisecond))) * time.Millisecond
		if t.MinRetention == Forever {
			return fmt.Errorf("%w: %s keeps its records for %s; it needs retention.ms=-1, "+
				"because charges must never be forgotten", ErrUnfit, t.Name, have)
		}
		if have < t.MinRetention {
			needs := "a window and its grace need"
			if t.Own() {
				needs = "it needs"
			}
			return fmt.Errorf("%w: %s keeps its records for %s; %s retention.ms=%d or more", ErrUnfit, t.Name, have,
				needs, t.MinRetention.Milliseconds())
		}
	}
	if b := settings["retention.bytes"]; t.MinRetention == Forever && b != "" && b != "-1" {
		return fmt.Errorf("%w: %s has retention.bytes=%s; it needs -1, because charges must never be forgotten",
			ErrUnfit, t.Name, b)
	}
	return nil
}

// samePolicies compares lists of policies, whose order means nothing.
func samePolicies(a, b string) bool {
	sorted := func(list string) []string {
		return slices.Sorted(slices.Values(strings.Split(strings.ReplaceAll(list, " ", ""), ",")))
	}
	return slices.Equal(sorted(a), sorted(b))
}

// PartitionsOf returns the number of partitions of a topic. It retries until the topic has the given partition, or ctx
// ends. notify is called for each failure.
func PartitionsOf(
	ctx context.Context, client *kafka.Client, topic string, partition int, notify func(error),
) (int, error) {
	n, err := kafkaconn.Retry(ctx, notify, func(ctx context.Context) (int, error) {
		have, err := Counts(ctx, client, []Topic{{Name: topic}})
		if err == nil && have[topic] <= partition {
			err = fmt.Errorf("partition %d is not known yet: %w", partition, kafka.UnknownTopicOrPartition)
		}
		return have[topic], err
	})
	if err != nil {
		return 0, fmt.Errorf("partitions of topic %s: %w", topic, err)
	}
	return n, nil
}
