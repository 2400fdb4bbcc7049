package helm

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yannh/kubeconform/pkg/validator"
)

// versions of Kubernetes: the oldest that Chart.yaml allows, and a new one.
var versions = []string{"1.25.0", "1.37.0"}

// What the chart makes follows the schemas that Kubernetes publishes.
func TestConform(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "python3", "-c",
		"import kubernetes_validate; print(kubernetes_validate.__path__[0])").Output()
	if err != nil {
		t.Skipf("there are no schemas of Kubernetes; pip install kubernetes-validate brings them: %v", err)
	}
	for _, version := range versions {
		dir := filepath.Join(strings.TrimSpace(string(out)), "kubernetes-json-schema", "v"+version+"-local-strict")
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("kubernetes-validate has no schemas of Kubernetes %s: %v", version, err)
			continue
		}
		// The schemas refer to one another by the address that they are published at.
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			schema, err := os.ReadFile(filepath.Join(dir, path.Base(r.URL.Path)))
			if err != nil {
				http.NotFound(w, r)
				return
			}
			_, _ = w.Write(bytes.ReplaceAll(schema, []byte("https://kubernetes.io/"), []byte("http://"+r.Host+"/")))
		}))
		defer server.Close()
		v, err := validator.New([]string{server.URL + "/{{.ResourceKind}}{{.KindSuffix}}.json"},
			// not of Kubernetes; read strictly elsewhere
			validator.Opts{Strict: true, KubernetesVersion: version,
				SkipKinds: map[string]struct{}{"ServiceMonitor": {}, "PrometheusRule": {}}})
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[string]int{}
		for _, text := range []string{least, most} {
			docs, err := documents(t, text)
			if err != nil {
				t.Fatal(err)
			}
			for _, doc := range docs {
				for _, r := range v.Validate("", io.NopCloser(strings.NewReader(doc))) {
					sig, _ := r.Resource.Signature()
					switch r.Status {
					case validator.Valid:
						kinds[sig.Kind]++
					case validator.Skipped, validator.Empty:
					default:
						t.Errorf("Kubernetes %s: %v\n%s", version, r.Err, doc)
					}
				}
				// A control: the schemas do refuse.
				if wrong := strings.Replace(doc, "replicas: ", "replica: ", 1); wrong != doc {
					if r := v.Validate("", io.NopCloser(strings.NewReader(wrong))); len(r) != 1 ||
						r[0].Status != validator.Invalid {
						t.Errorf("Kubernetes %s: a key that it does not know passes: %+v", version, r)
					}
				}
			}
		}
		for _, kind := range []string{"Deployment", "ConfigMap", "ServiceAccount", "PodDisruptionBudget",
			"NetworkPolicy", "Service"} {
			if kinds[kind] == 0 {
				t.Errorf("Kubernetes %s: no %s was checked", version, kind)
			}
		}
	}
}
