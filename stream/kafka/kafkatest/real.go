package kafkatest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// shared is the one real broker of this test process. The first test that needs it starts it, and it ends with the
// process.
var shared struct {
	sync.Mutex
	server *server
}

// Real is an Apache Kafka that all tests of this process share. Use names made by Name, and don't stop it.
func Real(t testing.TB) *Broker {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		dir, err := os.MkdirTemp("", "louver-kafka-")
		if err != nil {
			t.Fatal(err)
		}
		s := newServer(t, 1, dir)
		s.shared = true
		boot(t, []*server{s})
		shared.server = s
	}
	b := &Broker{nodes: []*server{shared.server}}
	b.connect(t, []string{shared.server.addr})
	return b
}

// Own is an Apache Kafka for this test alone, which may Kill and Start it.
func Own(t testing.TB) *Broker {
	t.Helper()
	s := newServer(t, 1, t.TempDir())
	t.Cleanup(s.kill)
	boot(t, []*server{s})
	b := &Broker{nodes: []*server{s}}
	b.connect(t, []string{s.addr})
	return b
}

// Kill ends the broker as kill -9 does, or every node of a Cluster. Only for Own and Cluster.
func (b *Broker) Kill(t testing.TB) {
	t.Helper()
	for _, s := range b.own(t) {
		s.kill()
	}
}

// Stop ends the broker in good order. Only for Own.
func (b *Broker) Stop(t testing.TB) {
	t.Helper()
	for _, s := range b.own(t) {
		s.stop(t)
	}
}

// Start starts the broker again after Kill or Stop, with the data it had and at the same address, and waits until it
// answers. In a Cluster it starts every node that does not run.
func (b *Broker) Start(t testing.TB) {
	t.Helper()
	if err := start(b.own(t)); err != nil {
		t.Fatal(err)
	}
}

func (b *Broker) own(t testing.TB) []*server {
	t.Helper()
	if len(b.nodes) == 0 || b.nodes[0].shared {
		t.Fatal("only a broker made by Own or Cluster can be stopped and started")
	}
	return b.nodes
}

// server is a Kafka process: a node that is broker and controller.
type server struct {
	id        int
	libs, dir string
	// template is the folder that the broker is made from. If there is none, Java writes its classes to archive.
	template, archive string
	shared            bool
	// users have passwords, and no rights until the test grants them. If nil, everyone may do everything.
	users []string
	addr  string
	// cluster is the id of the Kafka that the node belongs to. Tests run side by side, so after a while another server
	// may answer at the node's address.
	cluster string
	// front, if not nil, stands between the node and its clients and other nodes.
	front *front
	pid   int
	// alive is the process's stdin: a shell waits for it to close and then kills Kafka. So Kafka ends with the test
	// process, however the process ends.
	alive io.Closer
	ended chan struct{}
}

const properties = `process.roles=broker,controller
node.id=%[1]d
listeners=PLAINTEXT://%[2]s,CONTROLLER://%[3]s
advertised.listeners=PLAINTEXT://%[4]s
controller.quorum.voters=%[5]s
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=%[6]s
auto.create.topics.enable=false
default.replication.factor=%[7]d
min.insync.replicas=%[8]d
offsets.topic.replication.factor=%[7]d
offsets.topic.num.partitions=2
transaction.state.log.replication.factor=%[7]d
transaction.state.log.min.isr=%[8]d
transaction.state.log.num.partitions=2
share.coordinator.state.topic.replication.factor=%[7]d
share.coordinator.state.topic.min.isr=%[8]d
group.initial.rebalance.delay.ms=0
transaction.abort.timed.out.transaction.cleanup.interval.ms=500
broker.session.timeout.ms=%[9]d
broker.heartbeat.interval.ms=300
metadata.max.idle.interval.ms=5000
num.io.threads=2
num.network.threads=1
`

// boot configures, formats and starts the nodes of one Kafka. A free port may be taken before Kafka binds it; then boot
// tries others.
func boot(t testing.TB, nodes []*server) {
	t.Helper()
	var err error
	for range 3 {
		if err = configure(nodes); err == nil {
			err = start(nodes)
		}
		if err == nil {
			return
		}
		for _, s := range nodes {
			s.kill()
			_ = os.RemoveAll(s.data())
		}
	}
	t.Fatalf("Kafka %s does not start: %v", Version(), err)
}

