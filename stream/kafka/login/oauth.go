package login

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/segmentio/kafka-go/sasl"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// OAuth says where tokens come from: the client credentials grant of OAuth 2 (RFC 6749, section 4.4).
type OAuth struct {
	// TokenURL is the address of the token endpoint. Required.
	TokenURL string
	// ClientID and what Secret returns are the credentials. Required. Secret is asked for each token.
	ClientID string
	Secret   func() (string, error)
	// Scopes are asked for. Defaults to none.
	Scopes []string
	// Extensions are SASL extensions, which some brokers want. Defaults to none.
	Extensions map[string]string
}

const (
	// tokenTimeout is how long a request for a token may take.
	tokenTimeout = 10 * time.Second
	// renewEarly is how long before its end a token is replaced: it must last until the broker has seen it.
	renewEarly = 30 * time.Second
)

// bearer is the mechanism OAUTHBEARER (RFC 7628).
type bearer struct {
	tokens     oauth2.TokenSource
	extensions string
}

// Names and values of extensions: RFC 7628, section 3.1.
var (
	extensionName  = regexp.MustCompile(`^[A-Za-z]+$`)
	extensionValue = regexp.MustCompile(`^[\x20-\x7E\t\r\n]*$`)
)

// Mechanism returns the mechanism OAUTHBEARER. A token is used for all connections until shortly before its end.
func (o OAuth) Mechanism() (sasl.Mechanism, error) {
	b := &bearer{tokens: oauth2.ReuseTokenSourceWithExpiry(nil, o, renewEarly)}
	for _, name := range slices.Sorted(maps.Keys(o.Extensions)) {
		if !extensionName.MatchString(name) || name == "auth" || !extensionValue.MatchString(o.Extensions[name]) {
			return nil, fmt.Errorf("extension %q; want letters for its name, and text for its value", name)
		}
		b.extensions += name + "=" + o.Extensions[name] + "\x01"
	}
	return b, nil
}

// Token implements oauth2.TokenSource: it asks the server.
func (o OAuth) Token() (*oauth2.Token, error) {
	secret, err := o.Secret()
	if err != nil {
		return nil, &Error{err: err}
	}
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Timeout: tokenTimeout})
	c := clientcredentials.Config{ClientID: o.ClientID, ClientSecret: secret, TokenURL: o.TokenURL, Scopes: o.Scopes}
	token, err := c.Token(ctx)
	var told *oauth2.RetrieveError
	switch {
	case err == nil:
		return token, nil
	case errors.As(err, &told) && told.Response != nil: // its text has the whole answer, which may be long
		why := strings.TrimSpace(told.ErrorCode + " " + told.ErrorDescription)
		status := told.Response.StatusCode
		return nil, &Error{err: fmt.Errorf("%s answers %d %s", o.TokenURL, status, why),
			refused: status == http.StatusUnauthorized || status == http.StatusBadRequest}
	}
	return nil, &Error{err: fmt.Errorf("token from %s: %w", o.TokenURL, err)}
}

func (*bearer) Name() string { return "OAUTHBEARER" }

// Start sends the token.
func (b *bearer) Start(context.Context) (sasl.StateMachine, []byte, error) {
	token, err := b.tokens.Token()
	if err != nil {
		return nil, nil, err
	}
	return b, []byte("n,,\x01auth=Bearer " + token.AccessToken + "\x01" + b.extensions + "\x01"), nil
}

// Next ends the exchange. A broker that refuses the token says so in a challenge; it fails after our empty answer.
func (*bearer) Next(_ context.Context, challenge []byte) (bool, []byte, error) {
	if len(challenge) > 0 {
		return false, []byte{1}, nil
	}
	return true, nil, nil
}
