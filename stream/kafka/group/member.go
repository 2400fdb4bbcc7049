package group

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// Config of a member.
type Config struct {
	// Conn is the connection to the cluster. Required.
	Conn *kafkaconn.Conn
	// GroupID names the group. Required.
	GroupID string
	// Topics to read, at least one. They need not exist yet.
	Topics []string
	// SessionTimeout is how long the group waits for a silent member, and for one that has to give up its partitions.
	// Between 6 and 10 s; defaults to 10 s. (Brokers refuse less than 6 s by default.)
	SessionTimeout time.Duration
	// WatchInterval is how often the topics are checked for new partitions. Defaults to 5 s.
	WatchInterval time.Duration
	// OnError, if not nil, is called with each failure that is about to be retried, and with nil after a success. It
	// may be called from several goroutines at once.
	OnError func(error)
}

const (
	minSession = 6 * time.Second
	maxSession = 10 * time.Second
	// heartbeats is the number of heartbeats in a session timeout. A member learns from its next heartbeat that the
	// group rebalances.
	heartbeats = 10
	// joinTimeout limits one exchange with the coordinator, not counting the time that the coordinator itself may wait.
	joinTimeout = 5 * time.Second
	// closePatience is how long Close waits for an exchange before it cuts the connection. A member that is cut off
	// during its first join does not know its id yet and can't leave, so the others have to wait until its session
	// times out.
	closePatience = 5 * time.Second
	leaveTimeout  = 2 * time.Second
	// mostGaps bounds how rarely a group rebalances while partitions are still assigned to nobody: at least once in
	// 2^mostGaps looks.
	mostGaps = 6
)

// ErrClosed is returned by Next after Close.
var ErrClosed = errors.New("the group member is closed")

// Member is this process's membership. Call Next from one goroutine only, and Close from any.
type Member struct {
	config Config
	dialer *dialer
	closed chan struct{}
	gaps   int // how many generations in a row had partitions assigned to nobody; only watch uses it

	mu      sync.Mutex
	joined  *kafka.ConsumerGroup
	topics  []string // the topics that joined was made for
	current *Generation
}

// Join checks the configuration and makes a member. It does not wait for the group; Next does.
func Join(ctx context.Context, c Config) (*Member, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case c.Conn == nil:
		return nil, errors.New("consumer group: no connection; want one")
	case c.GroupID == "":
		return nil, errors.New("consumer group: no name; want one")
	case len(c.Topics) == 0:
		return nil, fmt.Errorf("consumer group %s: no topics; want at least one", c.GroupID)
	}
	if c.SessionTimeout == 0 {
		c.SessionTimeout = maxSession
	}
	if c.SessionTimeout < minSession || c.SessionTimeout > maxSession {
		return nil, fmt.Errorf("consumer group %s: session timeout %v; want from %v to %v", c.GroupID, c.SessionTimeout,
			minSession, maxSession)
	}
	if c.WatchInterval <= 0 {
		c.WatchInterval = 5 * time.Second
	}
	c.Topics = slices.Compact(slices.Sorted(slices.Values(c.Topics)))
	return &Member{config: c, dialer: newDialer(c.Conn.Dialer), closed: make(chan struct{})}, nil
}

