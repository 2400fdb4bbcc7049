package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"time"

	"github.com/alecthomas/kong"
	"github.com/kelseyhightower/envconfig"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// KafkaSettings say how to reach the cluster. See [KafkaSettings.Config].
type KafkaSettings struct {
	KafkaBrokers       []string `envconfig:"LOUVER_KAFKA_BROKERS" default:"localhost:9092" group:"kafka" placeholder:"HOST:PORT" help:"Brokers to contact first."`
	KafkaTLS           bool     `envconfig:"LOUVER_KAFKA_TLS" name:"kafka-tls" group:"kafka" negatable:"" help:"Encrypt the connection with TLS."`
	KafkaTLSCAFile     string   `envconfig:"LOUVER_KAFKA_TLS_CA_FILE" name:"kafka-tls-ca-file" group:"kafka" placeholder:"FILE" help:"CA certificates for the brokers, in PEM. Absent: the system's. The file is read again when it changes."`
	KafkaTLSCertFile   string   `envconfig:"LOUVER_KAFKA_TLS_CERT_FILE" name:"kafka-tls-cert-file" group:"kafka" placeholder:"FILE" help:"Client certificate, in PEM, for brokers that ask for one. It is read again when it changes."`
	KafkaTLSKeyFile    string   `envconfig:"LOUVER_KAFKA_TLS_KEY_FILE" name:"kafka-tls-key-file" group:"kafka" placeholder:"FILE" help:"Private key of that certificate, in PEM."`
	KafkaTLSServerName string   `envconfig:"LOUVER_KAFKA_TLS_SERVER_NAME" name:"kafka-tls-server-name" group:"kafka" placeholder:"NAME" help:"Host name in the brokers' certificates. Absent: the name of the broker's host."`
	KafkaSASLMechanism string   `envconfig:"LOUVER_KAFKA_SASL_MECHANISM" name:"kafka-sasl-mechanism" group:"kafka" placeholder:"NAME" help:"PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or AWS_MSK_IAM. Absent: none."`
	KafkaSASLUsername  string   `envconfig:"LOUVER_KAFKA_SASL_USERNAME" name:"kafka-sasl-username" group:"kafka" placeholder:"NAME" help:"User name. With OAUTHBEARER: the client's id."`
	// other users can read a command line
	KafkaSASLPassword        string   `envconfig:"LOUVER_KAFKA_SASL_PASSWORD" kong:"-"`
	KafkaSASLPasswordFile    string   `envconfig:"LOUVER_KAFKA_SASL_PASSWORD_FILE" name:"kafka-sasl-password-file" group:"kafka" placeholder:"FILE" help:"File with the password; with OAUTHBEARER: the client's secret. It is read again for each connection. Or set LOUVER_KAFKA_SASL_PASSWORD to the password itself."`
	KafkaSASLOAuthTokenURL   string   `envconfig:"LOUVER_KAFKA_SASL_OAUTH_TOKEN_URL" name:"kafka-sasl-oauth-token-url" group:"kafka" placeholder:"URL" help:"Where OAUTHBEARER gets its tokens: the token endpoint of an OAuth 2 server."`
	KafkaSASLOAuthScopes     []string `envconfig:"LOUVER_KAFKA_SASL_OAUTH_SCOPES" name:"kafka-sasl-oauth-scopes" group:"kafka" placeholder:"SCOPE" help:"Scopes to ask for."`
	KafkaSASLOAuthExtensions []string `envconfig:"LOUVER_KAFKA_SASL_OAUTH_EXTENSIONS" name:"kafka-sasl-oauth-extensions" group:"kafka" placeholder:"NAME=VALUE" help:"SASL extensions that the broker wants, for example logicalCluster=lkc-1."`
	KafkaClientID            string   `envconfig:"LOUVER_KAFKA_CLIENT_ID" name:"kafka-client-id" default:"louver" group:"kafka" placeholder:"NAME" help:"Name that brokers see in quotas and logs."`
	KafkaIsolation           string   `envconfig:"LOUVER_KAFKA_ISOLATION" default:"read_committed" group:"kafka" placeholder:"LEVEL" help:"read_committed, or read_uncommitted, which also counts records of transactions that may yet be aborted."`
}

