package chaostest

import (
	"slices"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
)

// processUser is the user as whom the processes log in. The test itself uses another one, who may do everything.
const processUser = "louver"

// logIn gives the processes all rights.
func (c *chaos) logIn() {
	c.login = []string{"--kafka-sasl-mechanism", "PLAIN", "--kafka-sasl-username", processUser,
		"--kafka-sasl-password-file", clitest.File(c.t, "password", processUser)}
	var acls []kafka.ACLEntry
	for _, of := range []kafka.ResourceType{kafka.ResourceTypeTopic, kafka.ResourceTypeGroup,
		kafka.ResourceTypeTransactionalID} {
		acls = append(acls, kafka.ACLEntry{ResourceType: of, ResourceName: "*",
			ResourcePatternType: kafka.PatternTypeLiteral, Principal: "User:" + processUser, Host: "*",
			Operation: kafka.ACLOperationTypeAll, PermissionType: kafka.ACLPermissionTypeAllow})
	}
	c.broker.CreateACLs(c.t, acls...)
}

// takeAway revokes a right on a topic of the processes, and returns a function that grants it again.
func (c *chaos) takeAway(operation kafka.ACLOperationType, topic string) (giveBack func()) {
	return c.broker.TakeAway(c.t, processUser, operation, topic)
}

// deny revokes one right for a while. Streams that do not need it go on meanwhile, and afterwards all of them do.
func (c *chaos) deny() bool {
	read, write := kafka.ACLOperationTypeRead, kafka.ACLOperationTypeWrite
	rights := []struct {
		operation kafka.ACLOperationType
		topic     string
	}{
		{read, c.streams[0].input}, {read, c.streams[2].input}, {read, c.streams[3].input}, {read, c.output},
		{write, c.output},
		{read, c.names.Ledger()}, {write, c.names.Ledger()}, {read, c.names.Partials()}, {write, c.names.Partials()},
		{read, c.names.Progress()}, {write, c.names.Progress()},
	}
	right := rights[c.random.IntN(len(rights))]
	at := time.Now()
	giveBack := c.takeAway(right.operation, right.topic)
	c.t.Logf("without %s on %s", right.operation, right.topic)
	c.wait(c.between(5, 15))
	for _, s := range c.streams {
		if right.topic == c.output || slices.Contains(c.load.topics, right.topic) && !c.waits(s, right.topic) {
			c.until(s.name+" goes on without "+right.operation.String()+" on "+right.topic,
				func() bool { return c.decided(s, at) })
		}
	}
	giveBack()
	c.await(time.Now())
	return true
}

// waits says whether windows of a stream wait for an input: one of a budget's windows waits for those that are due
// earlier.
func (c *chaos) waits(s promised, input string) bool {
	return slices.ContainsFunc(c.streams,
		func(o promised) bool { return o.input == input && o.newest().budget == s.newest().budget })
}

// decided says whether a window of a stream is decided that began after a moment.
func (c *chaos) decided(s promised, after time.Time) bool {
	return slices.ContainsFunc(c.read(c.names.Ledger(), topics.Place(s.newest().budget, topics.Partitions)),
		func(l logged) bool {
			e, err := ledger.Decode(l.value)
			return err == nil && !l.aborted && e.Stream == s.name && e.WindowStart.After(after)
		})
}
