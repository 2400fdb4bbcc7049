package kafkatest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
)

// admin is the user who may do everything. Every user's password is its name.
const admin = "admin"

// Guarded is an Apache Kafka for this test alone. Clients log in by SASL PLAIN and may do only what they have been
// granted. Conn belongs to a user who may do everything; the others may do nothing yet. A user's password is its name.
// The broker also takes OAUTHBEARER, with unsigned tokens.
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

// CreateACLs gives and takes rights.
func (b *Broker) CreateACLs(t testing.TB, acls ...kafka.ACLEntry) {
	t.Helper()
	Await(t, "rights are made", func() bool {
		res, err := b.Conn.Client.CreateACLs(Context(t), &kafka.CreateACLsRequest{ACLs: acls})
		return err == nil && !slices.ContainsFunc(res.Errors, func(err error) bool { return err != nil })
	})
}

// TakeAway takes a right on a topic from a user, and returns what gives it back.
func (b *Broker) TakeAway(t testing.TB, user string, operation kafka.ACLOperationType, topic string) (giveBack func()) {
	t.Helper()
	denied := kafka.ACLEntry{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
		ResourcePatternType: kafka.PatternTypeLiteral, Principal: "User:" + user, Host: "*", Operation: operation,
		PermissionType: kafka.ACLPermissionTypeDeny}
	b.CreateACLs(t, denied)
	return func() {
		t.Helper()
		filter := kafka.DeleteACLsFilter{ResourceTypeFilter: denied.ResourceType, ResourceNameFilter: denied.ResourceName,
			ResourcePatternTypeFilter: denied.ResourcePatternType, PrincipalFilter: denied.Principal, HostFilter: denied.Host,
			Operation: denied.Operation, PermissionType: denied.PermissionType}
		Await(t, "the right is given back", func() bool {
			res, err := b.Conn.Client.DeleteACLs(Context(t), &kafka.DeleteACLsRequest{Filters: []kafka.DeleteACLsFilter{filter}})
			return err == nil && res.Results[0].Error == nil
		})
	}
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
