package otlptest

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/kafkaexporter"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry"

	"github.com/louver/louver/stream/kafka/kafkatest"
)

// startCollector runs the Collector of deploy/otel/collector.yaml, with the brokers of a test and what else the test
// overrides, each in YAML. It returns the address of its OTLP receiver.
func startCollector(t *testing.T, b *kafkatest.Broker, overrides ...string) (endpoint string) {
	t.Helper()
	grpc, web := kafkatest.Address(t), kafkatest.Address(t)
	uris := []string{"file:" + filepath.Join("..", "..", "deploy", "otel", "collector.yaml"),
		fmt.Sprintf("yaml:receivers: {otlp: {protocols: {grpc: {endpoint: %q}, http: {endpoint: %q}}}}", grpc, web),
		fmt.Sprintf("yaml:exporters: {kafka: {brokers: [%s]}}", strings.Join(b.Conn.Brokers, ", "))}
	for _, o := range overrides {
		uris = append(uris, "yaml:"+o)
	}
	collector, err := otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo: component.NewDefaultBuildInfo(),
		Factories: func() (otelcol.Factories, error) {
			in, out := otlpreceiver.NewFactory(), kafkaexporter.NewFactory()
			return otelcol.Factories{
				Receivers: map[component.Type]receiver.Factory{in.Type(): in},
				Exporters: map[component.Type]exporter.Factory{out.Type(): out},
				// The Collector's own metrics are of no use here.
				Telemetry: telemetry.NewFactory(func() component.Config { return &struct{}{} }),
			}, nil
		},
		DisableGracefulShutdown: true, // signals are for the test
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs: uris, DefaultScheme: "file",
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), yamlprovider.NewFactory()},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- collector.Run(t.Context()) }()
	t.Cleanup(func() {
		collector.Shutdown()
		if err := kafkatest.Receive(t, "the Collector ends", ended); err != nil {
			t.Error(err)
		}
	})
	kafkatest.Await(t, "the Collector listens", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("the Collector ended: %v", err)
		default:
		}
		status, err := get("http://" + web + "/v1/traces")
		return err == nil && status == http.StatusMethodNotAllowed
	})
	return web
}

// get asks for the status of an address.
func get(url string) (status int, err error) {
	response, err := http.Get(url)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}
