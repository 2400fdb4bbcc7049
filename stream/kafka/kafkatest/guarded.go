package kafkatest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
)

// admin is the user who may do everything. Every user's password is its name.
const admin = "admin"

// Guarded is an Apache Kafka for this test alone. Clients log in by SASL PLAIN and may do only what they have been
// granted. Conn belongs to a user who may do everything; the others may do nothing yet. A user's password is its name. The
// broker also takes OAUTHBEARER, with unsigned tokens.
func Guarded(t testing.TB, users ...string) *Broker {
	t.Helper()
	s := newServer(t, 1, t.TempDir())
	s.users = append([]string{admin}, users...)
	t.Cleanup(s.kill)
	boot(t, []*server{s})
	b := &Broker{nodes: []*server{s}}
	b.connectAs(t, []string{s.addr}, s.admin())
	return b
}

// admin is how the tests log in, or nil if the broker asks nobody to.
func (s *server) admin() sasl.Mechanism {
	if s.users == nil {
		return nil
	}
	return plain.Mechanism{Username: admin, Password: admin}
}

// guard makes the broker check credentials and rights. It trusts its controller, which has a listener of its own.
func (s *server) guard(config []byte) []byte {
	config = bytes.ReplaceAll(config, []byte("listeners=PLAINTEXT:"), []byte("listeners=SASL_PLAINTEXT:"))
	config = bytes.ReplaceAll(config, []byte("PLAINTEXT:PLAINTEXT"), []byte("SASL_PLAINTEXT:SASL_PLAINTEXT"))
	config = fmt.Appendf(config, `security.inter.broker.protocol=SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN,OAUTHBEARER
sasl.mechanism.inter.broker.protocol=PLAIN
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:%[1]s;User:ANONYMOUS
listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="%[1]s";
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="%[1]s" password="%[1]s"`, admin)
	for _, user := range s.users {
		config = fmt.Appendf(config, ` user_%[1]s="%[1]s"`, user)
	}
	return append(config, ";\n"...)
}