// Next gives up the last generation and waits for the next. It reports every failure to Config.OnError and retries
// until ctx ends or the member is closed (ErrClosed).
func (m *Member) Next(ctx context.Context) (*Generation, error) {
	m.release()
	wait := kafkaconn.NewBackOff()
	for {
		g, err := m.next(ctx)
		select {
		case <-m.closed:
			return nil, ErrClosed
		default:
		}
		if err == nil {
			m.report(nil)
			return g, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		m.report(err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-m.closed:
			return nil, ErrClosed
		case <-time.After(wait.NextBackOff()):
		}
	}
}

func (m *Member) next(ctx context.Context) (*Generation, error) {
	counts, err := m.counts(ctx)
	if err != nil {
		return nil, err
	}
	group, err := m.join(slices.Sorted(maps.Keys(counts)))
	if err != nil {
		return nil, err
	}
	gen, err := group.Next(ctx)
	if err != nil {
		if ctx.Err() == nil { // otherwise nothing has failed: the member stays, so that its workers can still commit
			m.leaveBehind(ctx, err)
			m.rest(err)
		}
		return nil, fmt.Errorf("join consumer group %s: %w", m.config.GroupID,
			kafkaconn.Needs(err, "Read", "group "+m.config.GroupID))
	}
	g := &Generation{
		ID:         gen.ID,
		MemberID:   gen.MemberID,
		Partitions: make(map[string][]int),
		conn:       m.config.Conn,
		group:      m.config.GroupID,
		report:     m.report,
		done:       make(chan struct{}),
		released:   make(chan struct{}),
	}
	for topic, assigned := range gen.Assignments {
		for _, a := range assigned {
			g.Partitions[topic] = append(g.Partitions[topic], a.ID)
		}
		slices.Sort(g.Partitions[topic])
	}
	m.mu.Lock()
	m.current = g
	m.mu.Unlock()
	// kafka-go ends a generation as soon as one of its functions returns, and joins the next one when all have.
	gen.Start(func(ctx context.Context) { m.watch(ctx, counts) })
	gen.Start(func(ctx context.Context) {
		<-ctx.Done()
		close(g.done)
		select {
		case <-g.released:
		case <-m.closed:
		}
	})
	return g, nil
}

// leaveBehind takes the old member out of the group after a failed join. kafka-go forgets its id and joins as a new
// member, and the group would wait for the old one until its session times out.
func (m *Member) leaveBehind(ctx context.Context, failure error) {
	m.mu.Lock()
	last := m.current
	m.mu.Unlock()
	if last == nil || last.left || errors.Is(failure, kafka.RebalanceInProgress) {
		return // after a RebalanceInProgress the member is still the same
	}
	last.left = m.leave(ctx, last.MemberID) == nil
}

// rest gives up the attempts to join after a failed one, so that the next one comes when Next has waited, for a time
// that grows and is partly random. Each attempt is that of a new member. If several processes made them at a fixed
// rhythm, a coordinator that waits anew whenever a member comes, such as that of the embedded broker, might never be
// done.
func (m *Member) rest(failure error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.joined != nil && !errors.Is(failure, kafka.RebalanceInProgress) { // then the member is still the same
		_ = m.joined.Close() // always nil
		m.joined = nil
	}
}

// leave takes a member out of the group if it is in it.
func (m *Member) leave(ctx context.Context, member string) error {
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	res, err := m.config.Conn.Client.LeaveGroup(ctx, &kafka.LeaveGroupRequest{
		GroupID: m.config.GroupID, Members: []kafka.LeaveGroupRequestMember{{ID: member}},
	})
	if err == nil && !errors.Is(res.Error, kafka.UnknownMemberId) {
		err = res.Error
	}
	return err
}

// join makes a ConsumerGroup for these topics, or keeps the present one if it has the same topics.
func (m *Member) join(topics []string) (*kafka.ConsumerGroup, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.closed:
		return nil, ErrClosed
	default:
	}
	if m.joined != nil && slices.Equal(m.topics, topics) {
		return m.joined, nil
	}
	if m.joined != nil {
		_ = m.joined.Close() // always nil
		m.joined = nil
	}
	c := m.config
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID:                c.GroupID,
		Brokers:           c.Conn.Brokers,
		Dialer:            &m.dialer.Dialer,
		Topics:            topics,
		HeartbeatInterval: c.SessionTimeout / heartbeats,
		SessionTimeout:    c.SessionTimeout,
		RebalanceTimeout:  c.SessionTimeout,
		JoinGroupBackoff:  time.Hour, // it does not try again by itself: see rest
		Timeout:           joinTimeout,
	})
	if err != nil {
		return nil, err
	}
	m.joined, m.topics = group, topics
	return group, nil
}

// counts returns the number of partitions of each existing topic.
func (m *Member) counts(ctx context.Context) (map[string]int, error) {
	res, err := m.config.Conn.Client.Metadata(ctx, &kafka.MetadataRequest{Topics: m.config.Topics})
	if err != nil {
		return nil, err
	}
	counts := make(map[string]int)
	for _, t := range res.Topics {
		switch {
		case t.Error == nil && len(t.Partitions) > 0:
			counts[t.Name] = len(t.Partitions)
		case t.Error == nil, errors.Is(t.Error, kafka.UnknownTopicOrPartition):
		default:
			return nil, fmt.Errorf("topic %s: %w", t.Name, t.Error)
		}
	}
	if len(counts) == 0 {
		return nil, fmt.Errorf("consumer group %s: %w: %v", m.config.GroupID, errNoTopic, m.config.Topics)
	}
	return counts, nil
}

var errNoTopic = errors.New("none of its topics exists")