// RegistrySettings say where schemas are.
type RegistrySettings struct {
	SchemaRegistryURL          string `envconfig:"LOUVER_SCHEMA_REGISTRY_URL" name:"schema-registry-url" group:"kafka" placeholder:"URL" help:"Schema registry of inputs with schema: registry and of outputs with format: avro, for example https://registry:8081."`
	SchemaRegistryUsername     string `envconfig:"LOUVER_SCHEMA_REGISTRY_USERNAME" group:"kafka" placeholder:"NAME" help:"User name there."`
	SchemaRegistryPasswordFile string `envconfig:"LOUVER_SCHEMA_REGISTRY_PASSWORD_FILE" group:"kafka" placeholder:"FILE" help:"File that holds the password there. It is read again for each request."`
}

// AppSettings say which app this is and what it does.
type AppSettings struct {
	AppID   string `envconfig:"LOUVER_APP_ID" name:"app-id" default:"louver" placeholder:"NAME" help:"Prefix of the internal topics and groups. Processes with the same app id share the work."`
	Streams string `envconfig:"LOUVER_STREAMS" placeholder:"FILE" help:"Streams file, directory of streams files, or glob."`
}

// TopicSettings say what may be done about missing topics.
type TopicSettings struct {
	TopicsCreate      bool `envconfig:"LOUVER_TOPICS_CREATE" default:"true" negatable:"" group:"kafka" help:"Create missing internal and output topics."`
	TopicsReplication int  `envconfig:"LOUVER_TOPICS_REPLICATION" default:"-1" group:"kafka" placeholder:"N" help:"Replication factor of topics that Louver creates; -1: the broker's default."`
}

// Check refuses an impossible replication factor.
func (s TopicSettings) Check() error {
	if n := s.TopicsReplication; n < 1 && n != -1 {
		return fmt.Errorf("LOUVER_TOPICS_REPLICATION=%d; want the number of brokers that keep each record, or -1 for "+
			"the broker's default", n)
	}
	return nil
}

// HTTPSettings are the public address: page, API and public metrics.
type HTTPSettings struct {
	HTTPAddr          string   `envconfig:"LOUVER_HTTP_ADDR" name:"http-addr" default:"127.0.0.1:8080" group:"http" placeholder:"ADDR" help:"Address of the page, the API and the public metrics; empty: none."`
	HTTPBasePath      string   `envconfig:"LOUVER_HTTP_BASE_PATH" name:"http-base-path" group:"http" placeholder:"PATH" help:"Path under which a proxy shows that address, for example /louver. Not needed if the proxy removes the path and says so in X-Forwarded-Prefix."`
	HTTPCORSOrigins   []string `envconfig:"LOUVER_HTTP_CORS_ORIGINS" name:"http-cors-origins" group:"http" placeholder:"ORIGIN" help:"Sites whose pages may use the API, for example https://status.example.com, or *. Absent: none but its own page."`
	HTTPWebConfigFile string   `envconfig:"LOUVER_HTTP_WEB_CONFIG_FILE" name:"http-web-config-file" group:"http" placeholder:"FILE" help:"TLS and basic auth of that address, in the format of Prometheus exporters."`
}

// MetricsSettings are the operators' address, whose exact figures are for nobody else.
type MetricsSettings struct {
	MetricsAddr          string `envconfig:"LOUVER_METRICS_ADDR" default:"127.0.0.1:9797" group:"http" placeholder:"ADDR" help:"Address of the operators' metrics and health."`
	MetricsWebConfigFile string `envconfig:"LOUVER_METRICS_WEB_CONFIG_FILE" group:"http" placeholder:"FILE" help:"TLS and basic auth of that address, in the format of Prometheus exporters."`
	DebugEndpoints       bool   `envconfig:"LOUVER_DEBUG_ENDPOINTS" negatable:"" group:"http" help:"Serve /debug/pprof on the operators' address."`
}

