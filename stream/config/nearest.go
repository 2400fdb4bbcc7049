package config

import "github.com/agnivade/levenshtein"

// nearest returns the word that a misspelt one probably stands for, or "" if none is similar.
func nearest(word string, words []string) string {
	best, least := "", max(1, len(word)/3)+1
	for _, w := range words {
		d := levenshtein.ComputeDistance(word, w)
		if w == word+"es" { // a plural, such as watches
			d = 1
		}
		if d < least {
			best, least = w, d
		}
	}
	return best
}
