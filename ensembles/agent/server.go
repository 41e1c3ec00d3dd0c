package agent

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"locklab/harness/history"
)

// Config is what an agent is started with.
type Config struct {
	// Host is the host's name in the lab.
	Host string
	// Secret must come with every request.
	Secret string
	// Lease is how long the agent lives without a renewal. It starts at boot.
	Lease time.Duration
	// Root is DataDir, or another directory in tests.
	Root string
	// Listen is the address of the control port.
	Listen string
	// Listening, unless nil, is told the address once the port is open.
	Listening func(net.Addr)
	Log       *slog.Logger

	_ struct{}
}

// Agent serves one host.
type Agent struct {
	cfg   Config
	rec   *history.Recorder
	sup   *supervisor
	fire  *firewall
	stall *stall
	slow  *delays
	grams *datagrams
	lease *lease
	// busy is held for reading by every request, and for good once all have ended.
	busy sync.RWMutex
}

// Run serves until ctx ends or the lease lapses, then clears the host's rules
// and kills its process. It returns nil for both.
//
// It waits for all children of the calling process, as the first process of a
// host must, so nothing else in that process may start any.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Secret == "" || cfg.Lease <= 0 {
		return errors.New("agent: a secret and a lease are required")
	}
	rec, err := history.NewRecorder(filepath.Join(cfg.Root, HistoryDir), cfg.Host, history.NewClock())
	if err != nil {
		return err
	}
	defer rec.Close()
	a := &Agent{cfg: cfg, rec: rec, sup: newSupervisor(cfg.Root, rec), fire: &firewall{rec: rec}, slow: newDelays(rec), lease: newLease(cfg.Lease)}
	a.stall = &stall{sup: a.sup}
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	wg.Go(func() {
		if a.lease.lapsed(ctx) {
			cancel(errors.New("lease lapsed"))
		}
	})
	// The reaper goes on until the process has been killed and seen to end.
	reap, stopReaper := context.WithCancel(context.WithoutCancel(ctx))
	wg.Go(func() { a.sup.reap(reap) })
	defer stopReaper()

	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen for control: %w", err)
	}
	// Datagrams come to the same port: another host's agent knows it.
	if a.grams, err = listenDatagrams(ctx, l.Addr().String(), rec.Clock()); err != nil {
		l.Close()
		return err
	}
	wg.Go(a.grams.serve)
	defer a.grams.conn.Close()
	if cfg.Listening != nil {
		cfg.Listening(l.Addr())
	}
	srv := &http.Server{Handler: a.authorised(a.routes()), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }, ConnContext: withRequester}
	wg.Go(func() {
		<-ctx.Done()
		srv.Close()
	})
	err = srv.Serve(l)
	cancel(err) // the requests still being served end with ctx
	a.cleanUp()
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	cfg.Log.Info("agent ends", "cause", context.Cause(ctx))
	return nil
}

// cleanUp leaves the host as if nothing had ever run there. The harm goes first:
// whatever a request that is still being served waits for, the process is dead.
func (a *Agent) cleanUp() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := a.fire.end(); err != nil {
		a.cfg.Log.Error("clear network rules", "err", err)
	}
	if err := a.slow.end(); err != nil {
		a.cfg.Log.Error("clear delays", "err", err)
	}
	if err := a.sup.end(ctx); err != nil {
		a.cfg.Log.Error("kill process", "err", err)
	}
	if _, err := a.stall.let(""); err != nil {
		a.cfg.Log.Error("end stalls", "err", err)
	}
	// The requests end with their connections. One that does not is no reason to
	// live on.
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !a.busy.TryLock() {
		select {
		case <-poll.C:
		case <-ctx.Done():
			a.cfg.Log.Error("a request does not end")
			return
		}
	}
}

func (a *Agent) authorised(next http.Handler) http.Handler {
	want := []byte("Bearer " + a.cfg.Secret)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			http.Error(w, "wrong or no secret", http.StatusUnauthorized)
			return
		}
		if !a.busy.TryRLock() {
			http.Error(w, errEnding.Error(), http.StatusServiceUnavailable)
			return
		}
		defer a.busy.RUnlock()
		r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
		next.ServeHTTP(w, r)
	})
}

