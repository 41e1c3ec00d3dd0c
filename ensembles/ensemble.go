package ensembles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/ensembles/reach"
	"locklab/harness/fail"
	"locklab/harness/history"
)

// The roles that a server reports.
const (
	RoleLeader     = history.RoleLeader
	RoleFollower   = history.RoleFollower
	RoleStandalone = history.RoleStandalone
)

// An Ensemble is the ZooKeeper servers of a lab.
type Ensemble struct {
	Servers []*Host
	Config  ServerConfig
	// External says that the ensemble was not started here. Its servers' agents run no process, and need not be told the
	// servers' roles.
	External bool
	// Silent is the server of an external ensemble that serves no clients, if there is one.
	Silent *Host

	mu   sync.Mutex
	runs map[*Host]string // the version that each server was last started with
}

// ErrNotFormed says that the servers do not serve together, or no longer. The error that wraps it says why: a server
// ended, or they found no leader in time.
var ErrNotFormed = fail.Environment.New("the ensemble did not form")

// ErrTooSlow says that this machine, or what makes labs on it, took too long for one of the steps of making a lab.
var ErrTooSlow = fail.Environment.New("the lab could not be made in time, as if this machine were overloaded")

// readyTimeout is how long an ensemble may take to form. It takes a few seconds, or longer on a busy machine.
const readyTimeout = 90 * time.Second

