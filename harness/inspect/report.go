package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"locklab/ensembles/remote"
	"locklab/recipes/zksession"
	"locklab/reports/words"
)

// The bounds of a look, unless a [Config] has others.
const (
	DefaultDepth       = 8
	DefaultMaxRequests = 20_000
	DefaultBetween     = 2 * time.Second
	// MostPerSecond bounds how many reads are sent in a second.
	MostPerSecond = 1000
)

// sessionTimeout is what the look's own session asks for.
const sessionTimeout = 10 * time.Second

// A Config says what to look at.
type Config struct {
	Access *remote.Access
	// Path is that of a lock, or of the directory below which locks are looked for.
	Path string
	// Depth is how many levels below Path are looked at.
	Depth int
	// MaxRequests is how many reads may be sent in all.
	MaxRequests int
	// Between is the time between the two looks at one lock.
	Between time.Duration
	Log     *slog.Logger

	_ struct{}
}

// A Report is what was seen.
type Report struct {
	Path    string   `json:"path"`
	Servers []Server `json:"servers"`
	// ClockAhead is by how much the servers' clock is ahead of this machine's; nil if they do not tell it.
	ClockAhead *time.Duration `json:"clock_ahead_ns"`
	// Lock is the lock at Path; nil if there is none.
	Lock *Lock `json:"lock,omitempty"`
	// Locks are those below Path, if there is none at Path.
	Locks []*Lock `json:"locks,omitempty"`
	// Hidden are the paths that the credential may not read. Anonymous says that there is none.
	Hidden    []string `json:"hidden,omitempty"`
	Anonymous bool     `json:"anonymous,omitempty"`
	// Requests is how many reads were sent.
	Requests int64 `json:"requests"`
	// Incomplete says why not everything was seen; empty if it was.
	Incomplete string `json:"incomplete,omitempty"`
}

// ErrNoPath says that there is no znode at the path.
var ErrNoPath = errors.New("there is no such znode")

// An Inspector looks at an ensemble. It is not for several goroutines at once.
type Inspector struct {
	cfg    Config
	reader *reader
	ahead  *time.Duration // by how much the servers' clock is ahead; nil if they do not tell
}

// Open opens the session that looks need. ctx bounds how long that may take. An error wraps [remote.ErrUnusable] and
// says what the servers answered. It comes at once if no server can be reached.
func Open(ctx context.Context, cfg Config) (*Inspector, error) {
	cfg.Depth = cmp.Or(cfg.Depth, DefaultDepth)
	cfg.MaxRequests = cmp.Or(cfg.MaxRequests, DefaultMaxRequests)
	cfg.Between = cmp.Or(cfg.Between, DefaultBetween)
	first := ask(ctx, cfg.Access).servers
	if !slices.ContainsFunc(first, func(s Server) bool { return s.reached }) {
		return nil, fmt.Errorf("%w: no server can be reached%s", remote.ErrUnusable, said(first))
	}
	opening, cancel := early(ctx)
	defer cancel()
	if !slices.ContainsFunc(first, func(s Server) bool { return !s.unusable }) {
		opening, cancel = context.WithTimeout(opening, unusableCap)
		defer cancel()
	}
	asked := time.Now()
	s, err := cfg.Access.Session(opening, sessionTimeout, cfg.Log, cfg.Access.Servers...)
	connected := time.Now()
	if err != nil {
		now := ask(ctx, cfg.Access).servers
		if errors.Is(err, io.EOF) && !slices.ContainsFunc(now, func(s Server) bool { return s.Serves }) {
			return nil, fmt.Errorf("%w: no server serves clients%s", remote.ErrUnusable, said(now)) // which says more
		}
		return nil, fmt.Errorf("%w: no server serves clients: %w%s", remote.ErrUnusable, err, said(now))
	}
	r := &reader{zk: s, pace: rate.NewLimiter(MostPerSecond, inFlight), most: int64(cfg.MaxRequests)}
	i := &Inspector{cfg: cfg, reader: r}
	// Our own session tells how far the servers' clock is from this machine's.
	if own := ask(ctx, cfg.Access).clients[s.ID()]; own != nil && !own.connected.IsZero() {
		ahead := own.connected.Sub(asked.Add(connected.Sub(asked) / 2)).Round(time.Millisecond)
		i.ahead = &ahead
	}
	return i, nil
}

// unusableCap bounds how long a session is tried for if each server is known to be unusable.
const unusableCap = 3 * time.Second

// early returns a context that ends before ctx does, so that the servers can still be asked how they are.
func early(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end.Add(-min(serverCap, time.Until(end)/2)))
}

// Close ends the session.
func (i *Inspector) Close(ctx context.Context) error { return i.reader.zk.Close(ctx) }

// Look looks at the path: at a lock twice, with some time in between, and otherwise once at all locks below. What it
// could not see is in the report. An error wraps [ErrNoPath], or [remote.ErrUnusable] and says what the servers
// answered.
func (i *Inspector) Look(ctx context.Context) (*Report, error) {
	first, err := i.once(ctx, nil)
	if err != nil || first.Lock == nil || first.Incomplete != "" {
		return first, err
	}
	select {
	case <-time.After(i.cfg.Between):
		return i.once(ctx, first)
	case <-ctx.Done():
		first.Incomplete = "the time was over before a second look, which would show whether the lock moves"
		return first, nil
	}
}

