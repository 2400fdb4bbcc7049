// Package helm tests the chart. It is a module of its own: the program does not depend on Helm.
package helm

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/pod-security-admission/api"
	security "k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

// least are the values that a user must give.
const least = `
image: {tag: 1.2.3}
settings: {KAFKA_BROKERS: "kafka:9092"}
streams: {streams.yaml: "version: 1\n# ${NOT_A_TEMPLATE} {{ nor this }}\n"}
`

// most sets every value.
const most = least + `
replicas: 3
image: {repository: registry.example.com/louver, tag: v1.2.3, pullPolicy: Always}
imagePullSecrets: [{name: pull}]
settings: {KAFKA_BROKERS: "kafka:9092", KAFKA_TLS: true, BAG_BYTES: 268435456, LOG_FORMAT: console, METRICS_WEB_CONFIG_FILE: /run/secrets/louver/web.yaml}
files: {checkout.avsc: '{"type": "long"}'}
secret: louver-passwords
service: {type: LoadBalancer, port: 80, annotations: {a: b}}
networkPolicy:
  public: [{namespaceSelector: {matchLabels: {team: web}}}]
  operators: [{podSelector: {matchLabels: {app: prometheus}}}]
serviceMonitor: {enabled: true, interval: 5s, labels: {release: prometheus}}
prometheusRule: {enabled: true, labels: {release: prometheus}, groups: [{name: own, rules: [{alert: A, expr: "{{ $x }} > 1"}]}]}
boards: {enabled: true, labels: {board: "yes"}, annotations: {grafana_folder: Louver}}
podDisruptionBudget: {maxUnavailable: 50%}
serviceAccount: {annotations: {eks.amazonaws.com/role-arn: "arn:aws:iam::1:role/r"}}
podAnnotations: {note: "1"}
podLabels: {team: data}
nodeSelector: {disk: ssd}
tolerations: [{key: spot, operator: Exists}]
affinity: {podAntiAffinity: {}}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
`

