package cli

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// knownSettings are the names of all variables that are read.
func knownSettings() []string {
	values := map[string]reflect.Value{}
	settings(reflect.ValueOf(new(Environment)).Elem(), values)
	return names(values)
}

func TestMisspeltVariables(t *testing.T) {
	for name, want := range map[string]string{
		"LOUVER_KAFKA_BROKER":           "LOUVER_KAFKA_BROKERS",
		"LOUVER_KAFKA_BORKERS":          "LOUVER_KAFKA_BROKERS",
		"LOUVER_BROKERS":                "LOUVER_KAFKA_BROKERS",
		"LOUVER_STREAM":                 "LOUVER_STREAMS",
		"LOUVER_STREAMS_FILE":           "LOUVER_STREAMS",
		"LOUVER_LOGLEVEL":               "LOUVER_LOG_LEVEL",
		"LOUVER_LOG":                    "LOUVER_LOG_LEVEL or LOUVER_LOG_FORMAT",
		"LOUVER_APPID":                  "LOUVER_APP_ID",
		"LOUVER_HTTP_ADDRESS":           "LOUVER_HTTP_ADDR",
		"LOUVER_SASL_USERNAME":          "LOUVER_KAFKA_SASL_USERNAME",
		"LOUVER_KAFKA_TLS_CA":           "LOUVER_KAFKA_TLS or LOUVER_KAFKA_TLS_CA_FILE",
		"LOUVER_KAFKA_SASL_PASWORD":     "LOUVER_KAFKA_SASL_PASSWORD",
		"LOUVER_KAFKA_ISOLATION_LEVEL":  "LOUVER_KAFKA_ISOLATION",
		"LOUVER_SHUTDOWN_TIMEOUT_SECS":  "LOUVER_SHUTDOWN_TIMEOUT",
		"LOUVER_TOPICS_REPLICATION_NUM": "LOUVER_TOPICS_REPLICATION",
	} {
		err := refuseMisspelt([]string{"PATH=/bin", name + "=secret"}, knownSettings())
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := strings.TrimSuffix(strings.TrimPrefix(err.Error(), name+" is not a setting; did you mean "), "?")
		if a, b := strings.Split(got, " or "),
			strings.Split(want, " or "); !slices.Equal(slices.Sorted(slices.Values(a)),
			slices.Sorted(slices.Values(b))) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// What Kubernetes and others put into the environment does not stop anything.
func TestForeignVariables(t *testing.T) {
	var environment []string
	// https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables, for Services of these
	// names, of which some are settings' names without their last word.
	for _, service := range []string{"LOUVER", "LOUVER_HTTP", "LOUVER_METRICS", "LOUVER_KAFKA", "LOUVER_KAFKA_BROKERS",
		"LOUVER_STREAMS", "LOUVER_SCHEMA_REGISTRY", "LOUVER_APP"} {
		for _, name := range []string{"SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTP", "SERVICE_PORT_METRICS",
			"PORT", "PORT_8080_TCP", "PORT_8080_TCP_PROTO", "PORT_8080_TCP_PORT", "PORT_8080_TCP_ADDR",
			"PORT_53_UDP_ADDR"} {
			environment = append(environment, service+"_"+name+"=x")
		}
	}
	environment = append(environment, "LOUVER_TEST_DATA=x", "LOUVER_TEST_PROCESS=1", "LOUVER_TEST_KAFKA_VERSION=4",
		"LOUVER_VERSION=1", "LOUVER_HOME=/x", "LOUVER_IMAGE=x", "LOUVER_ENV=prod",
		"LOUVER_KAFKA_TOPIC=x", "LOUVER_TOPIC=x", "LOUVER_=x", "LOUVER=x", "LOUVERS=x", "MY_LOUVER_KAFKA_BROKER=x",
		"louver_kafka_broker=x", "KAFKA_BROKER=x", "LOG_LEVEL=x", "=x", "")
	if err := refuseMisspelt(environment, knownSettings()); err != nil {
		t.Error(err)
	}
	for _, name := range knownSettings() {
		if err := refuseMisspelt([]string{name + "=x"}, knownSettings()); err != nil {
			t.Error(err)
		}
	}
}
