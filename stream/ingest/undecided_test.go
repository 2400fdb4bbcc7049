package ingest

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/windows"
)

// registry is a schema registry in memory. It is out of reach while away is set, and notes what it is asked for.
type registry struct {
	mu      sync.Mutex
	schemas map[uint32]codec.Registered
	away    error
	asked   []codec.SchemaID
}

func (r *registry) Schema(_ context.Context, id codec.SchemaID) (codec.Registered, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, id)
	if r.away != nil {
		return codec.Registered{}, r.away
	}
	s, ok := r.schemas[id.Number]
	if !ok {
		return s, codec.ErrNoSchema
	}
	return s, nil
}

func (r *registry) times() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.asked)
}

// keeping makes the part of a partition's worker that keeps records aside, with one stream. taken gets the offsets of
// records that are decided. Windows begin now.
func keeping(t *testing.T, r *registry, taken *[]int64) (*undecided, lane) {
	t.Helper()
	g := &Ingest{BagBytes: 64 << 10, schemas: newSchemas(r, zap.NewNop(), func(error) {})}
	g.Env = stage.Env{Log: zap.NewNop(), Monitor: health.New(zap.NewNop())}
	s := testStream(t)
	s.Input.Format, s.Input.Schema.Registry = "avro", true
	edition := editionOf(s, floor(time.Now().UnixNano(), 2*second))
	in, err := newStreamInput(edition, windows.NewHasher([16]byte{1}), g.schemas)
	if err != nil {
		t.Fatal(err)
	}
	l := lane{in}
	p := &undecided{reader: &reader{Ingest: g, at: stage.Partition{Topic: "in"}, streams: l}}
	p.take = func(l lane, offset int64, rec *fetch.Record) {
		l.add(offset, rec)
		*taken = append(*taken, offset)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); g.schemas.run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return p, l
}

// keepNothing lets a worker write its progress nowhere, until stop is called.
func keepNothing(p *undecided) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	p.kept = stage.NewLatest(ctx, func(context.Context, progress.Input) error { return nil })
	return func() { cancel(); p.kept.Wait() }
}

// naming is a record that names a schema.
func naming(id uint32, more int) *fetch.Record {
	value := append(binary.BigEndian.AppendUint32([]byte{0}, id), make([]byte, more)...)
	return &fetch.Record{Value: value, Time: time.Now().UnixMilli()}
}

// What is kept aside takes a bounded amount of memory. A schema that the registry does not have may be behind for half
// a minute: until then nothing is given up.
func TestWhatIsKeptAsideIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var taken []int64
		p, l := keeping(t, &registry{}, &taken)
		began := time.Now()
		for i := range int64(1000) {
			if !p.keep(l, i, naming(7, 1000)) {
				t.Fatalf("record %d is not kept aside", i)
			}
			if err := p.relieve(t.Context()); err != nil {
				t.Fatal(err)
			}
			if p.bytes > 32<<10 {
				t.Fatalf("%d bytes are kept aside, want at most 32 KiB", p.bytes)
			}
			if len(taken) > 0 && time.Since(began) < behind {
				t.Fatalf("a record is given up after %s", time.Since(began))
			}
			if l[0].undecided != int64(len(taken)) {
				t.Fatalf("%d records are decided, and the stream says that record %d is not", len(taken), l[0].undecided)
			}
		}
		if len(taken) < 900 || time.Since(began) > 2*behind {
			t.Errorf("after %s %d records are decided", time.Since(began), len(taken))
		}
		for i, offset := range taken {
			if offset != int64(i) {
				t.Fatalf("record %d is the %dth to be given up; want the oldest first", offset, i)
			}
		}
	})
}

