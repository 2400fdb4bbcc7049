package config

import "github.com/agnivade/levenshtein"

// nearest returns the word that a misspelt one probably stands for, or "" if none is similar.
func nearest(word string, words []string) string {
	best, least := "", max(1, len(word)/3)+1
	for _, w := range words {
		if d := levenshtein.ComputeDistance(word, w); d < least {
			best, least = w, d
		}
	}
	return best
}
