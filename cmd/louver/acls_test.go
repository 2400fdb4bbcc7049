package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// guarded is a service with its own topics, of which its user may use what the lines say that topics prints.
type guarded struct {
	t             *testing.T
	broker        *kafkatest.Broker
	user, file    string
	input, output string
	start         time.Time // of the first window
	lines         []string
	missing       int // the line that is not granted; −1: all are
	process       *clitest.Process
	name, right   string // of the missing line
}

// newGuarded makes the input, with an event and a bad record, and a streams file that uses every kind of topic.
func newGuarded(t *testing.T, b *kafkatest.Broker, user string, missing int) *guarded {
	t.Helper()
	g := &guarded{t: t, broker: b, user: user, missing: missing, input: user + "-in", output: user + "-out",
		start: time.Now().UTC().Truncate(2 * time.Second)}
	b.CreateTopic(t, g.input, 1, nil)
	b.Produce(t, g.input, 0, kafkatest.Values(fmt.Sprintf(`{"user":"u","value":1,"time":%q}`,
		g.start.Format(time.RFC3339)), "bad")...)
	g.file = clitest.File(t, "streams.yaml", configtest.File(configtest.Stream("guarded",
		configtest.Topics(g.input, g.output), configtest.Window(2*time.Second, 0), configtest.Start(g.start),
		configtest.Releases("{name: users, statistic: count, epsilon: 0.001}"),
		configtest.Set("rejects", "{topic: "+user+"-bad}"), configtest.Set("late", "{topic: "+user+"-late}"))))
	got := commandLine(t, "", "topics", g.file, "--format", "acls", "--app-id", user, "--kafka-sasl-username", user)
	if got.code != cli.ExitDone {
		t.Fatalf("%+v", got)
	}
	g.lines = strings.Split(strings.TrimSpace(got.out), "\n")
	return g
}

// grant gives all rights but the missing one, as kafka-acls.sh does with the lines.
func (g *guarded) grant() {
	g.t.Helper()
	var acls []kafka.ACLEntry
	for i, line := range g.lines {
		acl := kafka.ACLEntry{PermissionType: kafka.ACLPermissionTypeAllow,
			ResourcePatternType: kafka.PatternTypeLiteral, Host: "*"}
		args := strings.Fields(line)
		for i, arg := range args {
			var err error
			switch arg {
			case "--allow-principal":
				acl.Principal = args[i+1]
			case "--operation":
				err = acl.Operation.UnmarshalText([]byte(args[i+1]))
			case "--topic", "--group", "--transactional-id":
				err = acl.ResourceType.UnmarshalText([]byte(strings.ReplaceAll(arg, "-", "")))
				acl.ResourceName = args[i+1]
			case "--resource-pattern-type":
				err = acl.ResourcePatternType.UnmarshalText([]byte(args[i+1]))
			}
			if err != nil {
				g.t.Fatalf("%s: %v", line, err)
			}
		}
		if i != g.missing {
			acls = append(acls, acl)
			continue
		}
		g.name, g.right = acl.ResourceName, acl.Operation.String()
	}
	g.broker.CreateACLs(g.t, acls...)
	kafkatest.Await(g.t, "the broker knows the rights of user "+g.user, func() bool {
		res, err := g.broker.Conn.Client.DescribeACLs(kafkatest.Context(g.t),
			&kafka.DescribeACLsRequest{Filter: kafka.ACLFilter{ResourceTypeFilter: kafka.ResourceTypeAny,
				ResourcePatternTypeFilter: kafka.PatternTypeAny, PrincipalFilter: "User:" + g.user,
				Operation: kafka.ACLOperationTypeAny, PermissionType: kafka.ACLPermissionTypeAny}})
		if err != nil {
			g.t.Fatal(err)
		}
		known := 0
		for _, r := range res.Resources {
			known += len(r.ACLs)
		}
		return known == len(acls)
	})
}

func (g *guarded) run() {
	g.t.Helper()
	g.t.Cleanup(func() {
		if g.t.Failed() {
			log := g.process.Log.String()
			g.t.Logf("user %s, without %s on %s: %s", g.user, g.right, g.name, log[:min(len(log), 2000)])
		}
	})
	g.process = clitest.Louver(g.t, g.broker, "run", "--streams", g.file, "--app-id", g.user,
		"--kafka-sasl-mechanism", "PLAIN", "--kafka-sasl-username", g.user, "--kafka-sasl-password-file",
		clitest.File(g.t, "password", g.user))
}

