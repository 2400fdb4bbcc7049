package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/stream/health"
)

// server is one of the two HTTP addresses of the service.
type server struct {
	address string
	handler http.Handler
}

// serve listens on all addresses before it returns, so that an address in use is an error at once, or, if anyPort, is
// replaced by a free one of the same host; the returned function serves until ctx ends.
func serve(anyPort bool, servers ...server) (addresses []string, run func(context.Context) error, err error) {
	var listeners []net.Listener
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
			return nil, nil, fmt.Errorf("cannot listen on %s: %w", s.address, err)
		}
		listeners = append(listeners, l)
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		for i, s := range servers {
			h := &http.Server{Handler: s.handler, ReadHeaderTimeout: 10 * time.Second}
			group.Go(func() error {
				if err := h.Serve(listeners[i]); !errors.Is(err, http.ErrServerClosed) {
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

// probes adds what both addresses answer about the process. /readyz says ok, or what is wrong; ?verbose adds every stage,
// stream and broker.
func probes(mux *http.ServeMux, report func() health.Report) {
	alive := func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") }
	mux.HandleFunc("GET /livez", alive)
	mux.HandleFunc("GET /healthz", alive)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		now := report()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		if !now.Ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		} else if !r.URL.Query().Has("verbose") {
			_, _ = fmt.Fprintln(w, "ok")
			return
		}
		_, _ = fmt.Fprint(w, now)
	})
}

// publicHandler serves released figures only.
func publicHandler(gatherer prometheus.Gatherer, report func() health.Report) http.Handler {
	mux := http.NewServeMux()
	probes(mux, report)
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprint(w, "Louver publishes differentially private statistics of the windows of a Kafka topic.\n\n"+
			"/metrics  the newest released figures, for Prometheus\n/livez    alive\n/readyz   ready (?verbose)\n")
	})
	return mux
}

// operatorHandler serves exact counts: it belongs on an address that only operators reach.
func operatorHandler(gatherer prometheus.Gatherer, report func() health.Report, debug bool) http.Handler {
	mux := http.NewServeMux()
	probes(mux, report)
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{}))
	if debug {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}