func (s *server) data() string   { return filepath.Join(s.dir, "data") }
func (s *server) config() string { return filepath.Join(s.dir, "server.properties") }
func (s *server) log() string    { return filepath.Join(s.dir, "server.log") }

// configure gives the nodes addresses and formats their folders.
func configure(nodes []*server) error {
	addrs, err := freeAddresses(2 * len(nodes))
	if err != nil {
		return err
	}
	var voters []string
	for i, s := range nodes {
		voters = append(voters, fmt.Sprintf("%d@%s", s.id, addrs[2*i+1]))
	}
	cluster := newID()
	var formatting errgroup.Group
	for i, s := range nodes {
		s.addr, s.cluster = addrs[2*i], cluster
		advertised := s.addr
		if s.front != nil {
			advertised = s.front.addr()
			s.front.to.Store(&s.addr)
		}
		text := fmt.Appendf(nil, properties, s.id, s.addr, addrs[2*i+1], advertised, strings.Join(voters, ","),
			s.data(), len(nodes), max(1, len(nodes)-1), s.session(len(nodes)).Milliseconds())
		if s.users != nil {
			text = s.guard(text)
		}
		if err := os.WriteFile(s.config(), text, 0o644); err != nil {
			return err
		}
		formatting.Go(s.format)
	}
	return formatting.Wait()
}

// start starts the nodes that do not run, and returns when all answer.
func start(nodes []*server) error {
	for _, s := range nodes {
		if s.alive == nil {
			if err := s.launch(); err != nil {
				return err
			}
		}
	}
	for _, s := range nodes {
		if err := s.await(); err != nil {
			return err
		}
	}
	return nil
}

// admin is the user who may do everything. Every user's password is its name.
const admin = "admin"

// admin is how the tests log in, or nil if the broker asks nobody to.
func (s *server) admin() sasl.Mechanism {
	if s.users == nil {
		return nil
	}
	return plain.Mechanism{Username: admin, Password: admin}
}

// guard makes the broker check credentials and rights. It trusts its controller, which has a listener of its own.
func (s *server) guard(config []byte) []byte {
	config = bytes.ReplaceAll(config, []byte("listeners=PLAINTEXT:"), []byte("listeners=SASL_PLAINTEXT:"))
	config = bytes.ReplaceAll(config, []byte("PLAINTEXT:PLAINTEXT"), []byte("SASL_PLAINTEXT:SASL_PLAINTEXT"))
	config = fmt.Appendf(config, `security.inter.broker.protocol=SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN,OAUTHBEARER
sasl.mechanism.inter.broker.protocol=PLAIN
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:%[1]s;User:ANONYMOUS
listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="%[1]s";
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="%[1]s" password="%[1]s"`, admin)
	for _, user := range s.users {
		config = fmt.Appendf(config, ` user_%[1]s="%[1]s"`, user)
	}
	return append(config, ";\n"...)
}

// session is how long the controller waits for a broker's heartbeat before it takes its partitions away. A restarted
// broker has to wait that long, but on a busy machine a short session ends by itself.
func (s *server) session(nodes int) time.Duration {
	switch {
	case s.shared:
		return 30 * time.Second
	case nodes > 1:
		return 6 * time.Second // nothing waits for it: another node leads meanwhile
	}
	return 3 * time.Second
}

// watchdog starts a program, prints its pid, and kills it when stdin closes.
const watchdog = `"$@" >>"$LOG" 2>&1 & p=$!
echo $p
(cat >/dev/null; kill -9 $p 2>/dev/null) <&3 &
wait $p
[ -z "$REMOVE" ] || rm -rf "$REMOVE"`