// A window waits for a registry that does not answer, and for none that has no such schema.
func TestWindowsWaitForAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var taken []int64
		r := &registry{away: errors.New("no route")}
		p, l := keeping(t, r, &taken)
		ctx, cancel := context.WithCancel(t.Context())
		written := make(chan progress.Input, 10)
		p.kept = stage.NewLatest(ctx, func(_ context.Context, in progress.Input) error { written <- in; return nil })
		defer func() { cancel(); p.kept.Wait() }()
		p.pages = (&fetch.Client{}).Partition("in", 0, 0)
		p.last = p.progress()
		p.keep(l, 3, naming(7, 10))
		waited, began := make(chan error, 1), time.Now()
		go func() { waited <- p.await(t.Context(), l[0]) }()
		<-time.After(20 * time.Minute)
		if len(waited) > 0 || len(taken) > 0 {
			t.Fatal("a window is cut while the registry does not answer")
		}
		key := config.EditionKey(l[0].stream.Name, l[0].edition)
		if in := <-written; in.Streams[key].Asks == nil ||
			*in.Streams[key].Asks != (progress.Asks{Schema: "7", Since: began}) {
			t.Errorf("the progress says %+v; want that windows wait for schema 7", in)
		}
		r.mu.Lock()
		r.away = nil
		r.mu.Unlock()
		if err := <-waited; err != nil {
			t.Fatal(err)
		}
		if in := <-written; in.Streams[key].Asks != nil || len(written) > 0 {
			t.Errorf("the progress says %+v; want that windows wait no longer", in)
		}
		if len(taken) > 0 || l[0].undecided != 3 {
			t.Errorf("a record is rejected before its windows are cut")
		}
		l[0].through = math.MaxInt64 / 2
		if p.settle(); len(taken) != 1 || l[0].undecided != math.MaxInt64 {
			t.Errorf("no record is decided after its windows are cut")
		}
	})
}

// A key that begins with a zero byte may name a schema, or be a number. A record waits for the registry's answer about
// its key, and no longer than a registry may be behind.
func TestKeysWaitForAnAnswerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var taken []int64
		p, l := keeping(t, &registry{schemas: map[uint32]codec.Registered{1: {Format: "avro", Text: `"long"`}}}, &taken)
		s := testStream(t)
		s.Input.Format, s.Input.Schema.Registry, s.Input.User = "avro", true, codec.KeyField
		in, err := newStreamInput(editionOf(s, l[0].schedule.Start), l[0].hasher, p.schemas)
		if err != nil {
			t.Fatal(err)
		}
		l[0] = in
		rec := naming(1, 1)
		rec.Key = binary.BigEndian.AppendUint64(nil, 7<<24)
		for n, wait := range []time.Duration{0, time.Second, behind} {
			<-time.After(wait)
			if p.settle(); n == 0 && !p.keep(l, 3, rec) || len(taken) > n/2 {
				t.Fatalf("%d records are decided at %s", len(taken), wait)
			}
		}
		if len(taken) != 1 || p.keep(l, 4, rec) {
			t.Errorf("%d records are decided; want that keys that name nothing do not wait", len(taken))
		}
	})
}

// A restart reads what is kept aside again, and the marks still form a chain.
func TestProgressStaysBelowWhatIsKeptAside(t *testing.T) {
	r := testStreamInput(t, testStream(t))
	r.undecided = 5
	for _, to := range []int64{8, 12} {
		mark, err := r.flush(to, windows.Origin{}, 1, func(windows.Part) error { return nil })
		if err != nil || mark.To != to || mark.From > 5 || r.from != 5 {
			t.Errorf("a mark of the records from %d to %d, %v; a restart begins at %d, want 5", mark.From, mark.To, err,
				r.from)
		}
	}
}

