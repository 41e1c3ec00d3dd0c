package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"locklab/harness/run"
	"locklab/harness/scenario"
	"locklab/harness/watch"
	"locklab/reports/export"
	"locklab/reports/serve"
)

// A metricsFlag makes a command serve the numbers of the run that lasts, for Prometheus to scrape.
type metricsFlag struct {
	MetricsAddr string `name:"metrics-addr" placeholder:"ADDRESS" help:"${metrics_addr_help}"`
}

const metricsAddrHelp = "Serve the numbers of the run that lasts at http://ADDRESS/metrics, for Prometheus. " +
	"An address without a host, such as :9464, is on loopback only."

// metricsTimeout limits how long a request may take to arrive.
const metricsTimeout = 5 * time.Second

// serve begins to serve the progress that a run with these options reports, and says on w where. The caller calls stop
// when no run lasts any more. Without the flag, nothing is served.
func (f metricsFlag) serve(w io.Writer, opts *run.Options) (stop func(), err error) {
	if f.MetricsAddr == "" {
		return func() {}, nil
	}
	host, port, err := net.SplitHostPort(f.MetricsAddr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return nil, &scenario.InputError{Flag: "--metrics-addr", Msg: fmt.Sprintf("%q is not an address", f.MetricsAddr),
			Hint: "such as :9464 or 127.0.0.1:9464"}
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, &scenario.InputError{Flag: "--metrics-addr", Msg: err.Error(), Hint: "is the port in use?"}
	}
	m := &metrics{}
	m.show(watch.Progress{})
	server := &http.Server{Handler: serve.Guard(m, "", host), ReadHeaderTimeout: metricsTimeout}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(w, "--metrics-addr:", err)
		}
	}()
	shown := opts.Progress
	opts.Progress = func(p watch.Progress) {
		m.show(p)
		if shown != nil {
			shown(p)
		}
	}
	fmt.Fprintf(w, "metrics: http://%s/metrics\n", l.Addr())
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), metricsTimeout)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			server.Close()
		}
		<-ended
	}, nil
}

// metrics serves the latest progress. It may be used concurrently.
type metrics struct {
	text atomic.Pointer[[]byte]
}

// show makes p what is served.
func (m *metrics) show(p watch.Progress) {
	text := export.Live(p)
	m.text.Store(&text)
}

// ServeHTTP implements [http.Handler].
func (m *metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/metrics" {
		http.Error(w, "there is only /metrics", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", export.LiveType)
	_, _ = w.Write(*m.text.Load())
}
