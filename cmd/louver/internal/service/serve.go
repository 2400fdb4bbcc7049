package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	exporter "github.com/prometheus/exporter-toolkit/web"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/stream/health"
)

// server is one of the two HTTP addresses of the service.
type server struct {
	address string
	handler http.Handler
	// config is a file that asks for TLS or passwords, or "" if there is none. setting is the variable that names it.
	config, setting string
}

// serve listens on all addresses before it returns. If an address is in use, it fails at once or, with anyPort, takes a
// free port of the same host. The returned function serves until ctx ends.
func serve(anyPort bool, servers ...server) (addresses []string, run func(context.Context) error, err error) {
	var listeners []net.Listener
	for _, s := range servers {
		if err := exporter.Validate(s.config); err != nil {
			why := strings.Join(strings.Fields(err.Error()), " ") // YAML's errors have several lines
			return nil, nil, fmt.Errorf("%s=%s: %s; want a file as https://github.com/prometheus/exporter-toolkit "+
				"describes it", s.setting, s.config, why)
		}
	}
	for _, s := range servers {
		l, err := net.Listen("tcp", s.address)
		if errors.Is(err, syscall.EADDRINUSE) && anyPort {
			if host, _, e := net.SplitHostPort(s.address); e == nil {
				l, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
			}
		}
		if err != nil {
			for _, l := range listeners {
				_ = l.Close()
			}
			setting := strings.Replace(s.setting, "WEB_CONFIG_FILE", "ADDR", 1)
			return nil, nil, fmt.Errorf("%s=%s: %w; want a free host:port of this machine, such as 127.0.0.1:8090",
				setting, s.address, Cause(err))
		}
		listeners = append(listeners, l)
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		for i, s := range servers {
			// Long requests, such as those of live clients, end when ctx does.
			h := &http.Server{Handler: s.handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
				BaseContext: func(net.Listener) context.Context { return ctx }}
			group.Go(func() error {
				if err := exporter.Serve(listeners[i], h, &exporter.FlagConfig{WebConfigFile: &s.config},
					slog.New(slog.DiscardHandler)); !errors.Is(err, http.ErrServerClosed) {
					return err
				}
				return nil
			})
			group.Go(func() error {
				<-ctx.Done()
				closing, cancel := context.WithTimeout(context.Background(), 2*time.Second)
				defer cancel()
				return h.Shutdown(closing)
			})
		}
		return group.Wait()
	}, nil
}

// Cause returns why an address cannot be listened on, without the address.
func Cause(err error) error {
	var syscall *os.SyscallError
	var address *net.AddrError
	switch {
	case errors.As(err, &syscall):
		return syscall.Err
	case errors.As(err, &address):
		return errors.New(address.Err)
	}
	return err
}

// probes adds the health checks. /startupz says ok from the moment on at which the process has been ready once. /readyz
// says ok, or that the process is not ready. For operators it also says what is wrong, and ?verbose adds every stage,
// stream and broker. The public address says no more: how late a window is can depend on the data.
func probes(mux *http.ServeMux, report func() health.Report, operators bool) {
	alive := func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") }
	mux.HandleFunc("GET /livez", alive)
	mux.HandleFunc("GET /healthz", alive)
	var started atomic.Bool
	mux.HandleFunc("GET /startupz", func(w http.ResponseWriter, r *http.Request) {
		if !started.Load() && !report().Ready {
			http.Error(w, "not started", http.StatusServiceUnavailable)
			return
		}
		started.Store(true)
		alive(w, r)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		now := report()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		text := "ok\n"
		if !now.Ready {
			w.WriteHeader(http.StatusServiceUnavailable)
			text = "not ready\n"
		}
		if operators && (!now.Ready || r.URL.Query().Has("verbose")) {
			text = now.String()
		}
		_, _ = fmt.Fprint(w, text)
	})
}

// logLevel answers with the level of the log, and changes it: PUT {"level": "debug"}, or the form level=debug. Its
// answers are those of [zap.AtomicLevel.ServeHTTP], but no level hides errors.
func logLevel(level zap.AtomicLevel) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			level.ServeHTTP(w, r)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 1000)
		var wanted struct {
			Level string `json:"level"`
		}
		if wanted.Level = r.FormValue("level"); wanted.Level == "" {
			_ = json.NewDecoder(r.Body).Decode(&wanted) // whatever is wrong with it, there is no level
		}
		to, err := zapcore.ParseLevel(strings.TrimSpace(wanted.Level))
		w.Header().Set("Content-Type", "application/json")
		if err != nil || wanted.Level == "" || to > zapcore.ErrorLevel {
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]string{"error": fmt.Sprintf(
				`level %q; want debug, info, warn or error, as in {"level": "debug"}`, wanted.Level)})
			return
		}
		level.SetLevel(to)
		_ = json.NewEncoder(w).Encode(map[string]string{"level": to.String()})
	})
}