// Where contributions add up, each record is in one part, and the marks follow one another without overlap, however
// long records wait for their schemas, whenever bags are written and windows cut, and wherever a worker dies. Records
// wait for a schema that comes within half a minute, also beyond a cut. Those whose schema never comes are in none.
func TestRecordsThatWaitAreAddedOnce(t *testing.T) {
	schema := codec.Registered{Format: "avro",
		Text: `{"type":"record","name":"r","fields":[{"name":"user","type":"string"}]}`}
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 41))
			r := &registry{schemas: map[uint32]codec.Registered{1: schema}}
			var accepted []int64 // in bags
			p, l := keeping(t, r, new([]int64))
			defer keepNothing(p)()
			s := testStream(t)
			s.Input.Format, s.Input.Schema.Registry, s.Contribution = "avro", true, windows.Count
			s.Input.User, s.Input.Value, s.Input.Time = "user", "", codec.TimestampField
			s.Window.Size, s.Window.Every = 24*time.Hour, time.Minute // no record is late
			edition := editionOf(s, floor(time.Now().UnixNano(), s.Window.Every.Nanoseconds())-s.Window.Size.Nanoseconds())
			p.take = func(l lane, offset int64, rec *fetch.Record) {
				if v := l.add(offset, rec); v.rejected == codec.OK && v.when == 0 {
					accepted = append(accepted, offset)
				}
			}
			var in *streamInput
			begin := func(from, through int64) {
				var err error
				if in, err = newStreamInput(edition, l[0].hasher, p.schemas); err != nil {
					t.Fatal(err)
				}
				in.from, in.through = from, max(in.through, through)
				l[0], p.records, p.bytes, accepted = in, nil, 0, nil
			}
			begin(0, 0)
			var log []uint32 // the schema of each record
			next, upTo := int64(0), int64(0)
			written := map[int64]int{}
			flush := func(to int64) {
				t.Helper()
				to, err := p.upTo(t.Context(), in, to)
				if err != nil {
					t.Fatal(err)
				}
				parts := 0
				mark, err := in.flush(to, windows.Origin{}, 1, func(windows.Part) error { parts++; return nil })
				if err != nil || mark.From != upTo || mark.To < mark.From || (parts > 0) != (len(accepted) > 0) {
					t.Fatalf("seed %d: %v, a mark of %d to %d with %d parts after one that ends at %d", seed, err, mark.From,
						mark.To, parts, upTo)
				}
				for _, offset := range accepted {
					if written[offset]++; offset < mark.From || offset >= mark.To || written[offset] > 1 {
						t.Fatalf("seed %d: record %d is written %d times, and in a part of %d to %d", seed, offset,
							written[offset], mark.From, mark.To)
					}
				}
				upTo, accepted = mark.To, nil
			}
			read := func() {
				if next == int64(len(log)) {
					log = append(log, []uint32{1, 1, 1, 2, 9}[random.IntN(5)])
				}
				for in.reached(next) {
					flush(in.cuts[0].offset)
				}
				rec := naming(log[next], 0)
				rec.Value = append(rec.Value, 2, byte('a'+random.IntN(3)))
				if !p.keep(l, next, rec) {
					p.take(l, next, rec)
				}
				next++
			}
			cut := func() {
				if through, due := in.due(time.Now().UnixNano()); due {
					in.cutAt(through, next, 1)
				}
				for in.reached(next) {
					flush(in.cuts[0].offset)
				}
			}
			for step := range 300 {
				switch random.IntN(12) {
				case 0:
					<-time.After(time.Duration(random.IntN(20)) * time.Second)
				case 1:
					p.sweep()
				case 2:
					flush(next)
				case 3:
					cut()
				case 4:
					if random.IntN(4) == 0 { // another worker goes on at the progress
						begin(in.from, in.through)
						next = in.from
					}
				default:
					read()
				}
				if step == 20 { // sooner than half a minute after anybody asked, unless time has passed
					r.mu.Lock()
					r.schemas[2] = schema
					r.mu.Unlock()
				}
			}
			for next < int64(len(log)) {
				read()
			}
			<-time.After(2 * time.Minute)
			cut()
			flush(next)
			for offset, id := range log {
				if n := written[int64(offset)]; id == 1 && n != 1 || id == 9 && n != 0 || id == 2 && offset > 40 && n != 1 {
					t.Errorf("seed %d: record %d, of schema %d, is written %d times", seed, offset, id, n)
				}
			}
		})
	}
}

