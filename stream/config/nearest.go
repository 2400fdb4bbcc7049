package config

// nearest returns the word that a misspelt one was probably meant to be; "" if none is near.
func nearest(word string, words []string) string {
	best, least := "", max(1, len(word)/3)+1
	for _, w := range words {
		if d := distance(word, w, least); d < least {
			best, least = w, d
		}
	}
	return best
}

// distance is the Levenshtein distance of two words in bytes; at most limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
