package ingest

import "slices"

// Many streams of one topic differ only in their releases: they would gather the same bags and write them at the same
// offsets. So a route may follow another one. The leader takes the events, and has the bags and the cuts. Whatever it
// writes is written for each follower too, as parts and marks of the follower's stream. So nobody who reads the parts
// sees a difference. Streams that share bags may have their parts in different partitions of the partials, and may stop
// sharing when a worker begins anew.
//
// A follower agrees with its leader in everything that decides what is in a bag and when it is written: how records are
// decoded, windows with their grace, policy and max_groups, and the position. As long as the worker lives, nothing
// changes one of them and not the other. Each stream has its own counts, copies, progress and outages.

// all returns the route and its followers.
func (r *route) all() []*route { return append([]*route{r}, r.followers...) }

// leader returns the route that has the bags.
func (r *route) leader() *route {
	if r.follows != nil {
		return r.follows
	}
	return r
}

// alike reports whether two routes that hold nothing will gather the same bags.
func (r *route) alike(o *route) bool {
	return r.decoding == o.decoding && r.schedule == o.schedule && r.stream.Contribution == o.stream.Contribution &&
		r.stream.MaxGroups == o.stream.MaxGroups && r.from == o.from && r.through == o.through && r.lost == o.lost &&
		len(r.bags)+len(o.bags)+len(r.cuts)+len(o.cuts) == 0
}

// follow lets routes follow others that are alike. A stream that takes events under two definitions follows none, and
// neither does a route that takes none any more.
func follow(all []lane) {
	var leaders []*route
	for _, l := range all {
		r := l[0]
		if len(l) > 1 || r.finished() {
			continue
		}
		if i := slices.IndexFunc(leaders, r.alike); i >= 0 {
			r.follows = leaders[i]
			leaders[i].followers = append(leaders[i].followers, r)
		} else {
			leaders = append(leaders, r)
		}
	}
}

// leading are the lanes to which events are offered.
func leading(all []lane) []lane {
	return slices.DeleteFunc(slices.Clone(all), func(l lane) bool { return l[0].follows != nil })
}