// A window of a stream that adds up waits for half a minute for a schema that the registry denies. Others do not.
func TestSumsWaitForASchema(t *testing.T) {
	for policy, want := range map[windows.Policy]time.Duration{windows.Count: behind, windows.Last: 0} {
		synctest.Test(t, func(t *testing.T) {
			var taken []int64
			p, l := keeping(t, &registry{}, &taken)
			l[0].stream.Contribution = policy
			defer keepNothing(p)()
			p.keep(l, 3, naming(7, 10))
			<-time.After(time.Second)
			began := time.Now()
			l[0].cutAt(l[0].through+1, 5, 1)
			to, err := p.upTo(t.Context(), l[0], 5)
			waited := time.Since(began)
			if err != nil || to != 5 || waited < want-3*time.Second || waited > want+3*time.Second ||
				len(taken) > 0 != (want > 0) {
				t.Errorf("%s: waits %s, want %s, and goes up to %d, %v, with %d records decided", policy, waited, want, to, err,
					len(taken))
			}
		})
	}
}

// The registry is asked for few of many numbers, and for the one that most records name first.
func TestFewRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registry{schemas: map[uint32]codec.Registered{9: {Format: "avro", Text: `"string"`}}}
		s := newSchemas(r, zap.NewNop(), func(error) {})
		for id := range uint32(5000) {
			s.Known(codec.Numbered(1000 + id))
		}
		for range 3 {
			s.Known(codec.Numbered(9))
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.run(ctx) }()
		<-time.After(59 * time.Second)
		if got := r.times(); got > 1+mostDenied || r.asked[0] != codec.Numbered(9) {
			t.Errorf("asked for %v", r.asked)
		}
		if _, known := s.Known(codec.Numbered(9)); !known || s.find(codec.Numbered(9)) != isKnown {
			t.Error("schema 9 is not known")
		}
		if len(s.all) > mostNumbers {
			t.Errorf("%d numbers are remembered", len(s.all))
		}
		cancel()
		<-done
	})
}

// A new schema is found while records come whose numbers are no schemas, and its windows wait for a registry that does
// not answer just then.
func TestNewSchemaAmongUnframedRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var taken []int64
		r := &registry{}
		p, l := keeping(t, r, &taken)
		offset := int64(0)
		keep := func(id uint32) {
			if offset++; !p.keep(l, offset, naming(id, 1)) {
				t.Fatalf("record %d is not kept aside", offset)
			}
		}
		for id := range uint32(100) {
			keep(1000 + id)
		}
		<-time.After(5 * time.Second)
		if got := r.times(); got < mostDenied || got > 10*mostDenied || p.schemas.find(codec.Numbered(1099)) != isUnknown &&
			p.schemas.find(codec.Numbered(1098)) != isUnknown {
			t.Fatalf("%d requests; want that the registry is asked for no more numbers", got)
		}
		r.mu.Lock()
		r.away = errors.New("no route")
		r.mu.Unlock()
		for range mostRecords {
			keep(9)
		}
		<-time.After(5 * time.Second)
		if got := p.schemas.find(codec.Numbered(9)); got != isAsked {
			t.Errorf("schema 9 is in state %v; want that its windows wait for the registry", got)
		}
		r.mu.Lock()
		r.away, r.schemas = nil, map[uint32]codec.Registered{9: {Format: "avro", Text: `"long"`}}
		r.mu.Unlock()
		<-time.After(5 * time.Second)
		if got := p.schemas.find(codec.Numbered(9)); got != isKnown {
			t.Errorf("schema 9 is in state %v; want that it is known", got)
		}
		// Numbers that several records name are bounded too.
		before := r.times()
		for id := range uint32(300) {
			for range mostRecords {
				keep(5000 + id)
			}
		}
		<-time.After(5 * time.Second)
		if got := r.times() - before; got > 2*(mostDenied+mostDeniedOften)*5 {
			t.Errorf("%d more requests", got)
		}
	})
}
