package inspect

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/kafka/topics"
)

// strimziResource is a KafkaTopic or a KafkaUser: https://strimzi.io/docs/operators/latest/configuring.html
type strimziResource struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name   string            `yaml:"name"`
		Labels map[string]string `yaml:"labels"`
	} `yaml:"metadata"`
	Spec any `yaml:"spec"`
}

type strimziTopic struct {
	TopicName  string            `yaml:"topicName"`
	Partitions int               `yaml:"partitions,omitempty"` // absent: the broker's default
	Replicas   int               `yaml:"replicas,omitempty"`   // absent: the broker's default
	Config     map[string]string `yaml:"config,omitempty"`
}

type strimziUser struct {
	Authentication *strimziType `yaml:"authentication,omitempty"`
	Authorization  struct {
		Type string       `yaml:"type"`
		ACLs []strimziACL `yaml:"acls"`
	} `yaml:"authorization"`
}

type strimziType struct {
	Type string `yaml:"type"`
}

type strimziACL struct {
	Resource struct {
		Type        string `yaml:"type"`
		Name        string `yaml:"name"`
		PatternType string `yaml:"patternType"`
	} `yaml:"resource"`
	Operations []string `yaml:"operations"`
}

// strimzi is the cluster for which resources are written, and its user.
type strimzi struct {
	cluster, user string
	login         *strimziType // nil: nothing is said about it
	replication   int          // of topics; −1: the broker's default
}

// print writes a KafkaTopic for each topic that Louver would create, and a KafkaUser with the rights.
func (s strimzi) print(w io.Writer, plan []topics.Topic, rights []topics.Right) error {
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	for _, t := range plan {
		if t.Partitions == 0 {
			continue
		}
		spec := strimziTopic{TopicName: t.Name, Partitions: max(0, t.Partitions), Replicas: max(0, s.replication),
			Config: topics.Settings(t, s.replication)}
		if err := encoder.Encode(s.resource("KafkaTopic", t.Name, spec)); err != nil {
			return err
		}
	}
	var user strimziUser
	user.Authentication = s.login
	user.Authorization.Type = "simple"
	for _, r := range rights {
		acl := strimziACL{Operations: r.Operations}
		acl.Resource.Type, acl.Resource.Name, acl.Resource.PatternType = strings.ReplaceAll(r.Resource,
			"transactional-id", "transactionalId"), r.Name, "literal"
		if r.Prefixed {
			acl.Resource.PatternType = "prefix"
		}
		user.Authorization.ACLs = append(user.Authorization.ACLs, acl)
	}
	if err := encoder.Encode(s.resource("KafkaUser", s.user, user)); err != nil {
		return err
	}
	return encoder.Close()
}

func (s strimzi) resource(kind, name string, spec any) strimziResource {
	r := strimziResource{APIVersion: "kafka.strimzi.io/v1", Kind: kind, Spec: spec}
	r.Metadata.Name, r.Metadata.Labels = resourceName(name), map[string]string{"strimzi.io/cluster": s.cluster}
	return r
}

// strimziLogin is how the user logs in. Nothing is said for mechanisms whose users Strimzi does not manage.
func strimziLogin(k cli.KafkaSettings) *strimziType {
	switch mechanism := strings.ToUpper(k.KafkaSASLMechanism); {
	case mechanism == "SCRAM-SHA-512" || mechanism == "" && k.KafkaTLSCertFile == "":
		return &strimziType{"scram-sha-512"}
	case mechanism == "":
		return &strimziType{"tls"}
	}
	return nil
}

var unfitForResources = regexp.MustCompile(`[^a-z0-9.-]+|^[.-]+|[.-]+$`)

// resourceName makes a name for Kubernetes. A name that has to be changed gets a few digits, which tell it from similar
// ones.
func resourceName(name string) string {
	const most = 200
	fit := strings.Trim(unfitForResources.ReplaceAllString(strings.ToLower(name), "-"), ".-")
	if fit == name && len(name) <= most && !strings.Contains(name, "..") && !strings.Contains(name, ".-") &&
		!strings.Contains(name, "-.") {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	fit = strings.ReplaceAll(fit, ".", "-")
	return strings.Trim(fit[:min(len(fit), most)]+"-"+hex.EncodeToString(sum[:4]), "-")
}
