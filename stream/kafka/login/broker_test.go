package login_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/login"
)

// unsigned is a JSON web token without a signature, which a broker takes if nothing else is configured.
func unsigned(user string, until time.Time) string {
	part := func(v any) string {
		text, _ := json.Marshal(v) // of a map of texts and numbers: never fails
		return base64.RawURLEncoding.EncodeToString(text)
	}
	return part(map[string]any{"alg": "none"}) + "." + part(map[string]any{"sub": user, "iat": time.Now().Unix(),
		"exp": until.Unix()}) + "."
}

// A real broker lets in who has a token, under the token's name, and refuses a token that has ended.
func TestBrokerTakesTokens(t *testing.T) {
	b := kafkatest.Guarded(t)
	connect := func(token string) error {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if token == "" {
				w.WriteHeader(http.StatusUnauthorized)
			}
			_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, token)
		}))
		defer server.Close()
		m, err := login.OAuth{TokenURL: server.URL, ClientID: "me",
			Secret: func() (string, error) { return "x", nil }}.Mechanism()
		if err != nil {
			t.Fatal(err)
		}
		conn, err := kafkaconn.New(kafkaconn.Config{Brokers: b.Conn.Brokers, SASL: m})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.Check(kafkatest.Context(t), nil); err != nil {
			return err
		}
		// Only the administrator may do this.
		res, err := conn.Client.CreateTopics(kafkatest.Context(t), &kafka.CreateTopicsRequest{Addr: conn.Addr,
			Topics: []kafka.TopicConfig{{Topic: kafkatest.Name(t), NumPartitions: 1, ReplicationFactor: 1}}})
		if err != nil {
			return err
		}
		for _, err := range res.Errors {
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := connect(unsigned("admin", time.Now().Add(time.Hour))); err != nil {
		t.Errorf("as the administrator: %v", err)
	}
	if err := connect(unsigned("nobody", time.Now().Add(time.Hour))); !kafkaconn.Unauthorised(err) {
		t.Errorf("as somebody without rights: %v", err)
	}
	if err := connect(unsigned("admin", time.Now().Add(-time.Hour))); !kafkaconn.Refused(err) {
		t.Errorf("with a token that has ended: %v", err)
	}
	var told *login.Error
	if err := connect(""); !kafkaconn.Refused(err) || !errors.As(err, &told) {
		t.Errorf("without a token: %v", err)
	}
}