// maxRequest is the most that a request's body may hold: a process's files.
const maxRequest = 16 << 20

// requesterKey is the context's key of the address that a request came from.
type requesterKey struct{}

func withRequester(ctx context.Context, c net.Conn) context.Context {
	if from, err := netip.ParseAddrPort(c.RemoteAddr().String()); err == nil {
		ctx = context.WithValue(ctx, requesterKey{}, from.Addr().Unmap())
	}
	return ctx
}

// An operation carries out a request.
type operation = func(ctx context.Context, body io.Reader) (any, error)

// routes is everything that an agent can be asked for; anything else is refused.
func (a *Agent) routes() http.Handler {
	mux := http.NewServeMux()
	do := func(name string, f operation) {
		mux.HandleFunc("POST /"+name, func(w http.ResponseWriter, r *http.Request) {
			answer, err := f(r.Context(), r.Body)
			if err != nil {
				code := http.StatusInternalServerError
				switch {
				case errors.Is(err, ErrNoProcess):
					code = http.StatusConflict
				case errors.Is(err, ErrUnsupported):
					code = http.StatusNotImplemented
				}
				http.Error(w, err.Error(), code)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(answer) // the client sees the connection break
		})
	}
	do("lease", func(context.Context, io.Reader) (any, error) {
		a.lease.renew()
		return Stamp{At: a.rec.Clock().Now()}, nil
	})
	do("status", func(context.Context, io.Reader) (any, error) { return a.status(), nil })
	do("start", func(_ context.Context, b io.Reader) (any, error) {
		spec, err := decode[Spec](b)
		if err != nil {
			return nil, err
		}
		return a.sup.start(&spec)
	})
	do("restart", func(context.Context, io.Reader) (any, error) { return a.sup.start(nil) })
	do("pause", func(ctx context.Context, _ io.Reader) (any, error) { return a.sup.pause(ctx) })
	do("resume", func(ctx context.Context, _ io.Reader) (any, error) { return a.sup.resume(ctx) })
	do("kill", func(ctx context.Context, _ io.Reader) (any, error) { return a.sup.kill(ctx) })
	do("stop", func(ctx context.Context, _ io.Reader) (any, error) { return a.sup.stop(ctx) })
	do("input", func(_ context.Context, b io.Reader) (any, error) {
		line, err := decode[string](b)
		if err != nil {
			return nil, err
		}
		return a.sup.write(line)
	})
	a.networkRoutes(do)
	a.harmRoutes(do)
	do("zookeeper/write", func(ctx context.Context, _ io.Reader) (any, error) {
		err := commitWrite(ctx, a.cfg.Log)
		return Stamp{At: a.rec.Clock().Now()}, err
	})
	mux.HandleFunc("GET /zookeeper/{word}", func(w http.ResponseWriter, r *http.Request) {
		b, err := ask(r.Context(), r.PathValue("word"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		_, _ = w.Write(b)
	})
	mux.HandleFunc("GET /history", a.serveHistory)
	mux.HandleFunc("GET /file", a.serveFile)
	mux.HandleFunc("GET /files", a.serveNames)
	return mux
}

func decode[T any](r io.Reader) (T, error) {
	var v T
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		return v, fmt.Errorf("bad request: %w", err)
	}
	return v, nil
}

func (a *Agent) status() Status {
	st, _ := a.sup.state()
	st.Network = append(a.fire.inForce(), a.slow.inForce()...)
	slices.SortFunc(st.Network, func(a, b InForce) int { return strings.Compare(a.ID, b.ID) })
	for _, r := range st.Network {
		st.Rules = append(st.Rules, r.ID)
	}
	st.Stalls = a.stall.held()
	st.HistoryBytes = historySize(filepath.Join(a.cfg.Root, HistoryDir))
	return st
}
