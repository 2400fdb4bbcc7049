package decide

import (
	"testing"

	"pgregory.net/rapid"
)

// happened counts what has befallen worlds.
type happened struct{ losses, renewals, snapshots int }

func (h happened) enough(t *testing.T) {
	t.Helper()
	if h.losses == 0 || h.renewals == 0 || h.snapshots == 0 {
		t.Errorf("parts were lost %d times, %d snapshots were made and users were forgotten %d times: the test tests "+
			"nothing", h.losses, h.snapshots, h.renewals)
	}
}

// disturbed is a world whose sessions stop at any moment.
type disturbed struct {
	*capWorld
	steps   int // the most steps of a history
	commits int // the most windows of a commit
	away    int // of the numbers 0 to 3, those up to this one mean that a user has no record in a slice
	// save makes the snapshots that are due. spoil spoils them.
	save  func(d *decider)
	spoil func()
}

// befall lets a history befall the world: sessions stop before a transaction, between several, after an abort that is
// adopted, and after one that left nothing. In half of the histories snapshots are spoilt, and parts are lost that are
// still needed.
func (c disturbed) befall(r *rapid.T, t *testing.T, done *happened) {
	loses := rapid.Bool().Draw(r, "parts are lost")
	d := c.session(t)
	for range rapid.IntRange(10, c.steps).Draw(r, "steps") {
		switch rapid.SampledFrom([]string{"slice", "slice", "slice", "commit", "commit", "abort", "nothing", "keep",
			"stop", "lose", "save", "spoil"}).Draw(r, "step") {
		case "slice":
			var came [capUsers]bool
			for u := range came {
				came[u] = rapid.IntRange(0, 3).Draw(r, "comes") > c.away
				c.hides[u] = c.row > 0 && came[u] && rapid.IntRange(0, 3).Draw(r, "hides") == 0
			}
			c.next(came, max(0, rapid.Int64Range(-9, 1).Draw(r, "lost of the input")))
		case "commit":
			d.read(c.capWorld)
			c.ledger = append(c.ledger, d.draws(rapid.IntRange(1, c.commits).Draw(r, "windows"))...)
		case "abort": // others may have seen it
			d.read(c.capWorld)
			c.aborted = d.draws(rapid.IntRange(1, 4).Draw(r, "windows"))
			d = c.session(t)
		case "nothing": // nobody has
			d.read(c.capWorld)
			d.draws(2)
			d = c.session(t)
		case "save":
			c.save(d)
		case "spoil":
			if loses {
				c.spoil()
			}
		case "keep":
			if needs := min(d.gather.Needs(d.offset), d.attendance.Needs()); needs > c.deleted {
				c.deleted, c.kept = needs, d.attendance.Saved()
			}
		case "stop":
			d = c.session(t)
		case "lose":
			d.read(c.capWorld)
			if loses {
				d.rebuild()
				done.losses++
				c.deleted, c.lost = max(c.deleted, d.gather.Needs(d.offset)), true
				d = c.session(t)
			}
		}
	}
	c.aborted = nil
}
