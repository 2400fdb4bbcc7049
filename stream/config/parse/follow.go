package parse

import (
	"strconv"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
)

// ofList are the keys that say what is on a list. A stream that follows another one's list takes that stream's values.
var ofList = []string{"keep", "max", "other", "always", "match", "except"}

// followLists completes the streams whose groups are on the list of another one. alone says that a definition is read,
// which already holds what that other stream says of its list. some says that some streams could not be read.
func followLists(streams []*streamNode, alone, some bool) {
	for _, s := range streams {
		switch {
		case s.found == nil || s.found.From == "":
		case !s.fed("from"):
		case alone:
			s.Found = &s.found.Found
		default:
			if source := s.source(streams, some); source != nil {
				s.follow(source)
			}
		}
	}
}

// source returns the stream whose list this one follows. It is nil if that stream is refused.
func (s *streamNode) source(streams []*streamNode, some bool) *streamNode {
	name, at := s.found.From, s.found.Values["from"]
	if name == s.Name {
		at.Refuse("%q is this stream itself; want another one that discovers its groups, or discover: […] here", name)
		return nil
	}
	var finds []string
	var source *streamNode
	for _, o := range streams {
		if o.found != nil && o.found.From == "" && o.Name != s.Name {
			finds = append(finds, o.Name)
		}
		if o.Name == name {
			source = o
		}
	}
	switch {
	case source != nil && source.found != nil && source.found.From != "":
		at.Refuse("stream %s follows the list of %s itself; want from: %s", name, source.found.From, source.found.From)
	case source != nil && source.found != nil:
		return source
	case source != nil && source.sound:
		at.Refuse("stream %s does not discover its groups; want what it has under groups, or a stream that has "+
			"discover: […]", name)
	case source != nil || some: // the stream has faults of its own
	case len(finds) > 0:
		at.Refuse("%q is not one of the streams that discover their groups; want %s", name, form.List(finds, "or"))
	default:
		at.Refuse("%q is not one of the streams; want discover: […], because no stream discovers its groups", name)
	}
	return nil
}

// follow takes over what another stream says about its list.
func (s *streamNode) follow(source *streamNode) {
	f, of := s.found, source.Found
	at := f.Values["from"]
	for _, key := range ofList {
		if v, given := f.Values[key]; given {
			v.Refuse("the list is that of stream %s, with its %s; remove this one", f.From, key)
		}
	}
	differs := func(key, its, own string) bool {
		if its != own {
			at.Refuse("stream %s has %s %q, and this one %q; want the same", f.From, key, its, own)
		}
		return its != own
	}
	wrong := differs("input.topic", source.Input.Topic, s.Input.Topic)
	wrong = differs("input.group", source.Input.Group, s.Input.Group) || wrong
	if source.Budget == nil || s.Budget == nil || of == nil {
		return // they have faults of their own
	}
	if source.Budget != s.Budget {
		at.Refuse("budget %q pays for stream %s, and %q for this one; want one of the budgets in both",
			source.Budget.Name, f.From, s.Budget.Name)
		wrong = true
	}
	if most := s.mostGroups(); of.Most() > most {
		at.Refuse("the list of stream %s has up to %d groups, with %s each here; want at most %d, by a smaller max "+
			"there, because an entry holds %d figures", f.From, of.Most(), form.Plural(s.figures(), "figure"),
			most, mostFigures)
		wrong = true
	}
	if wrong {
		return
	}
	from := f.From
	f.Found = *of
	f.From = from
	s.Found = &f.Found
	for _, key := range ofList {
		if v, given := source.found.Values[key]; given {
			f.Put(key, v)
		}
	}
	f.PutText("keep", config.Duration(of.Keep))
	f.PutText("max", strconv.FormatInt(of.Max, 10))
}