// Watch looks at the path until ctx ends, each time for within at most, and hands over each report with the one before
// it, which is nil at first. A look that no server answers has a report of its own, with nil before it.
func (i *Inspector) Watch(ctx context.Context, within time.Duration, show func(before, now *Report) error) error {
	var before *Report
	for {
		looking, cancel := context.WithTimeout(ctx, within)
		now, err := i.once(looking, before)
		cancel()
		switch {
		case err == nil:
			err = show(before, now)
			if len(now.locks()) > 0 || now.Incomplete == "" {
				before = now
			}
		case errors.Is(err, remote.ErrUnusable) && ctx.Err() == nil:
			err = show(nil, &Report{Path: i.cfg.Path, Servers: []Server{}, Incomplete: err.Error()})
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(i.cfg.Between):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// once looks at the path. Before is the report of an earlier look, or nil.
func (i *Inspector) once(ctx context.Context, before *Report) (*Report, error) {
	out := &Report{Path: i.cfg.Path, Anonymous: i.cfg.Access.Credential == ""}
	reading, cancel := early(ctx)
	defer cancel()
	err := i.read(reading, out, before)
	for _, l := range out.locks() {
		for _, c := range l.all() {
			if c.hidden {
				out.Hidden = append(out.Hidden, c.Path)
			}
		}
	}
	i.tell(ctx, out)
	out.Requests = i.reader.sent.Load()
	switch {
	case err == nil:
	case errors.Is(err, ErrNoPath):
		return nil, err
	case errors.Is(err, ErrSpent):
		out.Incomplete = fmt.Sprintf("the limit of %d requests is reached", i.cfg.MaxRequests)
	case errors.Is(reading.Err(), context.DeadlineExceeded):
		out.Incomplete = fmt.Sprintf("the time was over when %d requests had been sent: %v", out.Requests, err)
	default:
		return nil, fmt.Errorf("%w: %w%s", remote.ErrUnusable, err, said(out.Servers))
	}
	if out.Lock == nil {
		for _, l := range out.Locks {
			l.judge(nil, out.byTheirs(time.Now()))
		}
		return out, nil
	}
	var earlier *Lock
	if before != nil {
		earlier = before.Lock
	}
	out.Lock.judge(earlier, out.byTheirs(time.Now()))
	return out, nil
}

// read reads the lock at the path, or the locks below.
func (i *Inspector) read(ctx context.Context, out, before *Report) error {
	r := i.reader
	// A server that lags behind would show what is long over.
	if err := r.zk.Sync(ctx, i.cfg.Path); err != nil {
		return fmt.Errorf("the servers do not answer a sync, so what they show may be old: %w", err)
	}
	children, err := r.children(ctx, i.cfg.Path)
	if err == nil {
		if out.Lock, err = r.lookAt(ctx, i.cfg.Path, children, true); out.Lock == nil && err == nil && len(children) == 0 {
			out.Lock, err = r.znode(ctx, i.cfg.Path)
		}
	}
	gone := err == nil && out.Lock == nil || errors.Is(err, zksession.ErrNoNode)
	switch {
	case gone && before != nil && before.Lock != nil: // it was released
		was := before.Lock
		out.Lock = &Lock{Path: was.Path, Kind: was.Kind, Made: was.Made, kind: was.kind}
		return nil
	case errors.Is(err, zksession.ErrNoNode):
		return fmt.Errorf("%s: %w", i.cfg.Path, ErrNoPath)
	case errors.Is(err, zksession.ErrNoAuth):
		out.Lock, out.Hidden = nil, []string{i.cfg.Path}
		return nil
	case err != nil || out.Lock != nil:
		return err
	}
	var deeper int
	if out.Locks, out.Hidden, deeper, err = r.find(ctx, i.cfg.Path, i.cfg.Depth); deeper > 0 && err == nil {
		out.Incomplete = fmt.Sprintf("%s not looked at, more than %s below %s (--depth)", words.Were(int64(deeper), "znode"),
			words.Count(int64(i.cfg.Depth), "level"), i.cfg.Path)
	}
	return err
}

// tell asks the servers for the clients of the locks' sessions.
func (i *Inspector) tell(ctx context.Context, out *Report) {
	census := ask(ctx, i.cfg.Access)
	out.Servers = census.servers
	for _, l := range out.locks() {
		census.know(l.all())
	}
	out.ClockAhead = i.ahead
}

// said says in words how the servers are that serve nobody.
func said(servers []Server) string {
	var text strings.Builder
	for _, s := range servers {
		if !s.Serves {
			fmt.Fprintf(&text, "; %s %s", s.Address, s.State)
		}
	}
	return text.String()
}

// Verdict returns the gravest verdict of a report.
func (r *Report) Verdict() Verdict {
	if r.Lock != nil {
		return r.Lock.Verdict
	}
	worst := Empty
	for _, l := range r.Locks {
		if l.Verdict.Bad() {
			return l.Verdict
		}
		if l.Verdict == Unclear {
			worst = Unclear
		}
	}
	if r.Incomplete != "" || len(r.Hidden) > 0 {
		return Unclear
	}
	return worst
}
