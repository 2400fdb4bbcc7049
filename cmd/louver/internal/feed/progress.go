package feed

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
)

// Progress tells how far a command has come that takes long: on a terminal in one line that is drawn again and again,
// elsewhere in a line now and then. It says nothing of what is done within two seconds. It is not safe for concurrent
// use.
type Progress struct {
	out    io.Writer
	screen bool
	width  int
	now    func() time.Time
	begun  time.Time
	said   time.Time
	shown  bool // a line stands on the screen
}

const (
	patience    = 2 * time.Second
	redrawEvery = 500 * time.Millisecond // on a terminal
	repeatEvery = 10 * time.Second       // elsewhere
)

// NewProgress begins now. It tells on standard error.
func NewProgress(app *cli.App) *Progress {
	file, ok := app.Err.(*os.File)
	return &Progress{out: app.Err, screen: ok && cli.IsScreen(file), width: app.Width(), now: time.Now,
		begun: time.Now()}
}

// Say tells what text returns, if it is time to.
func (p *Progress) Say(text func() string) {
	if now := p.now(); now.Sub(p.begun) >= patience {
		p.tell(now, 0, text)
	}
}

// Pause tells the same before a pause of that length. A long one is told in any case.
func (p *Progress) Pause(left time.Duration, text func() string) {
	if now := p.now(); left >= patience || now.Sub(p.begun) >= patience {
		p.tell(now, left, text)
	}
}

func (p *Progress) tell(now time.Time, left time.Duration, text func() string) {
	every := repeatEvery
	if p.screen {
		every = redrawEvery
	}
	if now.Sub(p.said) < every && left < every {
		return
	}
	p.said = now
	if !p.screen {
		_, _ = fmt.Fprintf(p.out, "louver: %s\n", text())
		return
	}
	line := []rune(text())
	p.shown = true
	_, _ = fmt.Fprintf(p.out, "\r\x1b[K%s", string(line[:min(len(line), p.width-1)]))
}

// End takes the line off the screen.
func (p *Progress) End() {
	if p.shown {
		p.shown = false
		_, _ = io.WriteString(p.out, "\r\x1b[K")
	}
}

// Counted passes a reader through and tells how many per cent of it have been read: first, and when that changes.
func Counted(in io.Reader, size int64, say func(percent int64)) io.Reader {
	return &counted{in: in, size: size, say: say, told: -1}
}

type counted struct {
	in               io.Reader
	size, read, told int64
	say              func(percent int64)
}

func (c *counted) Read(b []byte) (n int, err error) {
	n, err = c.in.Read(b)
	c.read += int64(n)
	if percent := min(100, c.read*100/max(1, c.size)); percent != c.told {
		c.told = percent
		c.say(percent)
	}
	return n, err
}
