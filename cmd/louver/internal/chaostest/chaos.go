// Package chaostest inflicts faults on a running service of several processes. A checker then reads all topics. It
// looks for windows that are missing, differ from the events that were sent, or were charged or published twice.
package chaostest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
)

// chaos is a service of several processes that suffers faults while it works.
type chaos struct {
	t      *testing.T
	broker *kafkatest.Broker
	random *rand.Rand
	names  topics.Names
	file   string
	// revision counts the files, redefined is when it was last raised.
	revision  int
	redefined time.Time
	began     time.Time
	from      time.Time
	streams   []promised
	output    string
	load      *load

	login   []string   // the flags by which the processes log in
	earlier []evidence // of apps that a privacy stop has ended
	gone    []logged   // what outputs held that were deleted

	members []*member
	all     []*member // those that have ended too
	repairs []repair
	down    time.Time // when all brokers were last started again
	faults  int

	watching sync.WaitGroup
	over     chan struct{} // closed when the app is at its end
	mu       sync.Mutex
	harms    []harm
}

// member is a process of the service.
type member struct {
	*clitest.Process
	name    string
	stopped bool
	ended   chan error
}

// repair undoes a fault at its time.
type repair struct {
	at time.Time
	do func()
}

// soon is when the streams of an app begin if the app itself begins now.
func soon() time.Time { return time.Now().UTC().Truncate(2 * shortest).Add(4 * shortest) }

// maxFuture is how far ahead of the clock the streams let an event be.
const maxFuture = time.Second