// watch returns when topics have appeared, disappeared or changed their number of partitions, when a partition is
// assigned to nobody, or when ctx ends. It ignores failed requests. If no topic existed, nothing was assigned, so it
// returns as soon as there is one.
func (m *Member) watch(ctx context.Context, known map[string]int) {
	ticker := time.NewTicker(m.config.WatchInterval)
	defer ticker.Stop()
	whole := false // every partition is assigned
	for ticks := 1; ; ticks++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		counts, err := m.counts(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			if errors.Is(err, errNoTopic) {
				known = nil
			}
			m.report(err)
			continue
		}
		if !maps.Equal(known, counts) {
			return
		}
		if whole || ticks < 1<<m.gaps {
			continue
		}
		switch left, err := m.unassigned(ctx, counts); {
		case err != nil: // it is asked again
		case left:
			m.gaps = min(m.gaps+1, mostGaps)
			return
		default:
			whole, m.gaps = true, 0
		}
	}
}

// unassigned reports whether a partition is assigned to nobody. The member that assigns them looks at the topics at a
// moment of its own. A topic that is missing just then is assigned to nobody, and the looks of other members, before
// and after, do not notice.
func (m *Member) unassigned(ctx context.Context, counts map[string]int) (bool, error) {
	id := m.config.GroupID
	res, err := m.config.Conn.Client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{id}})
	switch {
	case err != nil:
		return false, err
	case len(res.Groups) != 1 || res.Groups[0].Error != nil:
		return false, fmt.Errorf("consumer group %s is not described: %w", id, kafka.Unknown)
	case res.Groups[0].GroupState != "Stable":
		return false, fmt.Errorf("consumer group %s is %s", id, res.Groups[0].GroupState)
	}
	assigned := map[string]map[int]bool{}
	for _, member := range res.Groups[0].Members {
		for _, t := range member.MemberAssignments.Topics {
			if assigned[t.Topic] == nil {
				assigned[t.Topic] = map[int]bool{}
			}
			for _, p := range t.Partitions {
				assigned[t.Topic][p] = true
			}
		}
	}
	for topic, n := range counts {
		if len(assigned[topic]) < n {
			return true, nil
		}
	}
	return false, nil
}

// release gives up the current generation.
func (m *Member) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.current != nil {
		m.current.release()
	}
}

func (m *Member) report(err error) {
	if m.config.OnError != nil {
		m.config.OnError(err)
	}
}

// Close ends the current generation and leaves the group, so that others get the partitions without waiting for the
// session timeout. It usually takes a few milliseconds. It can take seven seconds if the broker does not answer, or if
// other members hold up a rebalance. The error says why leaving failed.
func (m *Member) Close() error {
	m.mu.Lock()
	select {
	case <-m.closed:
		m.mu.Unlock()
		return nil
	default:
	}
	close(m.closed)
	group, last := m.joined, m.current
	m.mu.Unlock()
	if group == nil {
		return nil
	}
	left := make(chan struct{})
	go func() {
		_ = group.Close() // always nil
		close(left)
	}()
	select {
	case <-left:
		return nil
	case <-time.After(closePatience):
	}
	// An exchange is under way, most likely waiting for other members to join.
	m.dialer.cut()
	<-left
	if last == nil {
		return nil
	}
	return m.leave(context.Background(), last.MemberID)
}

// dialer keeps track of the connections that kafka-go opens for the group, because kafka-go offers no way to interrupt
// an exchange.
type dialer struct {
	kafka.Dialer
	mu   sync.Mutex
	open map[net.Conn]struct{}
}

func newDialer(base *kafka.Dialer) *dialer {
	d := &dialer{Dialer: *base, open: make(map[net.Conn]struct{})}
	d.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := base.DialFunc(ctx, network, address)
		if err != nil {
			return nil, err
		}
		t := &tracked{Conn: c, dialer: d}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.open[t] = struct{}{}
		return t, nil
	}
	return d
}

// cut closes all connections.
func (d *dialer) cut() {
	d.mu.Lock()
	open := slices.Collect(maps.Keys(d.open))
	d.mu.Unlock()
	for _, c := range open {
		_ = c.Close()
	}
}

type tracked struct {
	net.Conn
	dialer *dialer
}

func (t *tracked) Close() error {
	t.dialer.mu.Lock()
	delete(t.dialer.open, t)
	t.dialer.mu.Unlock()
	return t.Conn.Close()
}
