package config

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// parser gathers streams files.
type parser struct {
	streams []*streamNode
	shared  []*Budget
	names   map[string]string // of streams and budgets, with their kind before it: where they are written
	errs    []error
}

// streamNode is a stream and what of it can only be checked when all files are read.
type streamNode struct {
	*Stream
	node
	keys map[string]node
}

func (p *parser) refuse(errs ...error) { p.errs = append(p.errs, errs...) }

func (p *parser) read(name string, data []byte, getenv func(string) (string, bool)) {
	s := &source{file: name, getenv: getenv}
	if root, ok := s.document(data); ok {
		p.root(root)
	}
	p.refuse(s.errs...)
}

func (p *parser) root(n node) {
	m, ok := n.mapping("version", "budgets", "streams")
	if !ok {
		return
	}
	if v, ok := m.require("version", "1"); ok {
		v.oneOf("1")
	}
	if v, ok := m.get("budgets"); ok {
		items, _ := v.items("budgets, such as {name: shoppers, epsilon: 24, per: 24h}")
		for _, item := range items {
			item.path = item.named(v.path)
			p.sharedBudget(item)
		}
	}
	if v, ok := m.require("streams", "a list of streams"); ok {
		items, ok := v.items("streams")
		if ok && len(items) == 0 {
			v.refuse("the list is empty; want at least one stream")
		}
		for _, item := range items {
			item.path = item.named(v.path)
			if s := item.stream(); s != nil {
				p.unique(s.node, "stream", s.Name)
				p.streams = append(p.streams, s)
			}
		}
	}
}

// named puts the name of a list's item into its path in place of its number.
func (n node) named(list string) string {
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		if v := n.yaml.Content[i+1]; n.yaml.Content[i].Value == "name" && v.Value != "" {
			return fmt.Sprintf("%s[%s]", list, unmark(v.Value))
		}
	}
	return n.path
}

func (p *parser) unique(n node, kind, name string) {
	if p.names == nil {
		p.names = map[string]string{}
	}
	if name == "" {
		return
	}
	if first, twice := p.names[kind+" "+name]; twice {
		n.refuse("the name %q is taken by the %s at %s; want another name", name, kind, first)
		return
	}
	p.names[kind+" "+name] = n.where()
}

// file resolves what refers to something else and returns the whole.
func (p *parser) file() (*File, error) {
	f := &File{Budgets: p.shared}
	for _, s := range p.streams {
		before := len(s.errs)
		p.resolveBudget(s, f)
		p.refuse(s.errs[before:]...)
		f.Streams = append(f.Streams, s.Stream)
	}
	if len(p.errs) == 0 {
		p.relations()
	}
	if len(p.errs) == 0 {
		p.payable(f, time.Now())
	}
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	return f, nil
}

var (
	streamName = regexp.MustCompile(`^[a-z0-9-]+$`)
	budgetName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,200}$`)
	topicName  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,249}$`)
)

// name reads a name of a certain form.
func (n node) name(form *regexp.Regexp, want string) (string, bool) {
	text, ok := n.text(want)
	if ok && !form.MatchString(text) {
		n.refuse("%q; want %s", text, want)
		return "", false
	}
	return text, ok
}

func (n node) topicName() string {
	const want = "the name of a topic: 1–249 of the characters a–z, A–Z, 0–9, ., _ and -"
	text, ok := n.name(topicName, want)
	if ok && (text == "." || text == "..") {
		n.refuse("%q; want %s", text, want)
	}
	return text
}
