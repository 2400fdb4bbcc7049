package release

import (
	"fmt"
	"time"

	"github.com/louver/louver/stream/stage"
)

// worker decides the windows of the budgets in one partition, in one session after another.
type worker struct {
	*Release
	at         stage.Partition
	membership *stage.Membership
}

// remembers reports how many bytes are held that may not be dropped.
func (w *worker) remembers(bytes int64) {
	if w.Remembers != nil {
		w.Remembers(w.at.Number, bytes)
	}
}

// keepEvery is how often the progress is written.
const keepEvery = 5 * time.Second

// progressRecord says how far the parts have been read: everything that an undecided window needs is at Offset or
// above, given what is saved.
type progressRecord struct {
	Offset int64 `json:"offset"`
	// TopicID is the id of the topic that the offset is of; "" if the broker gives none.
	TopicID string `json:"topic_id,omitempty"`
	// LostAt is when the loss was noticed, if the topic had been recreated, as long as a window needs the new one from
	// its beginning.
	LostAt *time.Time `json:"lost_at,omitempty"`
	// Saved is the end of the window up to which a tracker needs no parts, because a snapshot says who has counted, or
	// because the tracker began there. It is in Unix nanoseconds, by the key of the tracker's snapshots.
	Saved map[string]int64 `json:"saved,omitempty"`
}

// of reports whether the record may be of the topic with an id.
func (r progressRecord) of(id string) bool { return r.TopicID == "" || id == "" || r.TopicID == id }

func (w *worker) progressKey() string { return fmt.Sprintf("release/%d", w.at.Number) }
