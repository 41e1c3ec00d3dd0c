package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"locklab/ensembles/reach"
	"locklab/recipes/zkproto"
)

// Found is what an ensemble grants and allows.
type Found struct {
	// MinSessionTimeout and MaxSessionTimeout are the limits on session timeouts, as the servers applied them.
	MinSessionTimeout, MaxSessionTimeout time.Duration
	// Tick is the servers' tickTime. If they do not tell it, it is half of MinSessionTimeout, as it is by default, and
	// Guessed is true.
	Tick    time.Duration
	Guessed bool
	// MostConnections is how many connections a server takes from one address (maxClientCnxns); 0 = any number, or the
	// servers do not tell.
	MostConnections int
	// Words are the four-letter words that all servers allow, of those that runs use.
	Words []string
	// Version of ZooKeeper; empty if the servers do not tell it.
	Version string
	// Silent is the server that is part of the ensemble and serves no clients, as a leader may be told to do
	// (leaderServes=no); empty if there is none.
	Silent string

	_ struct{}
}

// words are the four-letter words that runs use.
var words = []string{"srvr", "conf", "mntr", "cons", "dump"}

// Words returns the four-letter words that runs use.
func Words() []string { return slices.Clone(words) }

// errSilent says that a server closes connections instead of granting a session.
var errSilent = errors.New("serves no clients")

// inspectCap bounds how long a server may take to answer one question.
const inspectCap = 5 * time.Second

// Inspect asks every server, and creates nothing but sessions, which it ends. An error wraps [ErrUnusable] and names
// one server and what is wrong with it. One server may serve no clients; see [Found.Silent].
func (a *Access) Inspect(ctx context.Context) (*Found, error) {
	f := &Found{Words: slices.Clone(words)}
	var serving []string
	var silent error
	for _, server := range a.Servers {
		s, err := a.handshake(ctx, server, zkproto.Hello{Timeout: time.Millisecond}, true)
		if errors.Is(err, errSilent) && silent == nil {
			f.Silent, silent = server, err
			continue
		}
		if err != nil {
			return nil, err
		}
		least := s.Timeout
		s, err = a.handshake(ctx, server, zkproto.Hello{Timeout: math.MaxInt32 * time.Millisecond}, false)
		if err != nil {
			return nil, err
		}
		longest := s.Timeout
		if err := a.reconnect(ctx, server, s); err != nil {
			return nil, err
		}
		if len(serving) > 0 && (least != f.MinSessionTimeout || longest != f.MaxSessionTimeout) {
			return nil, fmt.Errorf("%w: %s grants session timeouts of %v to %v, and %s of %v to %v: are they one ensemble?",
				ErrUnusable, serving[0], f.MinSessionTimeout, f.MaxSessionTimeout, server, least, longest)
		}
		serving = append(serving, server)
		f.MinSessionTimeout, f.MaxSessionTimeout = least, longest
		f.Words = slices.DeleteFunc(f.Words, func(word string) bool { return !a.allows(ctx, server, word) })
	}
	if silent != nil && !a.mayLead(ctx, serving, f.Words) {
		return nil, silent
	}
	f.Tick, f.Guessed = f.MinSessionTimeout/2, true
	if slices.Contains(f.Words, "conf") {
		if ms, err := strconv.Atoi(a.field(ctx, serving[0], "conf", "tickTime=")); err == nil && ms > 0 {
			f.Tick, f.Guessed = time.Duration(ms)*time.Millisecond, false
		}
		if most, err := strconv.Atoi(a.field(ctx, serving[0], "conf", "maxClientCnxns=")); err == nil {
			f.MostConnections = max(most, 0)
		}
	}
	if slices.Contains(f.Words, "srvr") {
		version := a.field(ctx, serving[0], "srvr", "Zookeeper version:")
		f.Version, _, _ = strings.Cut(version, "-") // the build follows
	}
	return f, nil
}

