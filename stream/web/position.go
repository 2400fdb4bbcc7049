package web

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// partition is one partition of an output topic.
type partition struct {
	topic  string
	number int
}

func (p partition) compare(o partition) int {
	return cmp.Or(cmp.Compare(p.topic, o.topic), cmp.Compare(p.number, o.number))
}

// position says how far a client has read: the offset of the last record of each partition. As text it is the id of an
// event, such as orders.private:0=812,2=40;visits.private:0=7. It means the same to every server that reads these
// topics, now and after a restart.
type position map[partition]int64

func (p position) String() string {
	var b strings.Builder
	topic := ""
	for _, at := range slices.SortedFunc(maps.Keys(p), partition.compare) {
		switch {
		case b.Len() == 0:
			b.WriteString(at.topic + ":")
		case at.topic != topic:
			b.WriteString(";" + at.topic + ":")
		default:
			b.WriteByte(',')
		}
		topic = at.topic
		fmt.Fprintf(&b, "%d=%d", at.number, p[at])
	}
	return b.String()
}

// parsePosition parses the text that String writes.
func parsePosition(text string) (position, error) {
	p := position{}
	for of := range strings.SplitSeq(text, ";") {
		topic, partitions, ok := strings.Cut(of, ":")
		if !ok || topic == "" {
			return nil, fmt.Errorf("%q is not the id of an event; want one such as orders.private:0=812", text)
		}
		for each := range strings.SplitSeq(partitions, ",") {
			number, offset, _ := strings.Cut(each, "=")
			n, err := strconv.ParseUint(number, 10, 31)
			o, err2 := strconv.ParseUint(offset, 10, 63)
			if err != nil || err2 != nil {
				return nil, fmt.Errorf("%q is not the id of an event: %q; want a partition and its offset, such as "+
					"orders.private:0=812", text, each)
			}
			p[partition{topic, int(n)}] = int64(o)
		}
	}
	return p, nil
}

// reach notes that a record has been read.
func (p position) reach(at partition, offset int64) {
	if old, ok := p[at]; !ok || offset > old {
		p[at] = offset
	}
}
