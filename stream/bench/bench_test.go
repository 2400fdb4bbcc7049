package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/pprof/profile"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/windows"
)

func TestMain(m *testing.M) {
	if args := os.Getenv(floorVariable); args != "" {
		os.Exit(floorMain(args))
	}
	os.Exit(m.Run())
}

// result is what a row shows. What is 0 was not measured.
type result struct {
	rate     float64 // events a second, from the first that was read to the last
	cpu      float64 // µs of user and system time for each event, of the whole process from start to end
	rss      float64 // MiB at the most
	user     float64 // bytes of an open slice for each user
	p50, p99 time.Duration
	first    time.Duration // from the start of a process to its first figure
}

// TestBench prints the table. It checks nothing but that all figures are published.
func TestBench(t *testing.T) {
	words, chosenRows := os.LookupEnv("BENCH")
	if !chosenRows && os.Getenv("BENCH_EVENTS") == "" {
		t.Skip("a run takes long; make bench starts it")
	}
	events, users := number(t, "BENCH_EVENTS", 2_000_000), number(t, "BENCH_USERS", 100_000)
	binary := filepath.Join(t.TempDir(), "louver")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, "./cmd/louver")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "| row\t| events/s\t| CPU µs/event\t| peak RSS MiB\t| bytes/user\t| p50 due → published\t| p99\t"+
		"| start → first figure\t|")
	_, _ = fmt.Fprintln(w, strings.Repeat("|---\t", 8)+"|")
	for _, r := range chosen(words) {
		t.Run(r.name, func(t *testing.T) {
			got := r.measure(t, kafkatest.Real(t), binary, events, users)
			_, _ = fmt.Fprintf(w, "| %s\t| %s\t| %s\t| %s\t| %s\t| %s\t| %s\t| %s\t|\n", r.name,
				shown("%.0f", got.rate), shown("%.2f", got.cpu), shown("%.0f", got.rss), shown("%.1f", got.user),
				shown("%.0f ms", ms(got.p50)), shown("%.0f ms", ms(got.p99)), shown("%.1f s", got.first.Seconds()))
			t.Logf("%+v", got)
		})
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%d events, %d users, %d cores\n\n%s\n", events, users, runtime.NumCPU(), table.String())
}

func shown(format string, v float64) string {
	if v == 0 {
		return "–"
	}
	return fmt.Sprintf(format, v)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q; want a number of at least 1", variable, text)
	}
	return n
}

func (r row) measure(t *testing.T, b *kafkatest.Broker, binary string, events, users int) result {
	if r.kind == slice {
		return result{user: sliceBytes(users)}
	}
	if r.kind == restarted {
		events *= 5 // ten million, unless BENCH_EVENTS says otherwise
	}
	input := b.Topic(t, partitions, nil)
	p := newProducer(t, r, b, input, or(r.users, users))
	if r.kind == live {
		return r.live(t, b, p, binary, input)
	}
	from := time.Now().UTC().Truncate(time.Minute).Add(-4 * time.Hour)
	for i := range events {
		p.send(t, from.Add(time.Duration(i)*(history/time.Duration(events))))
	}
	p.flush(t)
	if r.kind == restarted {
		return r.restart(t, b, binary, input, from, events)
	}
	if r.kind != backlog {
		what := map[kind]string{fetched: "fetch", parsed: "parse"}[r.kind]
		self := exec.Command(os.Args[0])
		self.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s %d", floorVariable, what,
			strings.Join(b.Conn.Brokers, ","), input, events))
		begin := time.Now()
		if out, err := self.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		got := usage(self, events)
		got.rate = float64(events) / time.Since(begin).Seconds()
		return got
	}
	output := b.Topic(t, 1, nil)
	if r.idle > 0 {
		b.CreateTopic(t, input+"-idle", partitions, nil)
	}
	s := r.start(t, b, binary, input, output, from)
	var others []*service
	for range or(r.processes, 1) - 1 {
		others = append(others, r.startAs(t, b, binary, s.app, input, output, from))
	}
	if r.events > 0 { // a growth table says nothing of rates
		r.published(t, b, output, func(*kgo.Record) {})
		got := s.end(t, events)
		for _, o := range others {
			other := o.end(t, events)
			got.cpu, got.rss = got.cpu+other.cpu, max(got.rss, other.rss)
		}
		return got
	}
	all := (events + or(r.oneIn, 1) - 1) / or(r.oneIn, 1) * or(r.streams, 1)
	first := s.await(t, 1)
	begin := time.Now()
	s.await(t, all)
	rate := float64(all-first) * float64(or(r.oneIn, 1)) / time.Since(begin).Seconds() / float64(or(r.streams, 1))
	r.published(t, b, output, func(*kgo.Record) {})
	got := s.end(t, events)
	got.rate = rate
	return got
}

