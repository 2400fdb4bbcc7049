package group

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// ErrEnded says that the group has moved on to another generation, or is about to. Another member may own the
// partitions.
var ErrEnded = errors.New("the group's generation is over")

// Generation is one assignment of partitions to this member. Its methods are safe for concurrent use.
type Generation struct {
	// ID and MemberID go with every commit, in a transaction or not. The broker refuses those of earlier generations.
	ID       int32
	MemberID string
	// Partitions of each topic, ascending. A topic without partitions for this member may be missing.
	Partitions map[string][]int

	conn     *kafkaconn.Conn
	group    string
	report   func(error)
	done     chan struct{}
	once     sync.Once
	released chan struct{}
	left     bool // the member was taken out of the group; only Next uses it
}

// Offset is a committed position: the offset of the next record to read in a partition, and the committer's own note.
type Offset struct {
	Topic     string
	Partition int
	// Offset is −1 if the group has not committed one.
	Offset int64
	// Metadata is stored unchanged. By default brokers accept up to 4096 bytes.
	Metadata string
}

// Done is closed when the generation is over: the group rebalances, the broker did not answer a heartbeat, topics have
// changed, or the member was closed.
func (g *Generation) Done() <-chan struct{} { return g.done }

func (g *Generation) release() { g.once.Do(func() { close(g.released) }) }

// Commit commits positions for the group. It returns ErrEnded when the broker knows of a later generation, and retries
// temporary failures until ctx ends.
func (g *Generation) Commit(ctx context.Context, offsets []Offset) error {
	topics := make(map[string][]kafka.OffsetCommit)
	for _, o := range offsets {
		topics[o.Topic] = append(topics[o.Topic],
			kafka.OffsetCommit{Partition: o.Partition, Offset: o.Offset, Metadata: o.Metadata})
	}
	if len(topics) == 0 {
		return nil
	}
	_, err := kafkaconn.Retry(ctx, g.report, func(ctx context.Context) (struct{}, error) {
		res, err := g.conn.Client.OffsetCommit(ctx, &kafka.OffsetCommitRequest{
			GroupID:      g.group,
			GenerationID: int(g.ID),
			MemberID:     g.MemberID,
			Topics:       topics,
		})
		if err != nil {
			return struct{}{}, err
		}
		answered := 0
		for topic, partitions := range res.Topics {
			for _, p := range partitions {
				answered++
				if p.Error != nil {
					return struct{}{}, fmt.Errorf("%s/%d: %w", topic, p.Partition, p.Error)
				}
			}
		}
		if answered < len(offsets) {
			return struct{}{}, fmt.Errorf("%d of %d partitions answered: %w", answered, len(offsets), kafka.Unknown)
		}
		return struct{}{}, nil
	})
	if err == nil {
		return nil
	}
	return fmt.Errorf("commit offsets of consumer group %s: %w", g.group, ended(err))
}

// Confirm asks the broker whether the generation still holds. It returns ErrEnded when it does not, and retries
// temporary failures until ctx ends. While the members gather for the next generation, this one still holds: no other
// member has its partitions yet.
func (g *Generation) Confirm(ctx context.Context) error {
	_, err := kafkaconn.Retry(ctx, g.report, func(ctx context.Context) (struct{}, error) {
		// kafka-go's own request does not look for the coordinator, and takes the throttle time for the error.
		request := kmsg.NewPtrHeartbeatRequest()
		request.Group, request.Generation, request.MemberID = g.group, g.ID, g.MemberID
		m, err := kafkaconn.Exchange{Request: request, ClientID: g.conn.ClientID, Group: g.group}.Send(ctx, g.conn.Client)
		if err == nil {
			err = kafkaconn.Coded(m.(*kmsg.HeartbeatResponse).ErrorCode)
		}
		if errors.Is(err, kafka.RebalanceInProgress) {
			err = nil
		}
		return struct{}{}, err
	})
	if err != nil {
		return fmt.Errorf("confirm the membership of consumer group %s: %w", g.group, ended(err))
	}
	return nil
}

// ended turns the answers that mean that the generation is over into ErrEnded.
func ended(err error) error {
	for _, code := range []kafka.Error{kafka.IllegalGeneration, kafka.UnknownMemberId, kafka.RebalanceInProgress,
		kafka.FencedInstanceID} {
		if errors.Is(err, code) {
			return fmt.Errorf("%w: %w", ErrEnded, err)
		}
	}
	return err
}

// Committed returns the group's committed position in each of the partitions, with Offset −1 where there is none. It
// does not see commits of a transaction that is still open. Opening the transactional id first ends that transaction.
func (g *Generation) Committed(ctx context.Context, topic string, partitions []int) (map[int]Offset, error) {
	if len(partitions) == 0 {
		return map[int]Offset{}, nil // for an empty list a broker returns all
	}
	found, err := kafkaconn.Retry(ctx, g.report, func(ctx context.Context) (map[int]Offset, error) {
		res, err := g.conn.Client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{
			GroupID: g.group, Topics: map[string][]int{topic: partitions},
		})
		if err != nil {
			return nil, err
		}
		if res.Error != nil {
			return nil, res.Error
		}
		found := make(map[int]Offset, len(partitions))
		for _, p := range res.Topics[topic] {
			if p.Error != nil {
				return nil, fmt.Errorf("partition %d: %w", p.Partition, p.Error)
			}
			found[p.Partition] = Offset{Topic: topic, Partition: p.Partition, Offset: p.CommittedOffset,
				Metadata: p.Metadata}
		}
		for _, p := range partitions {
			if _, ok := found[p]; !ok {
				return nil, fmt.Errorf("partition %d was not answered: %w", p, kafka.Unknown)
			}
		}
		return found, nil
	})
	if err != nil {
		return nil, fmt.Errorf("committed offsets of consumer group %s in %s: %w", g.group, topic, err)
	}
	return found, nil
}
