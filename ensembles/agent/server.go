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
	"os"
	"path/filepath"
	"strconv"
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
	Log    *slog.Logger

	_ struct{}
}

// Agent serves one host.
type Agent struct {
	cfg   Config
	rec   *history.Recorder
	sup   *supervisor
	fire  *firewall
	lease *lease
}

// Run serves until ctx ends or the lease lapses, then clears the host's rules
// and kills its process. It returns nil for both.
func Run(ctx context.Context, cfg Config) error {
	rec, err := history.NewRecorder(filepath.Join(cfg.Root, HistoryDir), cfg.Host, history.NewClock())
	if err != nil {
		return err
	}
	defer rec.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &Agent{cfg: cfg, rec: rec, sup: newSupervisor(cfg.Root, rec), fire: &firewall{rec: rec}, lease: newLease(cfg.Lease)}
	defer a.cleanUp()

	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { a.sup.reap(ctx) })
	wg.Go(func() {
		if a.lease.lapsed(ctx) {
			cancel(errors.New("lease lapsed"))
		}
	})
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		cancel(err)
		return fmt.Errorf("listen for control: %w", err)
	}
	srv := &http.Server{Handler: a.authorised(a.routes()), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	wg.Go(func() {
		<-ctx.Done()
		srv.Close()
	})
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		cancel(err)
		return err
	}
	cfg.Log.Info("agent ends", "cause", context.Cause(ctx))
	return nil
}

// cleanUp leaves the host as if nothing had ever run there.
func (a *Agent) cleanUp() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if len(a.fire.rules()) > 0 {
		if _, err := a.fire.clear(""); err != nil {
			a.cfg.Log.Error("clear network rules", "err", err)
		}
	}
	go a.sup.reap(ctx) // the main reaper has ended with Run's context
	if _, err := a.sup.kill(ctx); err != nil && !errors.Is(err, errNoProcess) {
		a.cfg.Log.Error("kill process", "err", err)
	}
}

func (a *Agent) authorised(next http.Handler) http.Handler {
	want := []byte("Bearer " + a.cfg.Secret)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			http.Error(w, "wrong or no secret", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// routes is everything that an agent can be asked for; anything else is refused.
func (a *Agent) routes() http.Handler {
	mux := http.NewServeMux()
	do := func(name string, f func(ctx context.Context, body io.Reader) (any, error)) {
		mux.HandleFunc("POST /"+name, func(w http.ResponseWriter, r *http.Request) {
			answer, err := f(r.Context(), r.Body)
			if err != nil {
				code := http.StatusInternalServerError
				if errors.Is(err, errNoProcess) {
					code = http.StatusConflict
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
	do("block", func(_ context.Context, b io.Reader) (any, error) {
		rule, err := decode[Block](b)
		if err != nil {
			return nil, err
		}
		return a.fire.block(rule)
	})
	do("clear", func(_ context.Context, b io.Reader) (any, error) {
		id, err := decode[string](b)
		if err != nil {
			return nil, err
		}
		return a.fire.clear(id)
	})
	do("probe", func(ctx context.Context, b io.Reader) (any, error) {
		p, err := decode[Probe](b)
		if err != nil {
			return nil, err
		}
		return probe(ctx, p), nil
	})
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
	return mux
}

func decode[T any](r io.Reader) (T, error) {
	var v T
	dec := json.NewDecoder(io.LimitReader(r, 16<<20))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		return v, fmt.Errorf("bad request: %w", err)
	}
	return v, nil
}

func (a *Agent) status() Status {
	st, _ := a.sup.state()
	st.Rules = a.fire.rules()
	st.HistoryBytes = historySize(filepath.Join(a.cfg.Root, HistoryDir))
	return st
}

// probe dials all addresses at once.
func probe(ctx context.Context, p Probe) ProbeResult {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	res := ProbeResult{Errors: make([]string, len(p.Addresses))}
	var wg sync.WaitGroup
	for i, addr := range p.Addresses {
		wg.Go(func() {
			if err := dialOnce(ctx, addr); err != nil {
				res.Errors[i] = err.Error()
			}
		})
	}
	wg.Wait()
	return res
}

func dialOnce(ctx context.Context, addr netip.AddrPort) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		return err
	}
	return c.Close()
}

// serveFile sends a file below the root; os.Root refuses to leave it.
func (a *Agent) serveFile(w http.ResponseWriter, r *http.Request) {
	root, err := os.OpenRoot(a.cfg.Root)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer root.Close()
	f, err := root.Open(r.FormValue("path"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer f.Close()
	_, _ = io.Copy(w, f)
}

// pollHistory is how late an event may reach the harness. Nothing that decides
// anything waits for less.
const pollHistory = 20 * time.Millisecond

// serveHistory streams whole frames from an offset on. With follow=true it goes
// on until the process whose history it is has ended and all is sent.
func (a *Agent) serveHistory(w http.ResponseWriter, r *http.Request) {
	skip, err := strconv.ParseInt(r.FormValue("offset"), 10, 64)
	if err != nil || skip < 0 {
		http.Error(w, "bad offset", http.StatusBadRequest)
		return
	}
	dir := filepath.Join(a.cfg.Root, filepath.Clean("/"+r.FormValue("dir")))
	own := dir == filepath.Join(a.cfg.Root, HistoryDir)
	follow := r.FormValue("follow") == "true"
	t := history.NewTailer(dir)
	defer t.Close()
	flush := http.NewResponseController(w)
	poll := time.NewTicker(pollHistory)
	defer poll.Stop()
	for {
		// Asked before reading: what is read after the end is all there is.
		st, _ := a.sup.state()
		ended := !own && st.State == history.ProcessExited
		for {
			b, err := t.Next()
			if err != nil {
				a.cfg.Log.Error("read history", "dir", dir, "err", err)
				return
			}
			if len(b) == 0 {
				break
			}
			cut := min(skip, int64(len(b)))
			skip -= cut
			if _, err := w.Write(b[cut:]); err != nil {
				return
			}
		}
		if err := flush.Flush(); err != nil || !follow || ended {
			return
		}
		select {
		case <-poll.C:
		case <-r.Context().Done():
			return
		}
	}
}

func historySize(dir string) int64 {
	t := history.NewTailer(dir)
	defer t.Close()
	var n int64
	for {
		b, err := t.Next()
		if err != nil || len(b) == 0 {
			return n
		}
		n += int64(len(b))
	}
}
