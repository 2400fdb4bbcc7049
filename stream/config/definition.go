package config

import (
	"crypto/sha256"
	"encoding/hex"
)

// Definition is a stream and its budget, written as a streams file of one line: variables are replaced, keys are
// sorted, and comments are gone. Keys that do not change a window are left out: the description, the start,
// user_partitioned, fresh, continues, and objectives of releases. So two definitions are equal if their windows would
// be the same.
type Definition string

// Fingerprint is a short name for a definition.
func (d Definition) Fingerprint() string {
	sum := sha256.Sum256([]byte(d))
	return hex.EncodeToString(sum[:6])
}
