package demo

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"go.uber.org/zap"

	"github.com/louver/louver/stream/simulate"
)

// paced is a scene whose windows stay for a while.
type paced struct{ *simulation }

func (paced) text() sceneText { return sceneText{pace: 2 * time.Second, guess: true} }

// Windows that wait are shown one after the other, each as long as the scene wants.
func TestScreenPace(t *testing.T) {
	s := demoStream(t, string(simulate.Streams()))
	synctest.Test(t, func(t *testing.T) {
		m := &screenModel{scene: paced{newSimulation(2 * time.Minute)}, keyboard: true}
		for i := range 3 {
			m.Update(pictureMsg(painted(s, i)))
		}
		for _, want := range []int{1, 1, 2, 2, 3} {
			if len(m.pictures) != want {
				t.Fatalf("%d windows shown, want %d", len(m.pictures), want)
			}
			time.Sleep(time.Second) // of the bubble's clock
			m.Update(tickMsg(time.Now()))
		}
	})
}

func TestScreenKeys(t *testing.T) {
	s := demoStream(t, string(simulate.Streams()))
	press := func(m *screenModel, code rune) tea.Cmd {
		_, cmd := m.Update(tea.KeyPressMsg{Code: code, Text: string(code)})
		return cmd
	}
	m := &screenModel{scene: paced{newSimulation(2 * time.Minute)}, keyboard: true}
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 18})
	m.Update(pictureMsg(painted(s, 0)))
	press(m, 'y')
	if m.guesses.total != 1 || m.guesses.right != 1 {
		t.Errorf("guesses %+v", m.guesses)
	}
	m.Update(tea.KeyPressMsg{Code: tea.KeyRight})
	if got := m.View().Content; m.page != 1 || !strings.Contains(got, "page 2 of ") {
		t.Errorf("page %d\n%s", m.page, got)
	}
	for _, end := range []tea.KeyPressMsg{{Code: 'q', Text: "q"}, {Code: 'c', Mod: tea.ModCtrl}} {
		_, cmd := m.Update(end)
		if cmd == nil {
			t.Fatalf("%s does nothing", end)
		}
		if _, ok := cmd().(tea.QuitMsg); !ok {
			t.Errorf("%s does not end the screen", end)
		}
	}
	silent := &screenModel{scene: paced{newSimulation(2 * time.Minute)}}
	silent.Update(pictureMsg(painted(s, 0)))
	if silent.text.guess {
		t.Error("who has no keyboard is asked to guess")
	}
}

// What is logged while the screen is drawn comes afterwards, and not endlessly.
func TestHeld(t *testing.T) {
	var out bytes.Buffer
	h := &held{to: &out}
	log := h.logger()
	log.Info("all is well")
	log.Error("it is not", zap.Int("n", 1))
	if out.Len() > 0 {
		t.Errorf("written too early: %s", out.String())
	}
	h.flush()
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "it is not") {
		t.Errorf("got %q", got)
	}
	for range 10_000 {
		log.Error("again")
	}
	out.Reset()
	if h.flush(); out.Len() > mostHeld+1000 {
		t.Errorf("%d bytes are kept", out.Len())
	}
}