// restart ends a service in the middle of the events, and measures how long another one takes to its first figure.
func (r row) restart(t *testing.T, b *kafkatest.Broker, binary, input string, from time.Time, events int) result {
	output := b.Topic(t, 1, nil)
	s := r.start(t, b, binary, input, output, from)
	s.await(t, events/2)
	if r.killed {
		if err := s.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = s.Wait()
	} else {
		s.end(t, events)
	}
	begin := time.Now()
	s = r.startAs(t, b, binary, s.app, input, output, from)
	first := time.Duration(0)
	r.published(t, b, output, func(*kgo.Record) {
		if first == 0 {
			first = time.Since(begin)
		}
	})
	got := s.end(t, events)
	got.cpu, got.first = 0, first // half of the events were read twice at the most: CPU of one says nothing
	return got
}

// live measures how long after it was due a window is published: until a reader of committed records has it.
func (r row) live(t *testing.T, b *kafkatest.Broker, p *producer, binary, input string) result {
	from := time.Now().UTC().Truncate(r.length()).Add(r.length() + 10*time.Second).Truncate(r.length())
	output := b.Topic(t, 1, nil)
	s := r.start(t, b, binary, input, output, from)
	ctx, stop := context.WithCancel(t.Context())
	sent, ended := 0, make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for begin := time.Now(); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				for until := int(time.Since(begin).Seconds() * float64(r.rate())); sent < until; sent++ {
					p.send(t, time.Now())
				}
			}
		}
	}()
	var delays []time.Duration
	r.published(t, b, output, func(record *kgo.Record) {
		now := time.Now()
		var figure struct {
			End time.Time `json:"window_end"`
		}
		if err := json.Unmarshal(record.Value, &figure); err != nil {
			t.Error(err)
		}
		delays = append(delays, now.Sub(figure.End.Add(time.Second))) // the grace
	})
	stop()
	<-ended
	got := s.end(t, sent)
	slices.Sort(delays)
	got.p50, got.p99 = delays[len(delays)/2], delays[len(delays)*99/100]
	got.rate = float64(r.rate())
	return got
}

// published waits until all figures of a row are in the output, and shows each.
func (r row) published(t *testing.T, b *kafkatest.Broker, output string, show func(*kgo.Record)) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Conn.Brokers...), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{output: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for n := 0; n < r.figures(); {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%d of %d figures are published: %v", n, r.figures(), err)
		}
		fetches.EachRecord(func(record *kgo.Record) { n++; show(record) })
	}
}

// service is the program in a process of its own.
type service struct {
	*exec.Cmd
	log     bytes.Buffer
	app     string
	metrics string
}

func (r row) start(t *testing.T, b *kafkatest.Broker, binary, input, output string, from time.Time) *service {
	t.Helper()
	return r.startAs(t, b, binary, kafkatest.Name(t), input, output, from)
}

