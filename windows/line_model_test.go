package windows

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// step does one thing.
func (h *history) step() {
	likely := []int{0, 1, 2, 3, 4, 5, 0, 0, 0, 1, 2, 2, 2, 3, 5, 5, 6, 7}
	if h.truncates {
		likely = append(likely, 8, 9)
	}
	kind := likely[h.choose(len(likely))]
	if (kind < 4 || kind == 9) && len(h.workers) == 0 {
		h.start()
		return
	}
	some := func() *modelWorker { return h.workers[h.choose(len(h.workers))] }
	switch kind {
	case 0:
		h.take(some())
	case 1:
		h.flush(some())
	case 2:
		h.send(some())
	case 3:
		w := some()
		if h.cut(w); h.wrong == "cuts are forgotten" && w.through > h.first() {
			w.through -= modelStep
		}
	case 4:
		if len(h.workers) < 3 {
			h.start()
		} else {
			i := h.choose(len(h.workers))
			h.workers = slices.Delete(h.workers, i, i+1)
			h.say("worker %d stops", i)
		}
	case 5:
		if h.choose(4) == 0 {
			h.now += modelStep
			h.say("minute %d", h.now/modelStep)
			break
		}
		// an event of the last slice, of this one or of the next one
		slice := max(0, h.now/modelStep+int64(h.choose(3))-1)
		h.add(slice * modelStep)
		h.say("record %d in %d", len(h.records)-1, slice)
	case 6:
		if len(h.late) > 0 {
			h.log = append(h.log, h.late[h.choose(len(h.late))]...)
			h.say("log has %d, repeated", len(h.log))
		}
	case 7:
		h.lose()
	case 8:
		h.truncate()
	case 9:
		h.keep(some())
	}
}

// lose deletes records of the input, or messages of the log.
func (h *history) lose() {
	switch h.choose(5) {
	case 0:
		for i := range h.records {
			h.deleted[i] = true
		}
		h.say("%d records are deleted", len(h.records))
	case 1:
		least := 1
		if h.silent { // what the second reader has read, the next one finds too
			least = max(1, h.readers[1].next)
		}
		if n := len(h.log); n > least {
			from := least + h.choose(n-least)
			for i := from; i < min(n, from+1+h.choose(4)); i++ {
				h.log[i].gone = true
			}
			h.lossy = true
			h.say("messages from %d on are deleted", from)
		}
	}
}

// random makes a history of so many steps and checks what its readers find.
func (h *history) random(steps int) error {
	h.now, h.below, h.gone = modelStep/2, map[[16]byte][]int{}, map[int]bool{}
	h.readers = []*modelReader{h.reader(h.first()), h.reader(h.first()), h.reader(h.first())}
	for i := range steps {
		if h.step(); h.before {
			return errors.New("a worker begins before the first record of its topic")
		}
		for k, r := range h.readers {
			if k == 2 && i < steps-1 {
				break // reads all at the end
			}
			if err := h.read(r, h.choose(3)*(1+h.choose(1+8*k))/2); err != nil {
				return err
			}
			if err := h.check(r); err != nil {
				return fmt.Errorf("reader %d: %w", k, err)
			}
			h.decide(r)
			if k == 1 && h.choose(8) == 0 {
				var err error
				h.say("reader %d begins anew at %d, and has read to %d", k, r.g.Needs(int64(r.next)), r.next)
				if h.readers[k], err = h.again(r); err != nil {
					return err
				}
			}
		}
	}
	for k, r := range h.readers {
		err := h.read(r, len(h.log))
		if err == nil {
			err = h.check(r)
		}
		if err != nil {
			return fmt.Errorf("reader %d at the end: %w", k, err)
		}
	}
	return nil
}

// numbersMeet is wrong only if the times of marks do not tell them apart.
const numbersMeet = "numbers of two workers meet"

func randomHistory(seed uint64, wrong string, truncates bool) (*history, error) {
	random := rand.New(rand.NewPCG(seed, 1))
	h := &history{choose: random.IntN, wrong: wrong,
		schedule: Schedule{Size: time.Duration(1+seed%3) * time.Minute, Every: time.Minute}, silent: seed%2 == 0,
		truncates: truncates, coarse: wrong == numbersMeet}
	return h, h.random(20 + random.IntN(120))
}

// Each record of a complete window counts once, and none of an incomplete one twice, whatever workers and readers do.
func TestLinesCountEachRecordOnce(t *testing.T) {
	t.Parallel()
	histories := uint64(10_000)
	if testing.Short() {
		histories = 3_000
	}
	for seed := range histories {
		for _, truncates := range []bool{false, true} {
			if h, err := randomHistory(seed, "", truncates); err != nil {
				t.Fatalf("history %d: %v\n%s", seed, err, strings.Join(h.told, "\n"))
			}
		}
	}
}

// Each of these faults of a worker is found: the rule of line.go relies on what workers do right.
func TestLinesNeedWhatWorkersDo(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"progress before the acknowledgement", "a part goes beyond the cut",
		"a record is skipped", "a record is read again", "cuts are forgotten", numbersMeet, "numbers change while bags are full"} {
		t.Run(wrong, func(t *testing.T) {
			for seed := range uint64(20_000) {
				_, err := randomHistory(seed, wrong, strings.HasPrefix(wrong, "numbers"))
				if err != nil && !errors.Is(err, errIncomplete) {
					t.Logf("history %d: %v", seed, err)
					return
				}
			}
			t.Error("no history shows it")
		})
	}
	for _, wrong := range []string{"the mark comes before the parts"} {
		t.Run(wrong, func(t *testing.T) { // windows are incomplete, and never wrong
			found := false
			for seed := range uint64(3_000) {
				_, err := randomHistory(seed, wrong, false)
				if found = found || errors.Is(err, errIncomplete); err != nil && !errors.Is(err, errIncomplete) {
					t.Fatalf("history %d: %v", seed, err)
				}
			}
			if !found {
				t.Error("no history shows it")
			}
		})
	}
}