// OptionalMetricsSettings are [MetricsSettings] for a command that has no such address until somebody asks for one: it
// may run beside a service that has the usual one.
type OptionalMetricsSettings struct {
	MetricsAddr          string `envconfig:"LOUVER_METRICS_ADDR" group:"http" placeholder:"ADDR" help:"Address of metrics and health of this process, for operators, such as 127.0.0.1:9798. Absent: none."`
	MetricsWebConfigFile string `envconfig:"LOUVER_METRICS_WEB_CONFIG_FILE" group:"http" placeholder:"FILE" help:"TLS and basic auth of that address, in the format of Prometheus exporters."`
	DebugEndpoints       bool   `envconfig:"LOUVER_DEBUG_ENDPOINTS" negatable:"" group:"http" help:"Serve /debug/pprof on the operators' address."`
}

// OTLPSettings say where figures are exported to.
type OTLPSettings struct {
	OTLPEndpoint    string   `envconfig:"LOUVER_OTLP_ENDPOINT" name:"endpoint" group:"otlp" placeholder:"URL" help:"Where the backend takes OTLP over HTTP, such as http://prometheus:9090/api/v1/otlp. /v1/metrics is added."`
	OTLPHeaders     []string `envconfig:"LOUVER_OTLP_HEADERS" name:"header" group:"otlp" placeholder:"NAME=VALUE" help:"Header of every request, such as X-Scope-OrgID=shop. Others can read a command line: a password belongs in the file or the variable."`
	OTLPHeadersFile string   `envconfig:"LOUVER_OTLP_HEADERS_FILE" name:"headers-file" group:"otlp" placeholder:"FILE" help:"File with more headers, one a line, such as Authorization: Bearer …. It is read again for each request."`
	OTLPCAFile      string   `envconfig:"LOUVER_OTLP_CA_FILE" name:"ca-file" group:"otlp" placeholder:"FILE" help:"CA certificates for the backend, in PEM. Absent: the system's. The file is read again when it changes."`
	OTLPCertFile    string   `envconfig:"LOUVER_OTLP_CERT_FILE" name:"cert-file" group:"otlp" placeholder:"FILE" help:"Client certificate, in PEM, for a backend that asks for one. It is read again when it changes."`
	OTLPKeyFile     string   `envconfig:"LOUVER_OTLP_KEY_FILE" name:"key-file" group:"otlp" placeholder:"FILE" help:"Private key of that certificate, in PEM."`
}

// LogSettings belong to every command.
type LogSettings struct {
	LogLevel  string `envconfig:"LOUVER_LOG_LEVEL" default:"info" group:"log" placeholder:"LEVEL" help:"debug, info, warn or error."`
	LogFormat string `envconfig:"LOUVER_LOG_FORMAT" default:"console" group:"log" placeholder:"FORMAT" help:"console or json."`
}

// ServiceSettings belong to services.
type ServiceSettings struct {
	ShutdownTimeout time.Duration `envconfig:"LOUVER_SHUTDOWN_TIMEOUT" default:"20s" placeholder:"DURATION" help:"How long to wait for a clean stop after SIGTERM."`
	BagBytes        int64         `envconfig:"LOUVER_BAG_BYTES" default:"33554432" placeholder:"BYTES" help:"Memory for open windows, in bytes. Beyond it, parts of them are written to Kafka early."`
	CheckpointEvery int64         `envconfig:"LOUVER_CHECKPOINT_EVERY" default:"1000" placeholder:"ENTRIES" help:"Ledger entries from one checkpoint to the next. A process that takes over reads at most that many."`
}

// Environment holds everything that is read from variables.
type Environment struct {
	KafkaSettings
	RegistrySettings
	AppSettings
	TopicSettings
	HTTPSettings
	MetricsSettings
	OTLPSettings
	LogSettings
	ServiceSettings
}

