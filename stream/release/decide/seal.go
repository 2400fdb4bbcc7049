package decide

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/louver/louver/stream/ledger"
)

// sealer closes the secrets of instances, and opens them again.
type sealer interface {
	close(budget string, of ledger.Instance, definition string, secret []byte) ([]byte, error)
	open(budget string, of ledger.Instance, definition string, sealed []byte) ([]byte, error)
}

// seal encrypts the secrets of watches, so that a reader of the ledger learns nothing from them.
type seal struct {
	app  string
	aead cipher.AEAD
}

// newSeal returns the seal of an app. Each nonce is random, so a key may seal 2³² secrets (NIST SP 800-38D, 8.3).
func newSeal(app string, key []byte) (*seal, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("the key for the secrets of watches: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &seal{app, aead}, err
}

// sealedSize is the size of every secret before it is sealed. The length of a secret depends on ρ, so it must not show.
const sealedSize = 1024

// close seals the secret of an instance.
func (s *seal) close(budget string, of ledger.Instance, definition string, secret []byte) ([]byte, error) {
	if len(secret) > sealedSize {
		return nil, errors.New("the secret of a watch is too long")
	}
	padded := append(bytes.Clone(secret), bytes.Repeat([]byte(" "), sealedSize-len(secret))...)
	return s.aead.Seal(nil, nil, padded, s.bound(budget, of, definition)), nil
}

// open returns a secret. It fails if it was sealed for another instance or under another key, or was altered.
func (s *seal) open(budget string, of ledger.Instance, definition string, sealed []byte) ([]byte, error) {
	padded, err := s.aead.Open(nil, nil, sealed, s.bound(budget, of, definition))
	return bytes.TrimRight(padded, " "), err
}

// bound returns what a sealed secret is bound to: it opens only with the same text.
func (s *seal) bound(budget string, of ledger.Instance, definition string) []byte {
	// never fails
	text, _ := json.Marshal([]any{"louver watch", s.app, budget, of.Stream, of.Name, of.Number, definition})
	return text
}
