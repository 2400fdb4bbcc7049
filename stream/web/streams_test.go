package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

func TestStreams(t *testing.T) {
	streams := parsed(t, streamsFile)
	w := newWorld(t, 1<<20)
	now := epoch.Add(90 * time.Second)
	get := func() (all []streamInfo) {
		got := answered[struct {
			Streams []streamInfo
			Reading Reading
		}](t, served(w, streams, now), "/api/v1/streams")
		want(t, "reading", got.Reading.OK, true)
		return got.Streams
	}
	s := get()[0]
	if s.Newest != nil || s.NextDue.Format(time.RFC3339) != "2026-11-20T08:02:05Z" {
		t.Errorf("before the first record: newest %v, next %v", s.Newest, s.NextDue)
	}
	want(t, "where", s.Where, "kind = server")
	var names []string
	for _, r := range s.Releases {
		names = append(names, fmt.Sprint(r.Release, cell(r.P)))
	}
	want(t, "releases", names, []string{"users", "tail.p900.9", "tail.p990.99"})
	w.ledgerOf(streams, 5, 0)
	w.publish(0, text("foreign", "x", "users", 1, "1"))
	w.publish(0, text("fast", "ap", "old", 0, "1")) // of an earlier definition
	all := get()
	s, foreign := all[0], all[2]
	want(t, "newest", s.Newest.Format(time.RFC3339), "2026-11-20T08:05:00Z")
	want(t, "oldest", s.Oldest.Format(time.RFC3339), "2026-11-20T08:01:00Z")
	want(t, "next", s.NextDue.Format(time.RFC3339), "2026-11-20T08:06:05Z")
	want(t, "groups", s.Groups, []string{"eu", "us", "ap"})
	want(t, "a former release", s.Releases[3].Release, "old")
	if foreign.Stream != "foreign" || foreign.Declared || foreign.MaxGroups != nil || *foreign.Window.Size != 60 ||
		foreign.Window.Every != nil || foreign.Budget != "b" || foreign.NextDue != nil {
		t.Errorf("%+v", foreign)
	}
}

// A topic that falls silent: the stream and its groups say since when, from the released counts alone.
func TestSilentStreams(t *testing.T) {
	w := newWorld(t, 1<<20)
	get := func() streamInfo {
		return answered[struct{ Streams []streamInfo }](t, served(w, nil, epoch), "/api/v1/streams").Streams[0]
	}
	for i := range 9 {
		eu, us := "400", "900"
		if i >= 3 {
			eu = "12"
		}
		if i >= 5 {
			us = "0"
		}
		w.publish(0, text("shop", "eu", "users", i, eu))
		w.publish(1, text("shop", "us", "users", i, us))
		if s := get(); i == 6 {
			want(t, "one of two groups", fmt.Sprint(s.Silent, s.SilentGroups), "<nil> [{eu {2026-11-20 08:03:00 +0000 UTC 42}}]")
		}
	}
	s := get()
	want(t, "stream", *s.Silent, silenceInfo{epoch.Add(5 * time.Minute), 55}) // 12 + 0 + √(30² + 30²)
	want(t, "groups", s.SilentGroups, []silentGroup{{"eu", silenceInfo{epoch.Add(3 * time.Minute), 42}},
		{"us", silenceInfo{epoch.Add(5 * time.Minute), 30}}})
	w.publish(0, text("shop", "eu", "users", 9, "380"))
	w.publish(1, text("shop", "us", "users", 9, "3"))
	s = get()
	want(t, "users are back", s.Silent, nil)
	want(t, "groups", s.SilentGroups, []silentGroup{{"us", silenceInfo{epoch.Add(5 * time.Minute), 33}}})
}

// ofAll is a record of the release slow, of all groups together.
func ofAll(stream string, window int) string {
	return strings.Replace(text(stream, "all", "slow", window, "900"), `"incomplete":false`,
		`"incomplete":false,"together":true`, 1)
}

// All groups together are the last of the groups, whether a file or a record names them.
func TestAllGroupsTogetherAreTheLast(t *testing.T) {
	streams := parsed(t, strings.NewReplacer("groups: [eu, us]\n", "groups: [eu, us]\n    together: all\n",
		"statistic: quantiles, p: [0.9, 0.99]", "statistic: histogram, buckets: [10, 50]").Replace(streamsFile))
	w := newWorld(t, 1<<20)
	groups := func() (all []string) {
		got := answered[struct{ Streams []streamInfo }](t, served(w, streams, epoch), "/api/v1/streams")
		for _, s := range got.Streams {
			all = append(all, fmt.Sprint(s.Stream, s.Groups, s.Together))
		}
		return all
	}
	want(t, "before the first record", groups(), []string{"fast[eu us all]all", "hopping[]"})
	for _, stream := range []string{"fast", "foreign"} {
		w.publish(0, ofAll(stream, 1))
		w.publish(0, text(stream, "us", "slow", 1, "400"))
	}
	want(t, "with records", groups(), []string{"fast[eu us all]all", "hopping[]", "foreign[us all]all"})
}

// The page has a card of all groups together only for figures that they have.
func TestCardOfAllGroupsInBrowser(t *testing.T) {
	w := newWorld(t, 1<<20)
	w.publish(0, ofAll("s", 5))
	for _, group := range []string{"eu", "us"} {
		w.publish(0, text("s", group, "slow", 5, "400"))
		w.publish(0, text("s", group, "users", 5, "500"))
	}
	b := visit(t, w.handler(), "")
	const cards = `[...document.querySelectorAll(".card .group")].map((e) => e.textContent).join() === %q`
	b.until(fmt.Sprintf(cards, "eu,us,all"))
	b.run(chromedp.Click(".choice button:last-child"))
	b.until(fmt.Sprintf(cards, "eu,us"))
	b.run(chromedp.Click(".choice button:first-child"))
	b.until(fmt.Sprintf(cards, "eu,us,all"))
}

// All groups together are no group where groups are counted: neither in the first line nor where noise folds.
func TestAllTogetherIsNoGroupInBrowser(t *testing.T) {
	w := newWorld(t, 1<<20)
	noise := strings.NewReplacer(`"quality":"useful"`, `"quality":"noise"`).Replace
	w.publish(0, noise(ofAll("s", 5)))
	for _, group := range []string{"eu", "us"} {
		w.publish(0, noise(text("s", group, "slow", 5, "400")))
	}
	b := visit(t, w.handler(), "")
	b.shows("#state", "2 of 2 groups: too few users to say")
	b.shows(".fold", "2 of 2 groups: too few users to say")
	b.until(`document.querySelector(".fold").textContent.endsWith("eu, us, all")`)
}
