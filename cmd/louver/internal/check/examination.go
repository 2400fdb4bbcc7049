package check

import (
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/inspect"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/kafka/topics"
)

// examination holds what check finds about streams files, from public figures only.
type examination struct {
	Streams  []examinedStream `json:"streams"`
	Budgets  []examinedBudget `json:"budgets"`
	Inputs   []inspect.Input  `json:"inputs,omitempty"`
	Topics   []topics.Topic   `json:"topics"`
	Rights   []topics.Right   `json:"rights"`
	Warnings []string         `json:"warnings"`
	// Preview says what the files would change; nil if the cluster was not asked.
	Preview *inspect.Preview `json:"preview,omitempty"`
}

type examinedStream struct {
	Stream    string `json:"stream"`
	Unit      string `json:"unit"`
	Where     string `json:"where"`
	Size      string `json:"size"`
	Every     string `json:"every"`
	Grace     string `json:"grace"`
	Groups    int    `json:"groups"`
	MaxGroups int    `json:"max_groups"`
	// MaxWindows says in which windows one user counts; nil: in all.
	MaxWindows *examinedCap `json:"max_windows"`
	Budget     string       `json:"budget"`
	// Users is how many users are expected in a window and group; 0 if unknown.
	Users int64 `json:"expected_users"`
	// Epsilon and Delta are what one user can lose in one window.
	Epsilon cli.Figure `json:"epsilon_per_window"`
	Delta   cli.Figure `json:"delta_per_window"`
	// Overlap is the greatest number of windows that hold one event. EventEpsilon and EventDelta are what these cost
	// its user together.
	Overlap      int64             `json:"windows_per_event"`
	EventEpsilon cli.Figure        `json:"epsilon_per_event"`
	EventDelta   cli.Figure        `json:"delta_per_event"`
	Releases     []examinedRelease `json:"releases"`
	Watches      []examinedWatch   `json:"watches,omitempty"`
	OnChange     []examinedChange  `json:"on_change,omitempty"`
	// Besides names the watches and the releases on change.
	Besides string `json:"-"`
	// WatchEpsilon is what the watches and the releases on change cost one user in a period of the budget at most.
	WatchEpsilon *cli.Figure `json:"epsilon_of_watches,omitempty"`
	// Backlog are windows of the past; nil if there are none.
	Backlog *examinedBacklog `json:"backlog"`

	window, event, watches cost.Loss
}

// examinedCap limits the windows in which one user counts: Count in any stretch of time of length Per, of which Each in a
// row of windows of length Block. These rows begin at other times for other users.
type examinedCap struct {
	Count int64  `json:"count"`
	Per   string `json:"per"`
	Each  int64  `json:"each"`
	Block string `json:"block"`
	// Share is how many of the users with something in every window count in one.
	Share float64 `json:"share"`
}

type examinedRelease struct {
	drawnRelease
	// Charge is ε times the number of groups that a user may be in.
	Charge cli.Figure      `json:"epsilon_per_window"`
	Values []examinedValue `json:"values"`
	charge string          // in words: a mechanism with a ρ has no ε of its own
}

type examinedBudget struct {
	Budget  string     `json:"budget"`
	Where   string     `json:"where"`
	Epsilon cli.Figure `json:"epsilon_limit"`
	Delta   cli.Figure `json:"delta_limit"`
	Per     string     `json:"per"`
	Streams []string   `json:"streams"`
	// Pays says that every window of the streams' schedules is paid. If not, Windows of them are, and the next one ends
	// at ExhaustedAt.
	Pays        bool       `json:"pays"`
	Windows     int64      `json:"windows"`
	Lasts       string     `json:"lasts"`
	ExhaustedAt *time.Time `json:"exhausted_at"`
	// Wanted is the least ε that pays for the schedules in a period; nil if they are endless. WantedSum is their plain sum, where
	// that is more.
	Wanted    *cli.Figure `json:"epsilon_wanted"`
	WantedSum *cli.Figure `json:"epsilon_wanted_sum,omitempty"`
	// WithDelta is what would be wanted if the budget had a δ; nil if it has one, or if that saves nothing.
	WithDelta *examinedDelta `json:"with_delta,omitempty"`
	// DayEpsilon and DayDelta are what the windows that end in any 24 hours cost one person at most.
	DayEpsilon cli.Figure `json:"epsilon_per_day"`
	DayDelta   cli.Figure `json:"delta_per_day"`
	// DaySum is the plain sum of the same windows, where that is more.
	DaySum *cli.Figure `json:"epsilon_per_day_sum,omitempty"`
	// Touched is the greatest number of windows of the streams that overlap a stretch of time as long as the period.
	// StretchEpsilon and StretchDelta are what these cost a user together. They are nil if there is no period.
	Touched        *int64      `json:"windows_per_stretch"`
	StretchEpsilon *cli.Figure `json:"epsilon_per_stretch"`
	StretchDelta   *cli.Figure `json:"delta_per_stretch"`
	twice          string      // what of it counts for two periods
	later          string      // which windows it changes beside those that it falls into

	needs, day, stretch cost.Loss
}

// examinedDelta is what the schedules of a budget would want with a δ.
type examinedDelta struct {
	Epsilon cli.Figure `json:"epsilon_wanted"`
	Delta   cli.Figure `json:"delta"`
}
