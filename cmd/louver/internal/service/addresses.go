package service

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "github.com/prometheus/exporter-toolkit/web"
	"github.com/rs/cors"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/web"
)

// publicServer makes the public address: released figures only, as a page, an API and metrics. It makes none if
// the setting is empty.
func publicServer(s cli.HTTPSettings, shown *published, report func() health.Report) ([]server, error) {
	if err := validate(s); err != nil || s.HTTPAddr == "" {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(shown.gauges, web.NewExhausts(shown.config()))
	mux := http.NewServeMux()
	probes(mux, report, false)
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.Handle("/", web.New(shown.config()))
	return []server{{s.HTTPAddr, shared(s, forwarded(based(s, mux))), s.HTTPWebConfigFile,
		"LOUVER_HTTP_WEB_CONFIG_FILE"}}, nil
}

// pageAt is the page's address for a browser. Whether it is HTTPS is for the web config file to say.
func pageAt(s cli.HTTPSettings, address string) string {
	scheme := "http://"
	if s.HTTPWebConfigFile != "" {
		scheme = ""
	}
	return scheme + address + s.HTTPBasePath + "/"
}

// validate refuses settings that cannot work.
func validate(s cli.HTTPSettings) error {
	if p := s.HTTPBasePath; p != "" &&
		(!strings.HasPrefix(p, "/") || strings.HasSuffix(p, "/") || strings.ContainsAny(p, "?#{} ")) {
		return fmt.Errorf("LOUVER_HTTP_BASE_PATH=%q; want a path that begins with / and does not end with it, "+
			"such as /louver", p)
	}
	for _, origin := range s.HTTPCORSOrigins {
		u, err := url.Parse(origin)
		if origin != "*" && (err != nil || u.Scheme == "" || u.Host == "" || origin != u.Scheme+"://"+u.Host) {
			return fmt.Errorf("LOUVER_HTTP_CORS_ORIGINS: %q is not an origin; want one such as "+
				"https://status.example.com, or *", origin)
		}
	}
	return nil
}

// based answers the same with and without the base path, because some proxies remove it, and probes do not use it.
func based(s cli.HTTPSettings, next http.Handler) http.Handler {
	if s.HTTPBasePath == "" {
		return next
	}
	below := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, web.Below(r, (&url.URL{Path: s.HTTPBasePath}).EscapedPath()))
	})
	mux := http.NewServeMux()
	mux.Handle("/", next)
	mux.Handle(s.HTTPBasePath+"/", http.StripPrefix(s.HTTPBasePath, below))
	return mux
}

// forwarded honours X-Forwarded-Prefix, by which a proxy says what it has removed from the path. Addresses in answers
// are relative, so only redirects, messages and the description of the API need it. Anybody can send the header: what
// is not plainly a path of this host is ignored.
func forwarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		prefix, ok := removed(r.Header.Get("X-Forwarded-Prefix"))
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Add("Vary", "X-Forwarded-Prefix")
		if clean := cleaned(r.URL.Path); clean != r.URL.Path { // a mux would redirect to it without the prefix
			to := url.URL{Path: clean, RawQuery: r.URL.RawQuery}
			http.Redirect(w, r, prefix+to.String(), http.StatusTemporaryRedirect)
			return
		}
		next.ServeHTTP(w, web.Below(r, prefix))
	})
}

// removed returns what a proxy has removed from the path, escaped and without a / at its end. ok is false if that is no
// path.
func removed(header string) (prefix string, ok bool) {
	text, err := url.PathUnescape(strings.TrimSuffix(header, "/"))
	if err != nil || len(text) < 2 || len(text) > 200 || path.Clean(text) != text || text[0] != '/' ||
		strings.HasPrefix(text, "//") || strings.ContainsFunc(text, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("/-._~", c)
	}) {
		return "", false
	}
	return (&url.URL{Path: text}).EscapedPath(), true
}

// cleaned is a path without empty or dotted parts, as [http.ServeMux] wants it.
func cleaned(p string) string {
	clean := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	return clean
}

// shared lets pages of other sites read the answers. Nothing in them depends on who asks.
func shared(s cli.HTTPSettings, next http.Handler) http.Handler {
	if len(s.HTTPCORSOrigins) == 0 {
		return next
	}
	return cors.New(cors.Options{AllowedOrigins: s.HTTPCORSOrigins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead},
		AllowedHeaders: []string{"Accept", "If-None-Match", "Last-Event-ID"},
		ExposedHeaders: []string{"ETag", "Link", "Date"}}).Handler(next)
}

// operatorsServer makes the operators' address, whose exact counts are for nobody else. It makes none if the setting is
// empty. level, if not nil, shows and changes the level of the log.
func operatorsServer(s cli.MetricsSettings, gatherer prometheus.Gatherer, report func() health.Report,
	level http.Handler) ([]server, error) {
	if s.MetricsAddr == "" {
		return nil, nil
	}
	page, err := landing(s.DebugEndpoints, level != nil)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	probes(mux, report, true)
	mux.Handle("GET /{$}", page)
	if level != nil {
		mux.Handle("/loglevel", level)
	}
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{}))
	if s.DebugEndpoints {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return []server{{s.MetricsAddr, mux, s.MetricsWebConfigFile, "LOUVER_METRICS_WEB_CONFIG_FILE"}}, nil
}

// landing is a page with links to what the operators' address has.
func landing(debug, level bool) (http.Handler, error) {
	links := []exporter.LandingLinks{
		{Address: "metrics", Text: "Metrics", Description: "for Prometheus"},
		{Address: "readyz?verbose", Text: "Ready", Description: "whether the process works, and what it waits for"},
		{Address: "livez", Text: "Live", Description: "whether the process answers"},
		{Address: "startupz", Text: "Started", Description: "whether the process has ever worked"},
	}
	if level {
		links = append(links, exporter.LandingLinks{Address: "loglevel", Text: "Log level",
			Description: "which PUT changes while the process runs"})
	}
	return exporter.NewLandingPage(exporter.LandingConfig{Name: "Louver", HeaderColor: "#0067a3",
		Description: "For operators: metrics, and whether this process works.",
		Profiling:   strconv.FormatBool(debug), Links: links})
}
