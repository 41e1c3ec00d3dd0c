package serve

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// Config configures an agent.
type Config struct {
	// Host is the host's name in the lab.
	Host string
	// Secret must come with every request.
	Secret string
	// Lease is how long the agent lives without a renewal, from its start on.
	Lease time.Duration
	// Root is agent.DataDir, or another directory in tests.
	Root string
	// Listen is the address of the control port.
	Listen string
	// Surroundings are those of a host that is a mere process of this machine; nil = the host has a network of its own.
	Surroundings *agent.Surroundings
	// Elsewhere is what the agent knows of an ensemble that the lab did not start; nil = the lab has servers of its own.
	Elsewhere *agent.Elsewhere
	// Control, unless nil, is served as the control port is. Published, unless nil, takes connections for the host's
	// ZooKeeper server. Run closes both.
	Control, Published net.Listener
	// Listening, unless nil, is called with the address when the port is open.
	Listening func(net.Addr)
	Log       *slog.Logger

	_ struct{}
}

// An server serves one host.
type server struct {
	cfg       Config
	rec       *history.Recorder
	sup       *supervisor
	firewall  *firewall
	stall     *stall
	delays    *delays
	datagrams *datagrams
	lease     *lease
	upstream  upstream
	// busy is held for reading by every request, and for writing after the last one.
	busy sync.RWMutex

	mu       sync.Mutex
	outboxes map[string]*history.Outbox // by directory
}

// Run serves until ctx ends or the lease lapses, then clears the host's rules and kills its process. It returns nil in
// both cases.
//
// Run waits for all children of the calling process, as the first process of a host must. Nothing else in that process
// may start any.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Secret == "" || cfg.Lease <= 0 {
		return errors.New("agent: a secret and a lease are required")
	}
	rec, err := history.NewRecorder(filepath.Join(cfg.Root, agent.HistoryDir), cfg.Host, history.NewClock())
	if err != nil {
		return err
	}
	defer rec.Close()
	a := &server{cfg: cfg, rec: rec, sup: newSupervisor(cfg.Root, rec),
		firewall: newFirewall(rec), delays: newDelays(rec), lease: newLease(cfg.Lease),
		outboxes: map[string]*history.Outbox{}, upstream: upstreamOf(cfg.Surroundings, cfg.Elsewhere)}
	a.stall = &stall{sup: a.sup}
	if cfg.Surroundings != nil {
		a.shareNetwork()
	}
	if cfg.Elsewhere != nil {
		if a.sup.secrets, err = secretsOf(&cfg.Elsewhere.Ensemble); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	wg.Go(func() {
		if a.lease.lapsed(ctx) {
			cancel(errors.New("lease lapsed"))
		}
	})
	// The reaper runs until the process has been killed and has ended.
	reap, stopReaper := context.WithCancel(context.WithoutCancel(ctx))
	wg.Go(func() { a.sup.reap(reap) })
	defer stopReaper()

	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen for control: %w", err)
	}
	// Datagrams arrive on the same port, because it is known to the agents of other hosts.
	if a.datagrams, err = listenDatagrams(ctx, l.Addr().String(), rec.Clock()); err != nil {
		l.Close()
		return err
	}
	wg.Go(a.datagrams.serve)
	defer a.datagrams.conn.Close()
	if cfg.Listening != nil {
		cfg.Listening(l.Addr())
	}
	srv := &http.Server{Handler: a.authorised(a.routes()), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }, ConnContext: withRequester,
		ConnState: a.lease.connection}
	wg.Go(func() {
		<-ctx.Done()
		srv.Close()
	})
	if cfg.Control != nil {
		wg.Go(func() { _ = srv.Serve(cfg.Control) })
	}
	if cfg.Published != nil {
		wg.Go(func() { publish(ctx, cfg.Published, a.upstream.dial) })
	}
	err = srv.Serve(l)
	cancel(err) // ends the requests that are still being served
	a.cleanUp()
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	cfg.Log.Info("agent ends", "cause", context.Cause(ctx))
	return nil
}