// mayLead reports whether the one server that serves no clients may be the leader of those that serve: they follow
// somebody, and none of them says that it leads. A server that lost its ensemble serves no clients either.
func (a *Access) mayLead(ctx context.Context, serving, allowed []string) bool {
	if len(serving) == 0 || !slices.Contains(allowed, "srvr") {
		return false
	}
	return !slices.ContainsFunc(serving, func(server string) bool {
		mode := a.field(ctx, server, "srvr", "Mode:")
		return mode != "follower" && mode != "observer"
	})
}

// allows reports whether a server answers a four-letter word.
func (a *Access) allows(ctx context.Context, server, word string) bool {
	ctx, cancel := context.WithTimeout(ctx, inspectCap)
	defer cancel()
	answer, err := a.Ask(ctx, server, word)
	return err == nil && reach.Allowed(answer)
}

// field returns the rest of the line with a prefix in a server's answer; empty if there is none.
func (a *Access) field(ctx context.Context, server, word, prefix string) string {
	ctx, cancel := context.WithTimeout(ctx, inspectCap)
	defer cancel()
	answer, err := a.Ask(ctx, server, word)
	if err != nil {
		return ""
	}
	return reach.Field(string(answer), prefix)
}

// reconnect comes back to a session whose connection has broken, and ends it. Some servers that speak ZooKeeper's
// protocol answer with a new session, without a word. The old one's znodes, and with them the locks of a client that
// has lost nothing but a connection, go when nobody expects it.
func (a *Access) reconnect(ctx context.Context, server string, s zkproto.Grant) error {
	again, err := a.handshake(ctx, server, zkproto.Hello{Timeout: s.Timeout, Session: s.Session,
		Password: s.Password}, true)
	if err == nil && again.Session != 0 && again.Session != s.Session {
		err = fmt.Errorf("%w: %s answered a reconnect of session %#x with another session, %#x: this server forgets "+
			"sessions: no lock is safe on it", ErrUnusable, server, s.Session, again.Session)
	}
	return err
}

// handshake opens a session, or comes back to one, and returns what the server granted. The session would be content
// with a read-only server, so that such a server says what it is. If leave is set, it ends at once.
func (a *Access) handshake(
	ctx context.Context, server string, h zkproto.Hello, leave bool,
) (s zkproto.Grant, err error) {
	ctx, cancel := context.WithTimeout(ctx, inspectCap)
	defer cancel()
	unusable := func(format string, args ...any) (zkproto.Grant, error) {
		return s, fmt.Errorf("%w: %s %w", ErrUnusable, server, fmt.Errorf(format, args...))
	}
	conn, err := a.Dial(ctx, "tcp", server)
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return unusable("has a host name that cannot be resolved; check the address in --connect")
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return unusable("cannot be reached (%w); check the address in --connect", dial.Err)
	}
	if err != nil {
		return unusable("does not accept TLS as it is set up (%w); check --connect-ca, --connect-cert and --connect-key, "+
			"and that the port is the secureClientPort", err)
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return s, err
	}
	h.ReadOnly = true
	s, err = zkproto.Connect(conn, h)
	switch {
	case err == nil:
	case errors.Is(err, zkproto.ErrShort):
		return unusable("does not answer as a ZooKeeper server does")
	case a.TLS != nil:
		return unusable("%w (%w): it may have no quorum", errSilent, err)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return unusable("%w (%w): it may have no quorum, the port may not be ZooKeeper's, or it may want TLS, which "+
			"--connect-ca turns on", errSilent, err)
	default:
		return unusable("serves no clients (%w): the port may not be ZooKeeper's, or it may want TLS, which --connect-ca "+
			"turns on", err)
	}
	if leave || s.ReadOnly {
		_ = zkproto.Close(conn) // the session would end by itself soon
	}
	switch {
	case s.ReadOnly:
		return unusable("is read-only: it has lost its quorum and accepts no writes")
	case s.Timeout <= 0 && h.Session == 0:
		return unusable("granted no session")
	}
	return s, nil
}
