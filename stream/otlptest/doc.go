// Package otlptest tries the service against the real programs that it works with by OpenTelemetry: the SDK and the
// Collector that write telemetry to Kafka, and a Prometheus that takes figures from `louver export`. `make otlp` runs
// it. The module is one of its own, because the Collector and Prometheus are far larger than the service.
//
// It also writes codec/testdata/otlp, which the program's own tests read: what the Collector's exporter writes for
// traces, logs and metrics, as protobuf and as JSON. TestRecorded fails if a newer exporter writes something else, and
// writes the files anew with -update.
package otlptest