// StartEnsemble starts a server on each of the lab's server hosts and waits until the ensemble is ready; see
// [Ensemble.AwaitReady].
func StartEnsemble(ctx context.Context, lab *Lab, cfg ServerConfig) (*Ensemble, error) {
	e := &Ensemble{Servers: lab.Hosts(Server), Config: cfg}
	g, gctx := errgroup.WithContext(ctx)
	for _, h := range e.Servers {
		g.Go(func() error {
			_, err := e.start(gctx, h, h.first)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("start ensemble: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	// A server that ends while the ensemble forms will not come back.
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	var ended error
	if err := e.await(ctx, func(err error) { ended = err; giveUp() }); err != nil {
		if ended == nil && context.Cause(ctx) == context.DeadlineExceeded {
			err = fmt.Errorf("%w%s", err, e.complaints(context.WithoutCancel(ctx)))
		}
		return nil, fmt.Errorf("%w: %w", ErrNotFormed, cmp.Or(ended, err))
	}
	return e, nil
}

// complaints returns the last warning or error that each server has logged, a line for each.
func (e *Ensemble) complaints(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var b strings.Builder
	for _, h := range e.Servers {
		if c := complaint(logTail(ctx, h, 1000)); c != "" {
			fmt.Fprintf(&b, "\nthe log of %s: %s", h.Name, c)
		}
	}
	return b.String()
}

// complaint returns the last warning or error of a server's log, with the exception in the line after it.
func complaint(log string) string {
	lines := strings.Split(log, "\n")
	for i, line := range slices.Backward(lines) {
		if !strings.Contains(line, "WARN") && !strings.Contains(line, "ERROR") {
			continue
		}
		if i+1 < len(lines) && strings.Contains(lines[i+1], "Exception") {
			line += ": " + lines[i+1]
		}
		return line
	}
	return ""
}

// Join returns the ensemble whose servers the agents of the lab's server hosts speak for. It waits until each server
// has committed a write, apart from the one with the index silent, which serves no clients; -1 is none.
func Join(ctx context.Context, lab *Lab, silent int) (*Ensemble, error) {
	e := &Ensemble{Servers: lab.Hosts(Server), External: true}
	if silent >= 0 {
		e.Silent = e.Servers[silent]
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := e.AwaitReady(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotFormed, err)
	}
	return e, nil
}

// AwaitReady waits until one server leads, all others follow it, and a write was committed through each. It also
// waits for a server that has ended, which may be about to be restarted. Of an external ensemble it asks only for the
// writes.
func (e *Ensemble) AwaitReady(ctx context.Context) error { return e.await(ctx, func(error) {}) }

// await is AwaitReady. It calls dead with an error if a server has ended.
func (e *Ensemble) await(ctx context.Context, dead func(error)) error {
	if !e.External {
		if err := e.awaitRoles(ctx, dead); err != nil {
			return err
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, h := range e.Servers {
		if h == e.Silent {
			continue
		}
		g.Go(func() error {
			return Poll(ctx, 50*time.Millisecond, "a committed write through "+h.Name, func() error {
				return h.Agent.CommitWrite(ctx)
			})
		})
	}
	return g.Wait()
}

// awaitRoles waits until one server leads and all others follow it.
func (e *Ensemble) awaitRoles(ctx context.Context, dead func(error)) error {
	return Poll(ctx, 50*time.Millisecond, "a leader and its followers", func() error {
		if err := e.died(ctx); err != nil {
			dead(err)
			return err
		}
		roles, err := e.Roles(ctx)
		if err != nil {
			return err
		}
		leaders, followers := 0, 0
		for _, r := range roles {
			switch r {
			case RoleLeader, RoleStandalone:
				leaders++
			case RoleFollower:
				followers++
			}
		}
		if leaders != 1 || followers != len(e.Servers)-1 {
			return fmt.Errorf("the roles of the servers are %v", roles)
		}
		return nil
	})
}

// died returns an error that names the servers that have ended, with the last lines of their logs.
func (e *Ensemble) died(ctx context.Context) error {
	var errs []error
	for _, h := range e.Servers {
		st, err := h.Agent.Status(ctx)
		if err == nil && st.Exit != "" {
			errs = append(errs, fmt.Errorf("server %s ended: %s; its log ends:\n%s", h.Name, st.Exit, logTail(ctx, h, 10)))
		}
	}
	return errors.Join(errs...)
}

// logTail returns the last lines of a server's log.
func logTail(ctx context.Context, h *Host, lines int) string {
	log, err := ReadServerLog(ctx, h)
	if err != nil {
		return err.Error()
	}
	return LastLines(log, lines)
}

// ReadServerLog returns what a server has logged.
func ReadServerLog(ctx context.Context, h *Host) (string, error) {
	r, err := h.Agent.File(ctx, ServerLog)
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	return string(b), err
}

// Roles asks every server for its role and returns the roles by host name. A server that does not serve is left out.
func (e *Ensemble) Roles(ctx context.Context) (map[string]string, error) {
	modes := make([]string, len(e.Servers))
	var g errgroup.Group
	for i, h := range e.Servers {
		g.Go(func() error {
			if answer, err := h.Agent.Ask(ctx, "srvr"); err == nil {
				modes[i] = reach.Field(answer, "Mode:")
			}
			return nil
		})
	}
	_ = g.Wait() // none returns an error
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	roles := map[string]string{}
	for i, mode := range modes {
		if mode != "" {
			roles[e.Servers[i].Name] = mode
		}
	}
	return roles, nil
}

// Leader returns the server that leads now.
func (e *Ensemble) Leader(ctx context.Context) (*Host, error) {
	roles, err := e.Roles(ctx)
	if err != nil {
		return nil, err
	}
	for _, h := range e.Servers {
		if r := roles[h.Name]; r == RoleLeader || r == RoleStandalone {
			return h, nil
		}
	}
	return nil, fmt.Errorf("no server leads (roles: %v)", roles)
}

// Version asks the first server for the number of its version of ZooKeeper.
func (e *Ensemble) Version(ctx context.Context) (string, error) {
	told, err := e.Told(ctx, e.Servers[0])
	return VersionNumber(told), err
}

func (e *Ensemble) hostAddresses() []netip.Addr {
	var all []netip.Addr
	for _, h := range e.Servers {
		all = append(all, h.Address)
	}
	return all
}

// number returns which server of the ensemble a host runs, from 1.
func (e *Ensemble) number(h *Host) int { return slices.Index(e.Servers, h) + 1 }

// Addresses returns the addresses at which clients inside the lab reach the servers.
func (e *Ensemble) Addresses() []netip.AddrPort {
	var all []netip.AddrPort
	for _, h := range e.Servers {
		all = append(all, h.Server)
	}
	return all
}

// LastLines returns the last lines of a text.
func LastLines(s string, n int) string {
	all := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(all[max(0, len(all)-n):], "\n")
}
