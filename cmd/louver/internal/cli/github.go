package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/louver/louver/stream/config/form"
)

// GitHub's runner reads its commands from the log, a line each, and decodes these characters.
var (
	inMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	inProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// WriteGitHub writes mistakes as workflow commands, which GitHub shows next to the lines of a file. level is error or
// warning.
//
// Source: GitHub Docs, "Workflow commands for GitHub Actions", "Setting an error message".
func WriteGitHub(w io.Writer, level string, mistakes []form.Mistake) error {
	for _, m := range mistakes {
		place := ""
		if m.Line > 0 {
			place = fmt.Sprintf(" file=%s,line=%d", inProperty.Replace(m.File), m.Line)
		}
		if _, err := fmt.Fprintf(w, "::%s%s::%s\n", level, place, inMessage.Replace(m.Text())); err != nil {
			return err
		}
	}
	return nil
}