// startAs starts a process of an app that may have others.
func (r row) startAs(t *testing.T, b *kafkatest.Broker, binary, app, input, output string, from time.Time) *service {
	t.Helper()
	file := filepath.Join(t.TempDir(), "streams.yaml")
	if err := os.WriteFile(file, []byte(r.yaml(input, output, from)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &service{Cmd: exec.Command(binary, "run", "--streams", file, "--app-id", app), app: app,
		metrics: kafkatest.Address(t)}
	s.Env = append(os.Environ(), "LOUVER_KAFKA_BROKERS="+strings.Join(b.Conn.Brokers, ","),
		"LOUVER_HTTP_ADDR=127.0.0.1:0", "LOUVER_METRICS_ADDR="+s.metrics, "LOUVER_DEBUG_ENDPOINTS=true")
	if r.bags > 0 {
		s.Env = append(s.Env, fmt.Sprint("LOUVER_BAG_BYTES=", r.bags))
	}
	s.Stdout, s.Stderr = &s.log, &s.log
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("BENCH_PROFILE"); dir != "" {
		go s.profile(t, filepath.Join(dir, strings.ReplaceAll(r.name, "/", "-")+".pprof"))
	}
	t.Cleanup(func() {
		_ = s.Process.Kill()
		if t.Failed() {
			_ = s.Wait()
			t.Log(s.log.String())
		}
	})
	return s
}

// profile writes what the service does in its first seconds to a file. It takes some percent of its time.
func (s *service) profile(t *testing.T, file string) {
	const seconds = 4
	for t.Context().Err() == nil {
		response, err := http.Get(fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", s.metrics, seconds)) //nolint:bodyclose // save does
		if err != nil {
			continue // it does not listen yet
		}
		if err := save(response.Body, file); err != nil {
			t.Error(err)
		}
		return
	}
}

// save writes a profile to a file, without the folder of the program, which was made for this run.
func save(body io.ReadCloser, file string) error {
	defer body.Close() //nolint:errcheck // only read
	p, err := profile.Parse(body)
	if err != nil {
		return err
	}
	for _, m := range p.Mapping {
		m.File = filepath.Base(m.File)
	}
	var data bytes.Buffer
	if err := p.Write(&data); err != nil {
		return err
	}
	return os.WriteFile(file, data.Bytes(), 0o600)
}

// await waits until the service says that it has read so many events, and returns how many it has. It seldom asks: each
// answer costs the service some two milliseconds, which are in what is measured.
func (s *service) await(t *testing.T, events int) (n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for ticker := time.NewTicker(250 * time.Millisecond); n < events; n = s.read() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("%d of %d events are read: %v", n, events, ctx.Err())
		}
	}
	return n
}

// unpacked asks for texts as they are: to compress what it says would cost the service more than to say it.
var unpacked = http.Client{Transport: &http.Transport{DisableCompression: true}}

// read is how many events the service says that it has read, over all streams.
func (s *service) read() (n int) {
	response, err := unpacked.Get("http://" + s.metrics + "/metrics")
	if err != nil {
		return 0 // it does not listen yet
	}
	defer response.Body.Close() //nolint:errcheck // only read
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "louver_events_total{") {
			count, err := strconv.ParseFloat(lines.Text()[strings.LastIndexByte(lines.Text(), ' ')+1:], 64)
			if err == nil {
				n += int(count)
			}
		}
	}
	return n
}

// end ends the service in good order, and says what it took.
func (s *service) end(t *testing.T, events int) result {
	t.Helper()
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := s.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return usage(s.Cmd, events)
}

// usage is what a process that has ended took.
func usage(c *exec.Cmd, events int) result {
	took := c.ProcessState.SysUsage().(*syscall.Rusage)
	cpu := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	return result{cpu: float64(cpu) / float64(time.Microsecond) / float64(events), rss: float64(took.Maxrss) / 1024}
}

// sliceBytes is what a user takes in an open slice, as the heap grows.
func sliceBytes(users int) float64 {
	hasher := windows.NewHasher([16]byte{1})
	before := heap()
	bag := windows.NewBag(windows.BagSpec{Groups: []string{"g0", "g1", "g2"}, MaxGroups: 1, Policy: windows.Last,
		Window: windows.Window{Start: 0, End: int64(time.Minute)}, Hasher: hasher})
	for i := range users {
		bag.Add(hasher.User(fmt.Appendf(nil, "u-%06d", i)), i%3, int64(i), int64(i%1000))
	}
	after := heap()
	runtime.KeepAlive(bag)
	return float64(after-before) / float64(users)
}

func heap() int64 {
	for range 3 { // what is in a pool goes at the second collection
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