// configure writes the streams file, by the newest definitions.
func (c *chaos) configure() {
	yaml, budgets := "streams:\n", fmt.Sprintf("version: 1\nrevision: %d\nbudgets:\n", c.revision)
	seen := map[string]bool{}
	for _, s := range c.streams {
		v := s.newest()
		yaml += c.stream(s.name, s.input, s.policy, v)
		if !seen[v.budget] {
			seen[v.budget] = true
			budgets += fmt.Sprintf("  - {name: %s, epsilon: %s, delta: %s, per: %s}\n", v.budget, v.limit.Epsilon,
				v.limit.Delta, budget.FormatPer(v.limit.Per))
		}
	}
	if err := os.WriteFile(c.file, []byte(budgets+yaml), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c *chaos) stream(name, input, policy string, v definition) string {
	group, value, groups, upper := "", ", value: value", "", 1_000_000
	if len(v.groups) > 1 {
		group, groups = ", group: group", "    groups: ["+strings.Join(v.groups, ", ")+"]\n"
	}
	if v.finds {
		group, groups = ", group: value", found
	}
	if v.exact {
		upper = upperOf(policy)
	}
	if policy == "count" {
		value = ""
	}
	releases := ""
	for _, r := range v.releases {
		releases += fmt.Sprintf("      - {name: %s, %s", r, map[string]string{
			"users": "statistic: count, mechanism: geometric", "slow": fmt.Sprint("statistic: count, above: ",
				slowAbove),
			"p50": "statistic: median", spent: "statistic: sum, clip: none", spread: v.recent.histogram(),
			highs: fmt.Sprintf("statistic: count, above: %d, from: %s", slowAbove, spread)}[r])
		if r != highs {
			releases += fmt.Sprint(", epsilon: ", v.epsilon)
		}
		releases += "}\n"
	}
	if v.recent != (recent{}) {
		groups += "    together: " + everybody + "\n    fresh: true\n" // it shares its topic with another budget
		releases += v.recent.steps(v.epsilon)
	}
	if v.total > 0 {
		releases += fmt.Sprintf("      - {name: %s, statistic: count, since: hour, max_total: %d, epsilon: 1000000}\n",
			totalled, v.total)
	}
	text := fmt.Sprintf(`  - name: %s
    input: {topic: %s, user: user%s, time: time%s, max_future: %s}
%s    bounds: {lower: 0, upper: %d, step: 1, prior: uniform}
    window: {size: %s, every: %s, grace: %s, start: %s}
    contribution: %s
    releases:
%s    output: {topic: %s}
    budget: %s
    on_exhausted: withhold
`, name, input, value, group, maxFuture, groups, upper, v.size, v.every, v.grace, c.from.Format(time.RFC3339), policy,
		releases, c.output, v.budget)
	if v.cap > 0 {
		text += fmt.Sprintf("    max_windows: {count: %d, per: %s, parts: %d}\n", v.cap, budget.FormatPer(capPer),
			capParts)
	}
	for _, name := range v.watches() {
		text += fmt.Sprintf("    watches: [{name: %s, above: %d, users: %d, epsilon: 1000000, hold: 6s, at_most: "+
			"1000,\n      false_alarms: {at_most: 0.05, per: 30d}}]\n", name, slowAbove, v.alarm)
	}
	if v.continues != "" {
		text += "    continues: " + v.continues + "\n"
	}
	return text
}

// start starts a process.
func (c *chaos) start(flags ...string) *member {
	flags = slices.Concat([]string{"run", "--streams", c.file, "--app-id", c.names.App, "--shutdown-timeout", "2m",
		"--checkpoint-every", "8"}, c.login, flags)
	m := &member{name: fmt.Sprint("process ", len(c.all)+1), ended: make(chan error, 1),
		Process: clitest.Louver(c.t, c.broker, flags...)}
	go func() { m.ended <- m.Wait() }()
	c.members, c.all = append(c.members, m), append(c.all, m)
	return m
}

// anyone returns a process that is not stopped. There is always one: if not, it undoes all faults first.
func (c *chaos) anyone() *member {
	var able []*member
	for _, m := range c.members {
		if !m.stopped {
			able = append(able, m)
		}
	}
	if len(able) == 0 {
		c.repair()
		return c.anyone()
	}
	return able[c.random.IntN(len(able))]
}

func (c *chaos) remove(m *member) {
	for i, o := range c.members {
		if o == m {
			c.members = append(c.members[:i], c.members[i+1:]...)
			return
		}
	}
}

func (c *chaos) kill(m *member) {
	c.remove(m)
	m.Signal(c.t, syscall.SIGKILL)
	_ = kafkatest.Receive(c.t, m.name+" ends", m.ended) // it was killed
}

// terminate ends a process in good order.
func (c *chaos) terminate(m *member) {
	c.resume(m)
	c.remove(m)
	m.Signal(c.t, syscall.SIGTERM)
	err := kafkatest.Receive(c.t, m.name+" ends", m.ended)
	if err != nil && strings.Contains(m.Log.String(), "louver starts") { // before that a signal just ends it
		c.t.Errorf("%s: SIGTERM: %v\n%s", m.name, err, tail(m.Log.String()))
	}
}

func (c *chaos) resume(m *member) {
	if m.stopped {
		m.stopped = false
		m.Signal(c.t, syscall.SIGCONT)
	}
}

// pause ends all processes, and starts as many again when f has returned.
func (c *chaos) pause(f func()) {
	c.repair()
	n := len(c.members)
	for len(c.members) > 0 {
		c.terminate(c.members[0])
	}
	f()
	for range n {
		c.start()
	}
}

// later undoes something after a time.
func (c *chaos) later(after time.Duration, do func()) {
	c.repairs = append(c.repairs, repair{time.Now().Add(after), do})
}

// repair undoes now what is still to be undone.
func (c *chaos) repair() {
	repairs := c.repairs
	c.repairs = nil
	for _, m := range repairs {
		m.do()
	}
}

// wait lets the service work for a while, undoes the faults that are over, and fails if a process has ended by itself.
func (c *chaos) wait(d time.Duration) {
	until := time.Now().Add(d)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for now := time.Now(); ; now = <-tick.C {
		c.look(now)
		if !now.Before(until) {
			return
		}
	}
}

// look undoes the faults that are over, and fails if a process has ended by itself.
func (c *chaos) look(now time.Time) {
	due := c.repairs
	c.repairs = nil
	for _, m := range due {
		if m.at.After(now) {
			c.repairs = append(c.repairs, m)
		} else {
			m.do()
		}
	}
	for _, m := range slices.Clone(c.members) {
		select {
		case err := <-m.ended:
			if !c.unreached(m, err) {
				c.t.Fatalf("%s has ended by itself: %v\n%s", m.name, err, tail(m.Log.String()))
			}
			c.remove(m)
			c.start()
		default:
		}
	}
}

// until lets the service work until cond is true.
func (c *chaos) until(what string, cond func() bool) {
	for began := time.Now(); !cond(); c.wait(500 * time.Millisecond) {
		if time.Since(began) > patience {
			c.t.Fatalf("waited %v for this: %s", patience, what)
		}
	}
}

// unreached says whether a process gave up because it reached no broker when it started, while they were all down or
// just starting. Whatever runs a process would start it again, and so does the chaos.
func (c *chaos) unreached(m *member, err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == cli.ExitBroker && time.Since(c.down) < 2*time.Minute &&
		strings.Contains(m.Log.String(), "no Kafka broker answered")
}

// note remembers a fault.
func (c *chaos) note(kind string, at time.Time) {
	c.t.Logf("+%5.1fs %s (%d processes)", at.Sub(c.began).Seconds(), kind, len(c.members))
	c.faults++
}

func tail(log string) string { return log[max(0, len(log)-4096):] }

// keepLogs writes the processes' logs to a folder if the test failed.
func (c *chaos) keepLogs(seed uint64) {
	if !c.t.Failed() {
		return
	}
	dir, err := os.MkdirTemp("", fmt.Sprintf("louver-chaos-%d-", seed))
	if err != nil {
		c.t.Error(err)
		return
	}
	for _, m := range c.all {
		if err := os.WriteFile(filepath.Join(dir, strings.ReplaceAll(m.name, " ", "-")+".log"), []byte(m.Log.String()),
			0o600); err != nil {
			c.t.Error(err)
		}
	}
	c.t.Logf("the logs of all processes are in %s", dir)
}

// patience is how long the service may take for anything that it must do at some time.
const patience = 3 * time.Minute

// between draws a time in seconds.
func (c *chaos) between(low, high int) time.Duration {
	return time.Duration(low)*time.Second + time.Duration(c.random.Int64N(int64(high-low)*int64(time.Second)))
}

// outputPartitions is the number of partitions of the output.
const outputPartitions = 2

func (c *chaos) createOutput() {
	c.broker.CreateTopic(c.t, c.output, outputPartitions, map[string]string{"retention.ms": "-1"})
}
