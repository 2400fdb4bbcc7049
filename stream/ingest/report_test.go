package ingest

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// looks returns how many of the keys are seen to be written in another way than others.
func (s *speller) looks(keys ...string) (others, looked int) {
	for _, key := range keys {
		other, seen := s.look([]byte(key))
		if seen {
			looked++
		}
		if other {
			others++
		}
	}
	return others, looked
}

func TestKeysWrittenInTwoWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all spellings
		one, other := &speller{topic: "in", all: &all}, &speller{topic: "in", all: &all}
		const plain, spaced, turned = `{"id":1,"at":2}`, `{"id": 1, "at": 2}`, `{"at":2,"id":1}`
		for _, c := range []struct {
			by             *speller
			keys           []string
			others, looked int
		}{
			{one, []string{plain, `{"id":3,"at":4}`, "u1", "17", "", "\x00\x00\x00\x00\x07" + plain}, 0, 3},
			{one, []string{spaced, turned, "\x00\x00\x00\x00\x08" + spaced, plain}, 3, 4},
			{other, []string{spaced, `{"id":1}`, `{"id":"x"}`, `[1, 2]`}, 1, 4}, // in another partition
			{&speller{topic: "elsewhere", all: &all}, []string{spaced, turned}, 1, 2},
		} {
			if others, looked := c.by.looks(c.keys...); others != c.others || looked != c.looked {
				t.Errorf("%q: %d of %d; want %d of %d", c.keys, others, looked, c.others, c.looked)
			}
		}
		// A producer that has changed for good is told of for an hour after its last old key.
		for range 59 {
			<-time.After(time.Minute)
			if others, _ := one.looks(spaced, spaced); others != 2 {
				t.Fatal("within an hour of the last key that was written in the other way, nothing is told")
			}
		}
		<-time.After(time.Minute)
		if others, _ := one.looks(spaced, spaced); others != 0 {
			t.Error("the way that nobody uses any more is still told of")
		}
		// Of many keys, one in sixteen is looked at.
		many := &speller{topic: "many", all: &all}
		looked := 0
		for i := range 20000 {
			_, n := many.looks(fmt.Sprintf(`{"id":%d}`, i))
			looked += n
		}
		if want := everyFirst + (20000-everyFirst)/everyLater; looked < want-1 || looked > want+1 {
			t.Errorf("%d of 20,000 keys are looked at, want %d", looked, want)
		}
	})
}

func TestKeysWrittenInTwoWaysAreTold(t *testing.T) {
	w, logs := trafficOfKeys(t)
	m := many(1000, verdict{})
	m.spelled, m.respelled = 1000, 1
	w.add(m)
	w.look(1)
	if all := logs.All(); len(all) != 1 || !strings.Contains(all[0].Message, "1 of 1,000 keys that were looked at in the "+
		"last minute are JSON that others write in another way, with other white space or another order of members: a "+
		"person counts once for each way") {
		t.Errorf("%v", all)
	}
}