// cleanUp leaves the host as if nothing had ever run there. It first clears the faults and kills the process, whatever
// the requests that are still being served wait for.
func (a *server) cleanUp() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := a.firewall.end(); err != nil {
		a.cfg.Log.Error("clear network rules", "err", err)
	}
	if err := a.delays.end(); err != nil {
		a.cfg.Log.Error("clear delays", "err", err)
	}
	if err := a.sup.end(ctx); err != nil {
		a.cfg.Log.Error("kill process", "err", err)
	}
	if _, err := a.stall.lift(""); err != nil {
		a.cfg.Log.Error("end stalls", "err", err)
	}
	// The requests end with their connections. The agent does not wait longer for one that does not.
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !a.busy.TryLock() {
		select {
		case <-poll.C:
		case <-ctx.Done():
			a.cfg.Log.Error("a request did not end")
			return
		}
	}
}

// authorised serves requests that carry the secret, until the agent ends.
func (a *server) authorised(next http.Handler) http.Handler {
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

// maxRequest is the largest body of a request, which may carry a process's files.
const maxRequest = 16 << 20

// requesterKey is the key of the address that a request came from, in the request's context.
type requesterKey struct{}

func withRequester(ctx context.Context, c net.Conn) context.Context {
	if from, err := netip.ParseAddrPort(c.RemoteAddr().String()); err == nil {
		ctx = context.WithValue(ctx, requesterKey{}, from.Addr().Unmap())
	}
	return ctx
}

func (a *server) renew(context.Context) (agent.Stamp, error) {
	a.lease.renew()
	return a.stamp(), nil
}

// time is what the host's clocks show.
func (a *server) time(context.Context) (agent.Time, error) {
	name, err := history.ClockName()
	if err != nil {
		return agent.Time{}, fmt.Errorf("clock: %w", err)
	}
	// One clock is read right after the other, and both between the question and the answer.
	return agent.Time{Clock: name, Shows: a.rec.Clock().Now(), Wall: time.Now().UnixNano()}, nil
}

// stamp is the answer of an operation that has just been carried out.
func (a *server) stamp() agent.Stamp { return agent.Stamp{At: a.rec.Clock().Now()} }

func (a *server) status(context.Context) (agent.Status, error) {
	st, _ := a.sup.state()
	st.Network = append(a.firewall.inForce(), a.delays.inForce()...)
	slices.SortFunc(st.Network, func(a, b agent.InForce) int { return strings.Compare(a.ID, b.ID) })
	for _, r := range st.Network {
		st.Rules = append(st.Rules, r.ID)
	}
	st.Stalls = a.stall.held()
	st.HistoryBytes = historySize(filepath.Join(a.cfg.Root, agent.HistoryDir))
	return st, nil
}

// processorTime answers how much of the processors the process has used, or the server that the agent speaks for, and
// the agent itself.
func (a *server) processorTime(ctx context.Context) (t agent.ProcessorTime, err error) {
	st, _ := a.sup.state()
	switch {
	case st.State != history.ProcessNone && st.State != history.ProcessExited:
		t.PID = st.PID
		t.Used, err = processorTime(st.PID)
	case a.cfg.Elsewhere != nil && a.cfg.Elsewhere.Server != "":
		t, err = a.spokenFor(ctx)
	}
	if err == nil {
		t.Agent, err = agent.OwnProcessorTime()
	}
	return t, err
}

// clear removes the rule or delay with that id, or all if it is empty.
func (a *server) clear(id string) (agent.Stamp, error) {
	if a.delays.has(id) {
		if st, err := a.delays.clear(id); err != nil || id != "" {
			return st, err
		}
	}
	return a.firewall.clear(id)
}

// commitWrite proves that a quorum accepts writes through the host's own server.
func (a *server) commitWrite(ctx context.Context) (agent.Stamp, error) {
	err := a.upstream.commitWrite(ctx, a.cfg.Log)
	return a.stamp(), err
}

// nodes does what an administrator can do to a znode.
func (a *server) nodes(ctx context.Context, r agent.NodeRequest) (agent.NodeAnswer, error) {
	answer, err := a.upstream.nodes(ctx, a.cfg.Log, r)
	answer.Stamp = a.stamp()
	return answer, err
}
