package web

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// parameters are the query of a request. Reading them records the first mistake.
type parameters struct {
	values url.Values
	err    error
}

// allowed refuses unknown parameters.
func (p *parameters) allowed(names ...string) {
	for name := range p.values {
		if !slices.Contains(names, name) {
			p.refuse("%s means nothing here; want %s", name, cmp.Or(strings.Join(names, ", "), "no parameters"))
		}
	}
}

func (p *parameters) refuse(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// names returns the values of a repeatable parameter. It ignores empty ones.
func (p *parameters) names(name string) []string {
	return slices.DeleteFunc(slices.Clone(p.values[name]), func(v string) bool { return v == "" })
}

// seconds reads a time. 0 means that none is given.
func (p *parameters) seconds(name string) int64 {
	text := p.values.Get(name)
	if text == "" {
		return 0
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		p.refuse("%s=%q; want a time such as 2026-11-20T08:15:00Z", name, text)
	}
	return at.Unix()
}

// number reads a whole number of at least 1.
func (p *parameters) number(name string, absent, most int) int {
	text := p.values.Get(name)
	if text == "" {
		return absent
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		p.refuse("%s=%q; want a whole number from 1 to %d", name, text, most)
	}
	return n
}

// flag reads true or false, which is also what its absence means.
func (p *parameters) flag(name string) bool {
	text := p.values.Get(name)
	if text != "" && text != "true" && text != "false" {
		p.refuse("%s=%q; want true or false", name, text)
	}
	return text == "true"
}

// stretch reads which series and which of their windows are wanted.
func (p *parameters) stretch() selection {
	want := p.selection()
	want.from, want.to, want.last = p.seconds("from"), p.seconds("to"), p.number("last", 0, mostWindows)
	return want
}

// selection reads which series are wanted.
func (p *parameters) selection() selection {
	return selection{streams: p.names("stream"), groups: p.names("group"), releases: p.names("release")}
}