// works says whether figures are published and the bad and the late record are copied.
func (g *guarded) works() bool {
	for _, topic := range []string{g.output, g.user + "-bad", g.user + "-late"} {
		if !g.holds(topic) {
			return false
		}
	}
	return true
}

// holds says whether there is a record in a topic.
func (g *guarded) holds(topic string) bool {
	res, err := g.broker.Conn.Client.ListOffsets(kafkatest.Context(g.t),
		&kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: {kafka.LastOffsetOf(0)}}})
	if err != nil {
		return false
	}
	for _, p := range res.Topics[topic] {
		if p.Error == nil && p.LastOffset > 0 {
			return true
		}
	}
	return false
}

// end is the end of the output's first partition.
func (g *guarded) end() int64 {
	g.t.Helper()
	ends, err := g.broker.Fetch(fetch.Options{}).Ends(kafkatest.Context(g.t), g.output, []int{0})
	if err != nil {
		g.t.Fatal(err)
	}
	return ends[0]
}

// TestEveryRightIsNeeded runs a service with all rights that topics lists, which works, and one without each of them,
// which says which right it lacks and on what. All but two are needed to work.
func TestEveryRightIsNeeded(t *testing.T) {
	t.Parallel()
	const lines = 16
	users := []string{"all"}
	for i := range lines {
		users = append(users, fmt.Sprintf("without%d", i))
	}
	b := kafkatest.Guarded(t, users...)
	var all []*guarded
	for i, user := range users {
		g := newGuarded(t, b, user, i-1)
		if len(g.lines) != lines {
			t.Fatalf("topics prints %d rights, want %d:\n%s", len(g.lines), lines, strings.Join(g.lines, "\n"))
		}
		g.grant()
		g.run()
		all = append(all, g)
	}
	for _, g := range all {
		published := false
		kafkatest.Await(t, "the service of user "+g.user+" works, or says what is missing", func() bool {
			if !published && g.holds(g.output) { // what comes now for the first window is late
				published = true
				b.Produce(t, g.input, 0, kafkatest.Values(fmt.Sprintf(`{"user":"late","value":1,"time":%q}`,
					g.start.Format(time.RFC3339)))...)
			}
			if g.missing < 0 {
				return g.works()
			}
			log := g.process.Log.String()
			named := strings.Contains(log, "the right "+g.right+" on") || strings.Contains(log, "grant "+g.right)
			return named && strings.Contains(log, g.name)
		})
		// Without Delete, what holds personal data is kept for longer. Without Read on the output, the page shows
		// nothing of it.
		if g.right == "Delete" || g.right == "Read" && g.name == g.output {
			kafkatest.Await(t, "the service of user "+g.user+" works without the right "+g.right, g.works)
			continue
		}
		if g.missing >= 0 && g.works() {
			t.Errorf("the service of user %s works without the right %s on %s", g.user, g.right, g.name)
		}
	}
	for _, g := range all {
		g.asks()
	}
}

// asks has louver check ask for the rights: it names the missing one. Brokers say nothing of transactional ids.
func (g *guarded) asks() {
	g.t.Helper()
	got := commandLine(g.t, "", "check", g.file, "--rights", "--app-id", g.user, "--kafka-brokers",
		strings.Join(g.broker.Conn.Brokers, ","), "--kafka-sasl-mechanism", "PLAIN", "--kafka-sasl-username", g.user,
		"--kafka-sasl-password-file", clitest.File(g.t, "password", g.user))
	named := regexp.MustCompile(`do not grant [A-Za-z, ]*\b` + g.right + `\b[A-Za-z, ]* on (topic|group) ` +
		regexp.QuoteMeta(g.name)).MatchString(got.err)
	switch all := strings.Contains(got.out, "The brokers grant these rights."); {
	case g.missing < 0 || strings.Contains(g.lines[g.missing], "--transactional-id"):
		if got.code != cli.ExitDone || !all {
			g.t.Errorf("user %s has all rights that can be asked for: %+v", g.user, got)
		}
	case !named || all || (got.code == cli.ExitDone) != (g.right == "Delete"):
		g.t.Errorf("user %s lacks %s on %s: code %d, %s", g.user, g.right, g.name, got.code, got.err)
	}
}
