package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Print writes text to the output. It breaks lines between words where a terminal would break them anywhere. A pipe
// gets them whole.
func (a *App) Print(text string) error {
	if a.OnTerminal() {
		text = foldLines(text, a.Width())
	}
	_, err := io.WriteString(a.Out, text)
	return err
}

// Say tells the person at the terminal something that is no output, on standard error, as Print would write it. It adds
// the end of the line.
func (a *App) Say(format string, args ...any) { say(a.Err, fmt.Sprintf(format, args...)) }

func say(w io.Writer, line string) {
	text := line + "\n"
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			text = foldLines(text, width)
		}
	}
	_, _ = io.WriteString(w, text)
}

// OnTerminal reports whether a person reads the output as it comes, and no program.
func (a *App) OnTerminal() bool {
	f, ok := a.Out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// together keeps a figure with its sign.
var together = strings.NewReplacer("ε ", "ε\u00a0", "δ ", "δ\u00a0", " %", "\u00a0%", "± ", "±\u00a0")

// foldLines breaks what is longer than width between words. What follows is indented by two more. Rows of tables stay.
func foldLines(text string, width int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		words := strings.TrimLeft(line, " ")
		if utf8.RuneCountInString(line) <= width || strings.IndexAny(words, "│┌├└") == 0 {
			out.WriteString(line + "\n")
			continue
		}
		indent := line[:len(line)-len(words)]
		at := 0 // where the line ends that is being written
		for word := range strings.SplitSeq(together.Replace(words), " ") {
			word = strings.ReplaceAll(word, "\u00a0", " ")
			n := utf8.RuneCountInString(word)
			switch {
			case at == 0:
				out.WriteString(indent + word)
				at = len(indent) + n
			case at+1+n > width:
				out.WriteString("\n" + indent + "  " + word)
				at = len(indent) + 2 + n
			default:
				out.WriteString(" " + word)
				at += 1 + n
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}