func (s *server) launch() error {
	// 3 is the real stdin: a shell gives its background jobs an empty one.
	cmd := exec.Command("sh", append([]string{"-c", "exec 3<&0; " + watchdog, "sh"}, s.java(broker, s.config())...)...)
	cmd.Env = append(os.Environ(), "LOG="+s.log())
	if s.shared {
		cmd.Env = append(cmd.Env, "REMOVE="+s.dir)
	}
	// A signal to the test's process group (Ctrl-C) must reach the watchdog only through stdin, or the folder would
	// stay behind.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return fmt.Errorf("the watchdog said %q: %w", line, err)
	}
	if s.pid, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
		return err
	}
	s.alive, s.ended = stdin, make(chan struct{})
	go func(ended chan struct{}) {
		_ = cmd.Wait() // usually "killed"
		close(ended)
	}(s.ended)
	return nil
}

// await returns when the broker answers.
func (s *server) await() error {
	conn, err := kafkaconn.New(kafkaconn.Config{Brokers: []string{s.addr}, SASL: s.admin()})
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	go func(ended chan struct{}) {
		select {
		case <-ended:
			cancel()
		case <-ctx.Done():
		}
	}(s.ended)
	err = conn.Check(ctx, nil)
	if err == nil {
		err = s.known(ctx, conn)
	}
	if err != nil {
		log, _ := os.ReadFile(s.log())
		s.kill()
		return fmt.Errorf("%w\n%s", err, log[max(0, len(log)-4096):])
	}
	return nil
}

// known returns an error if a server other than the node answers at its address.
func (s *server) known(ctx context.Context, conn *kafkaconn.Conn) error {
	res, err := conn.Client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{}})
	if err == nil && res.ClusterID != s.cluster {
		err = fmt.Errorf("cluster %s answers at %s; want %s", res.ClusterID, s.addr, s.cluster)
	}
	return err
}

func (s *server) kill() {
	if s.alive == nil {
		return
	}
	_ = s.alive.Close()
	<-s.ended
	s.alive = nil
}

func (s *server) stop(t testing.TB) {
	t.Helper()
	if err := syscall.Kill(s.pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	Receive(t, "the broker stops", s.ended)
	s.kill()
}

// Guarded is an Apache Kafka for this test alone. Clients log in by SASL PLAIN and may do only what they have been
// granted. Conn belongs to a user who may do everything; the others may do nothing yet. A user's password is its name.
// The broker also takes OAUTHBEARER, with unsigned tokens.
func Guarded(t testing.TB, users ...string) *Broker {
	t.Helper()
	s := newServer(t, 1, t.TempDir())
	s.users = append([]string{admin}, users...)
	t.Cleanup(s.kill)
	boot(t, []*server{s})
	b := &Broker{nodes: []*server{s}}
	b.connectAs(t, []string{s.addr}, s.admin())
	return b
}

// CreateACLs adds entries that allow or deny operations.
func (b *Broker) CreateACLs(t testing.TB, acls ...kafka.ACLEntry) {
	t.Helper()
	Await(t, "rights are made", func() bool {
		res, err := b.Conn.Client.CreateACLs(Context(t), &kafka.CreateACLsRequest{ACLs: acls})
		return err == nil && !slices.ContainsFunc(res.Errors, func(err error) bool { return err != nil })
	})
}

// TakeAway takes a right on a topic from a user, and returns what gives it back.
func (b *Broker) TakeAway(t testing.TB, user string, operation kafka.ACLOperationType, topic string) (giveBack func()) {
	t.Helper()
	denied := kafka.ACLEntry{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
		ResourcePatternType: kafka.PatternTypeLiteral, Principal: "User:" + user, Host: "*", Operation: operation,
		PermissionType: kafka.ACLPermissionTypeDeny}
	b.CreateACLs(t, denied)
	return func() {
		t.Helper()
		filter := kafka.DeleteACLsFilter{ResourceTypeFilter: denied.ResourceType,
			ResourceNameFilter: denied.ResourceName, ResourcePatternTypeFilter: denied.ResourcePatternType,
			PrincipalFilter: denied.Principal, HostFilter: denied.Host, Operation: denied.Operation,
			PermissionType: denied.PermissionType}
		Await(t, "the right is given back", func() bool {
			res, err := b.Conn.Client.DeleteACLs(Context(t),
				&kafka.DeleteACLsRequest{Filters: []kafka.DeleteACLsFilter{filter}})
			return err == nil && res.Results[0].Error == nil
		})
	}
}
