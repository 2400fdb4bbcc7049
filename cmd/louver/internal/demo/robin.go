package demo

import (
	"crypto/rand"
	"time"

	"github.com/louver/louver/mechanisms"
)

// guesses of whether Robin called have what the viewer needs who knows everybody else: how many of the others called,
// and a count of all with the noise of the chosen ε.
//
// Nobody can guess better than by whether the count is greater than that number. A count with ε is the number of users
// plus two-sided geometric noise, so that guess is right with probability e^ε / (1 + e^ε), which is the most that ε
// allows.

// mostCounted is how many windows can be guessed about.
const mostCounted = 200

// countedWindow is a window about which somebody can guess.
type countedWindow struct {
	start, end time.Time
	users      *mechanisms.Sample // of Robin's region
	called     bool
	drawn      map[string]int64 // the count, by ε
}

// countedGuess is what the API tells of it. Its JSON names are public.
type countedGuess struct {
	WindowStart time.Time `json:"window_start"`
	WindowEnd   time.Time `json:"window_end"`
	// Others is how many other users of the region called, and Count is how many called in all, with noise.
	Others int64 `json:"others"`
	Count  int64 `json:"count"`
	// Called says whether Robin called.
	Called bool `json:"called"`
}

// guesses draws the counts of the newest windows with an ε, or returns those that were drawn before. The mutex is held.
func (r *redraws) guesses(epsilon string, query mechanisms.Query) ([]countedGuess, error) {
	count, err := mechanisms.New(mechanisms.Query{Statistic: mechanisms.Count, Grid: query.Grid, Epsilon: query.Epsilon})
	if err != nil {
		return nil, err
	}
	all := make([]countedGuess, 0, len(r.counted))
	for _, w := range r.counted {
		number, ok := w.drawn[epsilon]
		if !ok {
			drawn, err := count.Draw(w.users, mechanisms.Public{}, rand.Reader)
			if err != nil {
				return nil, err
			}
			number = drawn.Values[0].Number
			w.drawn[epsilon] = number
		}
		others := w.users.Users()
		if w.called {
			others--
		}
		all = append(all, countedGuess{w.start, w.end, others, number, w.called})
	}
	return all, nil
}
