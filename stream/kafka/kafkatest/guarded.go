package kafkatest

import (
	"slices"
	"testing"

	"github.com/segmentio/kafka-go"
)

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

// CreateACLs adds entries that allow or deny operations.
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
		filter := kafka.DeleteACLsFilter{ResourceTypeFilter: denied.ResourceType,
			ResourceNameFilter: denied.ResourceName, ResourcePatternTypeFilter: denied.ResourcePatternType,
			PrincipalFilter: denied.Principal, HostFilter: denied.Host, Operation: denied.Operation,
			PermissionType: denied.PermissionType}
		Await(t, "the right is given back", func() bool {
			res, err := b.Conn.Client.DeleteACLs(Context(t),
				&kafka.DeleteACLsRequest{Filters: []kafka.DeleteACLsFilter{filter}})
			return err == nil && res.Results[0].Error == nil
		})
	}
}