// readEnvironment reads all variables, and a service binding for those that are not set: bound are these. The tags hold
// the full names. With a separate prefix, envconfig would also read variables without it, and STREAMS or LOG_LEVEL may
// belong to another program.
func readEnvironment() (e Environment, bound []string, err error) {
	if err := envconfig.Process("", &e); err != nil {
		if p := new(envconfig.ParseError); errors.As(err, &p) {
			err = fmt.Errorf("%s=%q; want %s", p.KeyName, p.Value, cmp.Or(wanted[p.TypeName],
				"a value of type "+p.TypeName))
		}
		return e, nil, err
	}
	bound, err = e.bind()
	return e, bound, err
}

// wanted says what variables of a type hold.
var wanted = map[string]string{"bool": "true or false", "int": "a whole number", "int64": "a whole number",
	"time.Duration": "a duration, such as 20s"}

// applyEnvironment sets every setting that no flag has set to the environment's value. What the environment does not
// say keeps the command's own default.
func applyEnvironment(parsed *kong.Context) error {
	e, bound, err := readEnvironment()
	if err != nil {
		return err
	}
	values := map[string]reflect.Value{}
	settings(reflect.ValueOf(&e).Elem(), values)
	if err := refuseMisspelt(os.Environ(), names(values)); err != nil {
		return err
	}
	given := map[*kong.Value]bool{}
	for _, step := range parsed.Path {
		if step.Flag != nil {
			given[step.Flag.Value] = true
		}
	}
	for _, flag := range parsed.Flags() {
		name := flag.Tag.Get("envconfig")
		_, says := os.LookupEnv(name)
		if v, ok := values[name]; ok && !given[flag.Value] && (says || slices.Contains(bound, name)) {
			flag.Target.Set(v)
		}
	}
	secret(parsed, values)
	return nil
}

// names returns the names of the variables, sorted.
func names(values map[string]reflect.Value) []string { return slices.Sorted(maps.Keys(values)) }

// settings collects the fields that have a variable.
func settings(v reflect.Value, into map[string]reflect.Value) {
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("envconfig"); name != "" {
			into[name] = v.Field(i)
		} else if v.Field(i).Kind() == reflect.Struct {
			settings(v.Field(i), into)
		}
	}
}

// secret reads the settings that have no flag.
func secret(parsed *kong.Context, values map[string]reflect.Value) {
	if node := parsed.Selected(); node != nil {
		if f := node.Target.FieldByName("KafkaSASLPassword"); f.IsValid() {
			f.Set(values["LOUVER_KAFKA_SASL_PASSWORD"])
		}
	}
}

// helpText adds a flag's default and variable to its help.
func helpText(v *kong.Value) string {
	text := v.Help
	if v.HasDefault && v.Default != "" {
		text += " Default: " + v.Default + "."
	}
	if name := v.Tag.Get("envconfig"); name != "" {
		text += " [" + name + "]"
	}
	return text
}

// logger makes a log that writes to w. Its level can be changed while it is used.
func (s LogSettings) logger(w io.Writer) (*zap.Logger, zap.AtomicLevel, error) {
	level, err := zapcore.ParseLevel(s.LogLevel)
	from := zap.NewAtomicLevelAt(level)
	if err != nil || level > zapcore.ErrorLevel {
		return nil, from, fmt.Errorf("LOUVER_LOG_LEVEL=%q; want debug, info, warn or error", s.LogLevel)
	}
	var encoder zapcore.Encoder
	switch s.LogFormat {
	case "console":
		c := zap.NewDevelopmentEncoderConfig()
		encoder = zapcore.NewConsoleEncoder(c)
	case "json":
		c := zap.NewProductionEncoderConfig()
		c.EncodeTime = zapcore.RFC3339TimeEncoder
		encoder = zapcore.NewJSONEncoder(c)
	default:
		return nil, from, fmt.Errorf("LOUVER_LOG_FORMAT=%q; want console or json", s.LogFormat)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), from)), from, nil
}