func values(t *testing.T, text string) map[string]any {
	t.Helper()
	// A later key replaces an earlier one, so that most can begin with least.
	var v map[string]any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// objects are what the chart makes, by kind and name, read strictly: a key that Kubernetes does not know is an error.
type objects struct {
	deployment *apps.Deployment
	config     *core.ConfigMap
	account    *core.ServiceAccount
	services   map[string]*core.Service
	budget     *policy.PodDisruptionBudget
	network    *networking.NetworkPolicy
	monitors   map[string]*monitoring.ServiceMonitor
	rule       *monitoring.PrometheusRule
	boards     map[string]*core.ConfigMap
}

// documents are the files that the chart makes, with one object in each.
func documents(t *testing.T, text string) (all []string, err error) {
	t.Helper()
	chart, err := loader.Load("louver")
	if err != nil {
		t.Fatal(err)
	}
	v, err := util.ToRenderValues(chart, values(t, text),
		common.ReleaseOptions{Name: "shop", Namespace: "data", IsInstall: true}, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Engine{Strict: true}.RenderWithContext(t.Context(), chart, v)
	if err != nil {
		return nil, err
	}
	for name, text := range files {
		if strings.HasSuffix(name, ".yaml") {
			for doc := range strings.SplitSeq(text, "\n---") {
				all = append(all, "# "+name+"\n"+doc)
			}
		}
	}
	return all, nil
}

func render(t *testing.T, text string) (objects, error) {
	t.Helper()
	all := objects{services: map[string]*core.Service{}, monitors: map[string]*monitoring.ServiceMonitor{},
		boards: map[string]*core.ConfigMap{}}
	docs, err := documents(t, text)
	if err != nil {
		return all, err
	}
	for _, doc := range docs {
		var is struct{ Kind string }
		if err := yaml.Unmarshal([]byte(doc), &is); err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		into := any(nil)
		service, monitor, config := &core.Service{}, &monitoring.ServiceMonitor{}, &core.ConfigMap{}
		switch is.Kind {
		case "":
			continue
		case "Deployment":
			all.deployment = &apps.Deployment{}
			into = all.deployment
		case "ConfigMap":
			into = config
		case "ServiceAccount":
			all.account = &core.ServiceAccount{}
			into = all.account
		case "PodDisruptionBudget":
			all.budget = &policy.PodDisruptionBudget{}
			into = all.budget
		case "NetworkPolicy":
			all.network = &networking.NetworkPolicy{}
			into = all.network
		case "Service":
			into = service
		case "ServiceMonitor":
			into = monitor
		case "PrometheusRule":
			all.rule = &monitoring.PrometheusRule{}
			into = all.rule
		default:
			t.Fatalf("unexpected kind %s\n%s", is.Kind, doc)
		}
		if err := yaml.UnmarshalStrict([]byte(doc), into); err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		switch {
		case is.Kind == "Service":
			all.services[service.Name] = service
		case is.Kind == "ServiceMonitor":
			all.monitors[monitor.Name] = monitor
		case is.Kind == "ConfigMap" && strings.Contains(config.Name, "-board-"):
			all.boards[config.Name] = config
		case is.Kind == "ConfigMap":
			all.config = config
		}
	}
	return all, nil
}

func rendered(t *testing.T, text string) objects {
	t.Helper()
	all, err := render(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestLint(t *testing.T) {
	for _, text := range []string{least, most} {
		for _, m := range lint.RunAll("louver", values(t, text), "data").Messages {
			if m.Severity >= support.WarningSev {
				t.Error(m)
			}
		}
	}
}

func TestValuesThatAreRefused(t *testing.T) {
	for want, text := range map[string]string{
		"KAFKA_BROKERS":       "streams: {s.yaml: x}",
		"/streams":            "settings: {KAFKA_BROKERS: k}",
		"'replica'":           least + "replica: 3",
		"/replicas":           least + "replicas: 0",
		"KAFKA_SASL_PASSWORD": least + "settings: {KAFKA_BROKERS: k, KAFKA_SASL_PASSWORD: p}",
		"METRICS_ADDR":        least + "settings: {KAFKA_BROKERS: k, METRICS_ADDR: ':1'}",
		"streams.txt":         "settings: {KAFKA_BROKERS: k}\nstreams: {streams.txt: x}",
		"image.tag":           "settings: {KAFKA_BROKERS: k}\nstreams: {s.yaml: x}",
		"/prometheusRule":     least + "prometheusRule: {groups: [{alert: A}]}",
		"/networkPolicy":      least + "networkPolicy: {operators: [{}]}",
	} {
		if _, err := render(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error about %s", text, err, want)
		}
	}
}

// Without a tag, an image of one's own has that of the chart.
func TestImage(t *testing.T) {
	own := least + "image: {repository: registry.local/louver}"
	if got := rendered(t, own).deployment.Spec.Template.Spec.Containers[0].Image; got != "registry.local/louver:dev" {
		t.Errorf("image %s", got)
	}
}

// The rules and the boards are those that the deploy folder has, byte for byte, and only for who wants them.
func TestRulesAndBoards(t *testing.T) {
	if all := rendered(t, least); all.rule != nil || len(all.boards) != 0 {
		t.Errorf("by default there are %v and %v", all.rule, all.boards)
	}
	read := func(name string) string {
		text, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	all := rendered(t, most)
	var want monitoring.PrometheusRuleSpec
	if err := yaml.UnmarshalStrict([]byte(read("prometheus/alerts.yaml")), &want); err != nil {
		t.Fatal(err)
	}
	if len(want.Groups) == 0 || all.rule == nil || all.rule.Labels["release"] != "prometheus" {
		t.Fatalf("%d groups of alerts, the rule %+v", len(want.Groups), all.rule)
	}
	got := all.rule.Spec.Groups
	if n := len(want.Groups); len(got) != n+1 || !reflect.DeepEqual(got[:n], want.Groups) || got[n].Name != "own" ||
		got[n].Rules[0].Expr.String() != "{{ $x }} > 1" {
		t.Errorf("the groups are %+v", got)
	}
	for _, name := range []string{"louver", "operators"} {
		board := all.boards["shop-louver-board-"+name]
		if board == nil || board.Data[name+".json"] != read("grafana/"+name+".json") || board.Labels["board"] != "yes" ||
			board.Annotations["grafana_folder"] != "Louver" {
			t.Errorf("board %s: %+v", name, board)
		}
	}
	boards := rendered(t, least+"boards: {enabled: true}").boards
	for name, board := range boards {
		if board.Labels["grafana_dashboard"] != "1" {
			t.Errorf("%s has the labels %v", name, board.Labels)
		}
	}
	if len(boards) != 2 {
		t.Errorf("%d boards, want 2", len(boards))
	}
}

// Everything that selects pods selects the chart's pods.
func TestSelectors(t *testing.T) {
	all := rendered(t, most)
	pod := all.deployment.Spec.Template.Labels
	selectors := map[string]map[string]string{"deployment": all.deployment.Spec.Selector.MatchLabels,
		"budget": all.budget.Spec.Selector.MatchLabels, "network": all.network.Spec.PodSelector.MatchLabels}
	for name, s := range all.services {
		selectors[name] = s.Spec.Selector
	}
	for name, selector := range selectors {
		if len(selector) == 0 || !includes(pod, selector) {
			t.Errorf("%s selects %v, the pods have %v", name, selector, pod)
		}
	}
	for name, port := range map[string]string{"public": "http", "operators": "operators"} {
		m := all.monitors["shop-louver-"+name]
		if m == nil {
			t.Fatalf("no monitor for %s among %v", name, slices.Collect(maps.Keys(all.monitors)))
		}
		var chosen []string
		for _, s := range all.services {
			if includes(s.Labels, m.Spec.Selector.MatchLabels) && s.Spec.Ports[0].Name == m.Spec.Endpoints[0].Port {
				chosen = append(chosen, s.Spec.Ports[0].Name)
			}
		}
		if !slices.Equal(chosen, []string{port}) {
			t.Errorf("the monitor for %s finds the ports %q", name, chosen)
		}
	}
}

func includes(labels, selector map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return true
}

// The operators' address has exact counts: no public Service leads to it, and nobody reaches it who is not named.
func TestOperatorsAddressIsApart(t *testing.T) {
	all := rendered(t, least)
	for name, s := range all.services {
		for _, p := range s.Spec.Ports {
			if operators := strings.HasSuffix(name, "-operators"); operators != (p.TargetPort.StrVal == "operators") ||
				operators && s.Spec.ClusterIP != "None" {
				t.Errorf("service %s leads to %s", name, p.TargetPort.StrVal)
			}
		}
	}
	if n := len(all.services); n != 2 {
		t.Errorf("%d services, want 2", n)
	}
	if rules := all.network.Spec.Ingress; len(rules) != 1 || rules[0].Ports[0].Port.StrVal != "http" ||
		rules[0].From != nil {
		t.Errorf("by default the network lets in %+v", rules)
	}
	all = rendered(t, most)
	if rules := all.network.Spec.Ingress; len(rules) != 2 || len(rules[0].From) != 1 ||
		rules[1].Ports[0].Port.StrVal != "operators" || len(rules[1].From) != 1 ||
		rules[1].From[0].PodSelector.MatchLabels["app"] != "prometheus" {
		t.Errorf("the network lets in %+v", rules)
	}
	if all.services["shop-louver-operators"].Spec.Type == core.ServiceTypeLoadBalancer {
		t.Error("the operators' address leaves the cluster")
	}
}

func TestPodSecurityIsRestricted(t *testing.T) {
	evaluator, err := security.NewEvaluator(security.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, text := range []string{least, most} {
		pod := rendered(t, text).deployment.Spec.Template
		for _, r := range evaluator.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec) {
			if !r.Allowed {
				t.Errorf("%s: %s", r.ForbiddenReason, r.ForbiddenDetail)
			}
		}
		c := pod.Spec.Containers[0]
		if !*c.SecurityContext.ReadOnlyRootFilesystem || *pod.Spec.AutomountServiceAccountToken {
			t.Error("the root file system is writable, or there is a token")
		}
		// A control: the evaluator does refuse.
		c.SecurityContext.AllowPrivilegeEscalation = nil
		refused := slices.ContainsFunc(evaluator.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec),
			func(r security.CheckResult) bool { return !r.Allowed })
		if !refused {
			t.Error("the evaluator takes a container that may gain privileges")
		}
	}
}

func TestPod(t *testing.T) {
	all := rendered(t, most)
	pod := all.deployment.Spec.Template.Spec
	c := pod.Containers[0]
	for probe, want := range map[*core.Probe]string{c.StartupProbe: "/livez", c.LivenessProbe: "/livez",
		c.ReadinessProbe: "/readyz"} {
		if got := probe.HTTPGet; got.Path != want || got.Port.StrVal != "operators" ||
			got.Scheme != core.URISchemeHTTPS {
			t.Errorf("probe %+v, want %s", got, want)
		}
	}
	if got := rendered(t, least).deployment.Spec.Template.Spec.Containers[0].LivenessProbe.HTTPGet.Scheme; got != core.URISchemeHTTP {
		t.Errorf("without a web config the probes speak %s", got)
	}
	env := map[string]string{}
	for _, e := range c.Env {
		if _, twice := env[e.Name]; twice {
			t.Errorf("%s is set twice", e.Name)
		}
		env[e.Name] = e.Value
	}
	want := map[string]string{"LOUVER_STREAMS": "/etc/louver", "LOUVER_HTTP_ADDR": "0.0.0.0:8080",
		"LOUVER_METRICS_ADDR": "0.0.0.0:9797", "LOUVER_LOG_FORMAT": "console",
		"LOUVER_KAFKA_BROKERS": "kafka:9092", "LOUVER_KAFKA_TLS": "true", "LOUVER_BAG_BYTES": "268435456",
		"LOUVER_METRICS_WEB_CONFIG_FILE": "/run/secrets/louver/web.yaml"}
	if !maps.Equal(env, want) {
		t.Errorf("the environment is %v, want %v", env, want)
	}
	if *pod.EnableServiceLinks || *pod.TerminationGracePeriodSeconds <= 20 ||
		c.Image != "registry.example.com/louver:v1.2.3" || pod.Volumes[1].Secret.SecretName != "louver-passwords" {
		t.Errorf("%+v", pod)
	}
	// Files reach the pod as they are, and others start new pods.
	if got := all.config.Data; len(got) != 2 || got["streams.yaml"] != values(t,
		least)["streams"].(map[string]any)["streams.yaml"] || got["checkout.avsc"] != `{"type": "long"}` {
		t.Errorf("the config map has %q", got)
	}
	before, after := all.deployment.Spec.Template.Annotations["checksum/streams"], rendered(t,
		strings.Replace(most, "version: 1", "version: 1 ", 1)).deployment.Spec.Template.Annotations["checksum/streams"]
	if before == "" || before == after {
		t.Errorf("the checksum of the streams is %q before and %q after a change", before, after)
	}
}

// Every value of values.yaml is in the schema, and the other way round.
func TestSchemaHasEveryValue(t *testing.T) {
	read := func(path string) map[string]any {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return values(t, string(text))
	}
	given, known := read("louver/values.yaml"), read("louver/values.schema.json")["properties"].(map[string]any)
	delete(known, "global") // Helm's own
	if a, b := slices.Sorted(maps.Keys(given)), slices.Sorted(maps.Keys(known)); !slices.Equal(a, b) {
		t.Errorf("values.yaml has %q, its schema %q", a, b)
	}
}
