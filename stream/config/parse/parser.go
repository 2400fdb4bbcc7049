package parse

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
)

// parser gathers streams files.
type parser struct {
	sources []*form.Source
	streams []*streamNode
	budgets []*budgetNode // the shared ones
	taken   names
	removed []string
	// fromData are the values that a comment says to be from data.
	fromData []config.FromData
	// revision is the highest one of all files.
	revision int
	// alone says that the only stream is that of a definition.
	alone bool
	// incomplete says that some files may hold budgets that could not be read.
	incomplete bool
}

// read reads one file.
func (p *parser) read(name string, data []byte, getenv func(string) (string, bool)) {
	s := form.NewSource(name, getenv)
	p.sources = append(p.sources, s)
	root, ok := s.Document(data)
	if !ok {
		p.incomplete = true
		return
	}
	d, _ := form.MappingOf[document](fileForm, nil).Read(root)
	if s.MistakesOutside("streams[") {
		p.incomplete = true
	}
	for _, c := range root.Commented(config.FromDataComment) {
		if c.Rest == "" || c.Says(c.Rest) || c.IsList() {
			p.fromData = append(p.fromData, config.FromData{Where: c.Where(), Key: c.Path()})
		}
	}
	p.revision = max(p.revision, d.revision)
	p.removed = append(p.removed, d.removed...)
	for i := range d.budgets {
		b := &d.budgets[i]
		p.budgets = append(p.budgets, b)
		p.taken.take("budget", b.Name, b.Node)
	}
	for i := range d.streams {
		s := &d.streams[i]
		p.streams = append(p.streams, s)
		p.taken.take("stream", s.Name, s.Node)
	}
}

// file returns what was read if the streams go together and the budgets can pay for them.
func (p *parser) file() (*config.File, error) {
	f, unpaid, err := p.unpaid()
	if err := errors.Join(err, unpaid); err != nil {
		return nil, err
	}
	return f, nil
}

// unpaid returns what was read if the streams go together, and what the budgets cannot pay for.
func (p *parser) unpaid() (f *config.File, unpaid, err error) {
	if f, err = p.resolve(); err != nil {
		return nil, nil, err
	}
	for _, s := range p.streams {
		s.Definition = define(s, p.shared(s))
	}
	for _, check := range []func(){
		func() { topics(p.streams) },
		func() { continues(p.streams) },
		func() { periods(p.streams) },
		func() { discovered(p.streams) },
	} {
		check()
		if err := p.err(); err != nil {
			return nil, nil, err
		}
	}
	if affordable(p.streams, f, time.Now()); p.err() == nil {
		payable(p.streams, f, time.Now())
	}
	return f, p.err(), nil
}

// resolve finds the budgets of the streams, completes them, and finds names that are used twice.
func (p *parser) resolve() (*config.File, error) {
	f := &config.File{Revision: p.revision, Removed: p.removed, FromData: p.fromData}
	for _, b := range p.budgets {
		f.Budgets = append(f.Budgets, &b.Budget)
	}
	for i, s := range p.streams {
		switch own, shared := s.payer.own, p.shared(s); {
		case own != nil:
			own.Name = s.Name
			s.Budget = &own.Budget
			// If another stream of this name has a budget of its own, the clash of the streams' names is reported.
			if !slices.ContainsFunc(p.streams[:i],
				func(o *streamNode) bool { return o.payer.own != nil && o.Name == s.Name }) {
				p.taken.take("budget", s.Name, own.Node)
			}
			f.Budgets = append(f.Budgets, s.Budget)
		case shared != nil:
			s.Budget = &shared.Budget
		case s.payer.name != "" && !p.incomplete:
			s.payer.refuseUnknown(s.Values["budget"], p.budgets)
		}
		if s.found != nil && s.found.From == "" {
			s.find()
		}
	}
	followLists(p.streams, p.alone, p.incomplete)
	for _, s := range p.streams {
		s.complete()
		f.Streams = append(f.Streams, &s.Stream)
	}
	p.taken.refuseTwice()
	return f, p.err()
}

// shared returns the shared budget that a stream names, or nil.
func (p *parser) shared(s *streamNode) *budgetNode {
	for _, b := range p.budgets {
		if b.Name != "" && b.Name == s.payer.name {
			return b
		}
	}
	return nil
}

// err joins all faults, file by file and line by line.
func (p *parser) err() error {
	var errs []error
	for _, s := range p.sources {
		errs = append(errs, s.Errors()...)
	}
	return errors.Join(errs...)
}

// names are the names of streams and budgets, and where they are used.
type names []*named

type named struct {
	kind, name string
	at         []form.Node
}

func (all *names) take(kind, name string, at form.Node) {
	i := slices.IndexFunc(*all, func(n *named) bool { return n.kind == kind && n.name == name })
	switch {
	case name == "":
	case i < 0:
		*all = append(*all, &named{kind, name, []form.Node{at}})
	default:
		(*all)[i].at = append((*all)[i].at, at)
	}
}

// refuseTwice refuses names that are used twice: one fault for each name, even if many files use it.
func (all names) refuseTwice() {
	for _, n := range all {
		if len(n.at) < 2 {
			continue
		}
		others := []string{n.at[0].Where()}
		for _, at := range n.at[2:] {
			others = append(others, at.Where())
		}
		n.at[1].Refuse("the name %q is taken by the %s at %s; choose another name", n.name, n.kind,
			form.List(others, "and"))
	}
}

// figureName is the name of a release or a watch.
func figureName() form.Kind[string] {
	return form.Name("name", "a name of 1–200 characters without / and .", `^[^/.]+$`, 200)
}

// define writes a stream and the shared budget that it names, if any, as a definition.
func define(s *streamNode, shared *budgetNode) config.Definition {
	var b strings.Builder
	b.WriteString(`{version: 1, `)
	if shared != nil {
		b.WriteString(`budgets: [`)
		shared.Flow(&b)
		b.WriteString(`], `)
	}
	b.WriteString(`streams: [`)
	s.Flow(&b, "description", "fresh", "continues", "window.start", "input.user_partitioned")
	b.WriteString(`]}`)
	return config.Definition(b.String())
}

// refuse reports an error of package mechanisms at the key that it is about.
func refuse(m form.Mapping, err error) {
	e := (*mechanisms.Error)(nil)
	if !errors.As(err, &e) {
		m.Refuse("%s", err)
		return
	}
	if v, given := m.Values[e.Parameter]; given {
		v.Refuse("%s; want %s", e.Value, e.Want)
		return
	}
	m.Refuse("%s", e)
}

// ceil rounds a figure up.
func ceil(d decimal.Decimal) string { return d.RoundUp(6).String() }
