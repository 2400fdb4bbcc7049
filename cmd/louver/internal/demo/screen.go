package demo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"
)

// screen shows the newest figures on a terminal, and listens to keys.
type screen struct {
	program *tea.Program
	out     io.Writer
}

// newScreen draws on a terminal. served says that there is a page. Colours are left out if NO_COLOR is set.
func newScreen(out *os.File, s scene, served bool) *screen {
	options := []tea.ProgramOption{tea.WithOutput(out), tea.WithoutSignalHandler()}
	keyboard := term.IsTerminal(int(os.Stdin.Fd()))
	if !keyboard {
		options = append(options, tea.WithInput(nil))
	}
	model := &screenModel{view: view{status: "starting", served: served}, scene: s, keyboard: keyboard}
	return &screen{out: out, program: tea.NewProgram(model, options...)}
}

// Messages to the model, in addition to those of the terminal.
type (
	sayMsg       string
	pictureMsg   picture
	listeningMsg []string
	kafkaMsg     string
	tickMsg      time.Time
)

func (s *screen) say(status string)            { s.program.Send(sayMsg(status)) }
func (s *screen) show(p picture)               { s.program.Send(pictureMsg(p)) }
func (s *screen) kafka(address string)         { s.program.Send(kafkaMsg(address)) }
func (s *screen) over()                        {}
func (s *screen) listening(addresses []string) { s.program.Send(listeningMsg(addresses)) }

func (s *screen) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, s.program.Quit)
	defer stop()
	model, err := s.program.Run()
	if errors.Is(err, tea.ErrProgramKilled) || errors.Is(err, tea.ErrInterrupted) {
		err = nil
	}
	if m, ok := model.(*screenModel); ok && err == nil {
		summary := m.summary()
		if summary != "" {
			summary += "\n" + m.scene.next()
		}
		_, err = io.WriteString(s.out, summary)
	}
	return err
}

// screenModel is the state of a screen.
type screenModel struct {
	view
	scene    scene
	keyboard bool      // the terminal has a keyboard
	queue    []picture // not shown yet
	shown    time.Time // when the newest was shown
}

func (m *screenModel) Init() tea.Cmd { return m.tick() }

// tick keeps the clock going.
func (m *screenModel) tick() tea.Cmd {
	return tea.Every(time.Second/2, func(t time.Time) tea.Msg { return tickMsg(t) })
}

func (m *screenModel) View() tea.View {
	m.now = now(m.scene)
	v := tea.NewView(m.String())
	v.AltScreen = true
	return v
}

func (m *screenModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case sayMsg:
		m.status = string(msg)
	case kafkaMsg:
		m.broker = string(msg)
	case listeningMsg:
		m.addresses = msg
	case pictureMsg:
		m.queue = append(m.queue, picture(msg))
		m.turn()
	case tickMsg:
		m.turn()
		return m, m.tick()
	case tea.KeyPressMsg:
		return m, m.key(msg.String())
	}
	return m, nil
}

// key handles a key.
func (m *screenModel) key(name string) tea.Cmd {
	switch name {
	case "q", "ctrl+c":
		return tea.Quit
	case "ctrl+z":
		return tea.Suspend
	case "right", "down", "pgdown", "space", "tab":
		m.page++
	case "left", "up", "pgup", "shift+tab":
		m.page--
	case "y", "n":
		m.guess(name == "y")
	}
	return nil
}

// turn shows the windows whose time has come.
func (m *screenModel) turn() {
	for len(m.queue) > 0 && (m.shown.IsZero() || time.Since(m.shown) >= m.text.pace) {
		if m.shown.IsZero() {
			m.text = m.scene.text()
			m.text.guess = m.text.guess && m.keyboard
		}
		m.add(m.queue[0])
		m.queue, m.shown = m.queue[1:], time.Now()
	}
}

// held keeps log lines while a screen is drawn, so that they do not overwrite it. It is safe for concurrent use.
type held struct {
	to io.Writer

	mu   sync.Mutex
	text bytes.Buffer
}

// mostHeld is how many bytes are kept.
const mostHeld = 64 << 10

func (h *held) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.text.Len() < mostHeld {
		h.text.Write(b)
	}
	return len(b), nil
}

// logger logs errors.
func (h *held) logger() *zap.Logger {
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig()), zapcore.AddSync(h),
		zap.ErrorLevel))
}

// flush writes what was kept.
func (h *held) flush() {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, _ = h.text.WriteTo(h.to)
}
