package chaostest

import (
	"fmt"
	"slices"
	"time"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// figureKey names a figure of a group in the window that ends at a moment.
func figureKey(stream, group, release string, end time.Time) string {
	return fmt.Sprintf("%s/%s/%s at %s", stream, group, release, end.UTC().Format(time.RFC3339))
}

// published are the records in the outputs, by figureKey. Only of streams whose windows all have different ends.
func (c *checker) published(stream string) map[string]outputs.Record {
	all := map[string]outputs.Record{}
	for _, l := range c.outputs {
		if r, ours, err := outputs.Decode(l.value); err == nil && ours && !l.aborted && r.Stream == stream {
			all[figureKey(stream, r.Group, r.Release, r.WindowEnd)] = r
		}
	}
	return all
}

// checkSums compares what is added up over all groups and over the newest time with the published windows. It is a
// matter of published numbers only, so it holds exactly at any ε.
func (c *checker) checkSums() {
	for _, s := range c.streams {
		if s.newest().recent == (recent{}) {
			continue
		}
		records := c.published(s.name)
		var run []ledger.Entry // the windows whose numbers can be added
		var before definition
		for _, e := range c.of(s.name) {
			v := c.follows[windowKey(s.name, e.WindowStart)]
			if !v.sameHistogram(before) || v.recent.last != before.recent.last {
				run = nil
			}
			before, run = v, append(run, e)
			c.checkTogether(v, e, records)
			first := slices.IndexFunc(run,
				func(o ledger.Entry) bool { return !o.WindowStart.Before(e.WindowEnd.Add(-v.recent.last)) })
			run = run[first:]
			for _, group := range append(slices.Clone(v.groups), everybody) {
				c.checkSum(v, group, run, records)
			}
		}
	}
}

// sameHistogram says that histograms of windows of both definitions can be added up.
func (v definition) sameHistogram(o definition) bool {
	return slices.Equal(v.groups, o.groups) && v.epsilon.Equal(o.epsilon)
}

// checkTogether compares what a window has for all groups together with what it has for each.
func (c *checker) checkTogether(v definition, e ledger.Entry, records map[string]outputs.Record) {
	var parts []*record.Distribution
	for _, group := range v.groups {
		parts = append(parts, records[figureKey(e.Stream, group, spread, e.WindowEnd)].Buckets)
	}
	c.compare(figureKey(e.Stream, everybody, spread, e.WindowEnd), e, records, parts)
}

// checkSum compares what a group has over the newest time with its windows. The last of them is the newest.
func (c *checker) checkSum(v definition, group string, of []ledger.Entry, records map[string]outputs.Record) {
	e, name := of[len(of)-1], spread+"."+record.LastPrefix+v.recent.last.String()
	want := record.Windows{Of: int64(v.recent.last / v.every)}
	var parts []*record.Distribution
	for _, o := range of {
		if o.Reason != "" {
			continue
		}
		want.Released++
		if o.Incomplete {
			want.Incomplete++
		}
		parts = append(parts, records[figureKey(e.Stream, group, spread, o.WindowEnd)].Buckets)
	}
	key := figureKey(e.Stream, group, name, e.WindowEnd)
	r, known := records[key]
	if known && (r.Windows == nil || *r.Windows != want) {
		c.complain(&c.different, "%s adds up the windows %+v, want %+v", key, r.Windows, want)
	}
	c.compare(key, e, records, parts)
	free, known := records[figureKey(e.Stream, group, highs+"."+record.LastPrefix+v.recent.last.String(), e.WindowEnd)]
	if !known || !v.exact || r.Buckets == nil || free.Value == nil {
		return
	}
	users := int64(0)
	for i, n := range r.Buckets.Raw {
		if from, _ := edges(r.Buckets, i); from >= slowAbove {
			users += n
		}
	}
	if free.Value.String() != fmt.Sprint(users) {
		c.complain(&c.different, "%s of %s is %s, but its buckets say %d", highs, key, *free.Value, users)
	}
}

// compare compares the numbers of a record with the sums of others; nil stands for a record without numbers.
func (c *checker) compare(key string, e ledger.Entry, records map[string]outputs.Record, parts []*record.Distribution) {
	r, known := records[key]
	if !known {
		if !e.WindowEnd.After(c.to) {
			c.complain(&c.missing, "%s is not published", key)
		}
		return
	}
	parts = slices.DeleteFunc(slices.Clone(parts), func(d *record.Distribution) bool { return d == nil })
	if len(parts) == 0 || r.Buckets == nil {
		if len(parts) > 0 || r.Buckets != nil {
			c.complain(&c.different, "%s has the numbers %v, and there are %d with numbers to add up", key, r.Buckets,
				len(parts))
		}
		return
	}
	raw, coarse := make([]int64, len(r.Buckets.Raw)), make([]int64, len(r.Buckets.Coarse))
	for _, d := range parts {
		if len(d.Raw) != len(raw) || len(d.Coarse) != len(coarse) {
			c.complain(&c.different, "%s has %d and %d numbers, and a part of it %d and %d", key, len(raw), len(coarse),
				len(d.Raw), len(d.Coarse))
			return
		}
		for i, n := range d.Raw {
			raw[i] += n
		}
		for i, n := range d.Coarse {
			coarse[i] += n
		}
	}
	c.sums++
	if !slices.Equal(raw, r.Buckets.Raw) || !slices.Equal(coarse, r.Buckets.Coarse) {
		c.complain(&c.different, "%s is %v and %v, but its parts add up to %v and %v", key, r.Buckets.Raw,
			r.Buckets.Coarse, raw, coarse)
	}
}

// edges are those of a bucket: it has the values above from, up to to.
func edges(d *record.Distribution, bucket int) (from, to float64) {
	end := func(i int) float64 {
		if d.Ends[i] == nil {
			return upperBound + 1
		}
		x, _ := d.Ends[i].Float64() // it is a number
		return x
	}
	if from = -1; bucket > 0 {
		from = end(bucket - 1)
	}
	return from, end(bucket)
}

// presence is what is known of a user in a window: with which values they may count, and whether they do for sure.
type presence struct {
	values []int
	sure   bool
}

// presences are the users who may count in a group of a window. What an incomplete window has lost may have been any of
// its events.
func (c *checker) presences(s promised, v definition, e ledger.Entry, group string, deeds []deed) map[string]presence {
	byUser, users := map[string][]deed{}, map[string]presence{}
	for _, d := range c.sentIn(s, v, e, group, deeds) {
		byUser[d.user] = append(byUser[d.user], d)
	}
	for user, own := range byUser {
		sure, may := contributions(own, s.policy, v.inTime(e))
		if e.Incomplete {
			sure, may = nil, own
		}
		p := presence{sure: sure != nil}
		for _, d := range may {
			p.values = append(p.values, d.value)
		}
		users[user] = p
	}
	return users
}
