package form

import (
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/dustin/go-humanize/english"
)

// Nearest returns the word that a misspelt one probably stands for, or "" if none is similar.
func Nearest(word string, words []string) string {
	best, least := "", max(1, len(word)/3)+1
	for _, w := range words {
		d := levenshtein.ComputeDistance(word, w)
		if w == word+"es" || len(word) > 2 && strings.HasPrefix(w, word) { // a singular, such as watch, or short for it
			d = 1
		}
		if d < least {
			best, least = w, d
		}
	}
	return best
}

// Plural writes a number and a noun: 1 window, 2 windows.
func Plural(n int, noun string) string {
	return fmt.Sprintf("%d %s", n, english.PluralWord(n, noun, ""))
}

// List joins words as a sentence does: "a, b or c".
func List(words []string, last string) string { return english.WordSeries(words, last) }
