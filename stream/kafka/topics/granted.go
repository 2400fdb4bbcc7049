package topics

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/describegroups"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Granted is what brokers say of the rights of whoever asks.
type Granted struct {
	// Lacking are rights that are needed and not granted.
	Lacking []Right
	// Unknown are the topics that do not exist yet: of these a broker says at most whether they may be created.
	Unknown []string
}

// operations are the bits of Kafka's operations in the answers of brokers.
var operations = map[string]kmsg.ACLOperation{"Read": kmsg.ACLOperationRead, "Write": kmsg.ACLOperationWrite,
	"Create": kmsg.ACLOperationCreate, "Delete": kmsg.ACLOperationDelete,
	"DescribeConfigs": kmsg.ACLOperationDescribeConfigs}

// lacking returns the operations that are not among the granted ones.
func lacking(needed []string, granted int32) []string {
	return slices.DeleteFunc(slices.Clone(needed), func(o string) bool { return granted>>int(operations[o])&1 == 1 })
}

// AskRights asks the brokers which of the rights of a plan, and on consumer groups, are granted. Brokers cannot be
// asked about transactional ids, nor before Kafka 2.8 about anything. It tries once and changes nothing.
func AskRights(ctx context.Context, client *kafka.Client, plan []Topic, groups []string) (Granted, error) {
	var g Granted
	names := make([]string, len(plan))
	for i, t := range plan {
		names[i] = t.Name
	}
	all, err := metadata(ctx, client, true, names...)
	switch {
	case err != nil:
		return g, fmt.Errorf("ask for rights on topics: %w", err)
	case all == nil:
		return g, errors.New("the brokers say nothing of rights; want Kafka 2.8 or newer")
	}
	var missing []Topic
	for _, m := range all {
		i := slices.IndexFunc(plan, func(t Topic) bool { return m.Topic != nil && t.Name == *m.Topic })
		if i < 0 {
			return g, errors.New("ask for rights on topics: the answer has another topic")
		}
		t := plan[i]
		switch code := kafka.Error(m.ErrorCode); code {
		case 0:
			g.lacks("topic", t.Name, lacking(t.Operations, m.AuthorizedOperations))
		case kafka.TopicAuthorizationFailed: // not even that it exists
			g.lacks("topic", t.Name, t.Operations)
		case kafka.UnknownTopicOrPartition:
			missing = append(missing, t)
		default:
			return g, fmt.Errorf("ask for rights on topic %s: %w", t.Name, code)
		}
	}
	if err := g.creatable(ctx, client, missing); err != nil {
		return g, err
	}
	return g, g.groups(ctx, client, groups)
}

// lacks notes rights that are not granted.
func (g *Granted) lacks(resource, name string, operations []string) {
	if len(operations) > 0 {
		g.Lacking = append(g.Lacking, Right{Resource: resource, Name: name, Operations: operations})
	}
}

// creatable asks whether missing topics may be created, without creating them.
func (g *Granted) creatable(ctx context.Context, client *kafka.Client, missing []Topic) error {
	req := kafka.CreateTopicsRequest{ValidateOnly: true}
	for _, t := range missing {
		g.Unknown = append(g.Unknown, t.Name)
		if t.Partitions != 0 {
			req.Topics = append(req.Topics, kafka.TopicConfig{Topic: t.Name, NumPartitions: 1, ReplicationFactor: 1})
		}
	}
	if len(req.Topics) == 0 {
		return nil
	}
	res, err := client.CreateTopics(ctx, &req)
	if err != nil {
		return fmt.Errorf("ask for the right to create topics: %w", err)
	}
	for _, t := range req.Topics {
		if err := res.Errors[t.Topic]; errors.Is(err, kafka.TopicAuthorizationFailed) ||
			errors.Is(err, kafka.ClusterAuthorizationFailed) {
			g.lacks("topic", t.Topic, []string{"Create"})
		}
	}
	return nil
}

// groups asks for the right to read in consumer groups.
func (g *Granted) groups(ctx context.Context, client *kafka.Client, names []string) error {
	if len(names) == 0 {
		return nil
	}
	m, err := client.Transport.RoundTrip(ctx, client.Addr,
		&describegroups.Request{Groups: names, IncludeAuthorizedOperations: true})
	if err != nil {
		return fmt.Errorf("ask for rights on consumer groups: %w", err)
	}
	for _, of := range m.(*describegroups.Response).Groups {
		switch code := kafka.Error(of.ErrorCode); code {
		case 0:
			g.lacks("group", of.GroupID, lacking([]string{"Read"}, of.AuthorizedOperations))
		case kafka.GroupAuthorizationFailed:
			g.lacks("group", of.GroupID, []string{"Read"})
		default:
			return fmt.Errorf("ask for rights on consumer group %s: %w", of.GroupID, code)
		}
	}
	return nil
}
