package main

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
)

// The resources for Strimzi say the same as the other formats: each topic that Louver would create, and each right.
func TestTopicsForStrimzi(t *testing.T) {
	path := clitest.File(t, "streams.yaml", strings.Replace(clitest.StreamsFile, "checkout.private",
		"Checkout_private", 1))
	print := func(args ...string) string {
		t.Helper()
		got := commandLine(t, "", append([]string{"topics", path}, args...)...)
		if got.code != cli.ExitDone {
			t.Fatalf("%+v", got)
		}
		return got.out
	}
	named := []string{"--kafka-sasl-username", "shop", "--kafka-sasl-mechanism", "SCRAM-SHA-512"}
	out := print(append(named, "--format", "strimzi", "--cluster", "main", "--topics-replication", "3")...)
	type resource struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct {
			Name   string
			Labels map[string]string
		}
		Spec struct {
			TopicName            string `yaml:"topicName"`
			Partitions, Replicas int
			Config               map[string]string
			Authentication       struct{ Type string }
			Authorization        struct {
				Type string
				ACLs []struct {
					Resource struct {
						Type, Name  string
						PatternType string `yaml:"patternType"`
					}
					Operations []string
				} `yaml:"acls"`
			}
		}
	}
	var created, rights []string
	decoder := yaml.NewDecoder(strings.NewReader(out))
	decoder.KnownFields(true)
	// a DNS subdomain, as Kubernetes wants
	valid := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	for {
		var r resource
		if err := decoder.Decode(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if r.APIVersion != "kafka.strimzi.io/v1" || !valid.MatchString(r.Metadata.Name) ||
			r.Metadata.Labels["strimzi.io/cluster"] != "main" {
			t.Errorf("%+v", r)
		}
		switch r.Kind {
		case "KafkaTopic":
			created = append(created, r.Spec.TopicName)
			if r.Spec.Replicas != 3 {
				t.Errorf("%+v", r.Spec)
			}
			if c := r.Spec.Config; r.Spec.TopicName == "louver.ledger" && (r.Spec.Partitions != 8 ||
				c["retention.ms"] != "-1" || c["cleanup.policy"] != "delete" || c["min.insync.replicas"] != "2" ||
				c["unclean.leader.election.enable"] != "false") {
				t.Errorf("the ledger: %+v", r.Spec)
			}
		case "KafkaUser":
			if r.Metadata.Name != "shop" || r.Spec.Authentication.Type != "scram-sha-512" ||
				r.Spec.Authorization.Type != "simple" {
				t.Errorf("%+v", r)
			}
			for _, acl := range r.Spec.Authorization.ACLs {
				for _, op := range acl.Operations {
					line := "--add --allow-principal User:shop --operation " + op + " --" +
						strings.Replace(acl.Resource.Type, "transactionalId", "transactional-id", 1) + " " +
						acl.Resource.Name
					if acl.Resource.PatternType == "prefix" {
						line += " --resource-pattern-type prefixed"
					}
					rights = append(rights, line)
				}
			}
		default:
			t.Errorf("kind %q", r.Kind)
		}
	}
	if want := strings.Split(strings.TrimSpace(print(append(named, "--format", "acls")...)), "\n"); !slices.Equal(rights, want) {
		t.Errorf("the user may\n%s\nwant\n%s", strings.Join(rights, "\n"), strings.Join(want, "\n"))
	}
	var listed struct {
		Topics []struct {
			Topic      string
			Partitions int
		}
	}
	if err := json.Unmarshal([]byte(print("--json")), &listed); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, topic := range listed.Topics {
		if topic.Partitions != 0 {
			want = append(want, topic.Topic)
		}
	}
	if !slices.Equal(created, want) || !slices.Contains(want, "Checkout_private") {
		t.Errorf("topics %q, want %q", created, want)
	}
	// How the user logs in follows from the settings.
	for args, want := range map[string]string{"--kafka-tls-cert-file=x": "type: tls",
		"--kafka-sasl-mechanism=OAUTHBEARER": "", "--app-id=louver": "type: scram-sha-512"} {
		if got := print("--format", "strimzi", args); strings.Contains(got, "authentication:") != (want != "") ||
			!strings.Contains(got, want) {
			t.Errorf("%s: want %q in\n%s", args, want, got)
		}
	}
}
