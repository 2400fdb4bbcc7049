package web

import (
	"bytes"
	_ "embed" // the page
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/munnerz/goautoneg"

	"github.com/louver/louver/stream/config"
)

var (
	//go:embed statement.html
	statementHTML string
	//go:embed statement.css
	statementCSS []byte
)

var statementPage = template.Must(template.New("statement").Parse(statementHTML))

// forPeople is the statement about a stream for the people in the data.
type forPeople struct {
	statement
	Facts string
}

// wantsPage reports whether a client would rather have a page than JSON: browsers would.
func wantsPage(r *http.Request) bool {
	return goautoneg.Negotiate(r.Header.Get("Accept"), []string{"application/json", "text/html"}) == "text/html"
}

// answerPage sends the statements as a page in plain words.
func (a statements) answerPage(w http.ResponseWriter, r *http.Request, all []statement) error {
	streams := map[string]*config.Stream{}
	for _, s := range a.streams {
		streams[s.Name] = s
	}
	var page []forPeople
	for _, s := range all {
		page = append(page, forPeople{s, facts(streams[s.Stream])})
	}
	var b bytes.Buffer
	if err := statementPage.Execute(&b, page); err != nil {
		return fmt.Errorf("the statement: %w", err)
	}
	answer(w, r, "text/html; charset=utf-8", b.Bytes())
	return nil
}

// facts says in words what is counted of a person.
func facts(s *config.Stream) string {
	one := "One value of each person counts in a window"
	switch {
	case len(s.Groups) > 1:
		one += fmt.Sprintf(", in at most %d of %d groups", s.MaxGroups, len(s.Groups))
	case s.Found != nil && s.MaxGroups == 1:
		one += ", in one of the groups that many people share"
	case s.Found != nil:
		one += fmt.Sprintf(", in at most %d of the groups that many people share", s.MaxGroups)
	}
	text := fmt.Sprintf("A window lasts %s. %s. Values count from %s to %s %s.", config.Duration(s.Window.Size), one,
		s.Grid.Lower(), s.Grid.Upper(), s.Unit)
	if d := strings.TrimSuffix(s.Description, "."); d != "" {
		text = d + ". " + text
	}
	return strings.ReplaceAll(text, " .", ".")
}
