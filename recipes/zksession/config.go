package zksession

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// Config says how to connect.
type Config struct {
	// Servers are host:port (port 2181 if absent). They are tried in this order, round and round, so a caller spreads
	// or pins its sessions by the server that it lists first. Names are resolved at each dial. [ParseServers] splits a
	// connection string.
	Servers []string
	// Chroot, if set, is a path such as "/app" below which the session works: all paths that it is given and returns are
	// relative to it. See [Chroot] and [ParseServers].
	Chroot string
	// Timeout is the session timeout to ask for; the server grants what lies within its own limits. 0 = 10 s.
	Timeout time.Duration
	// Dial makes connections; nil = a plain net.Dialer. It should respect its context, which ends with the session. For
	// TLS, give it the DialContext of a tls.Dialer. If its handshake fails with a connection reset, the port is often one
	// without TLS: servers have a port of its own for it, secureClientPort.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Credentials are sent on each connection before anything else, a reconnect included. If a server refuses one, the
	// session is over: see [ErrAuthFailed]. go-zookeeper has no SASL, and therefore no Kerberos. A certificate, as of TLS
	// with an x509 provider at the servers, needs no credential.
	Credentials []Credential
	// ACL chooses who may use the znodes that the session creates; nil = [Open].
	ACL ACL
	// OnState, if set, is called with every state that the session enters, in order, from one goroutine. It may block
	// without harming the session, but must not wait for Close, which waits for it.
	OnState func(StateChange)
	// Logger gets the client's messages at debug level, and its warnings; nil = slog.Default(), which drops the former
	// unless it is told otherwise.
	Logger *slog.Logger
	// AfterFunc starts the timers of locks in the session, if they are not to be those of package time, such as in a
	// simulation. nil = [time.AfterFunc].
	AfterFunc func(d time.Duration, f func()) Timer
	// GUID returns a new name for each attempt to get a lock in the session; nil = a random UUID. No two calls, of
	// whatever sessions, may return the same.
	GUID func() string
	// Wrap, if set, returns what is to stand in the place of the session that Connect has established, such as one that
	// decides the order of its requests.
	Wrap func(ZooKeeper) ZooKeeper

	_ struct{} // no positional literals
}

// withDefaults fills in what was left out, and refuses impossible values.
func (c Config) withDefaults() (Config, error) {
	if len(c.Servers) == 0 {
		return c, errors.New("connect: no servers given")
	}
	c.Servers = slices.Clone(c.Servers)
	for i, server := range c.Servers {
		if server == "" { // go-zookeeper would take it for this machine
			return c, fmt.Errorf("connect: server %d of %d is empty", i+1, len(c.Servers))
		}
		if strings.ContainsAny(server, ",/") {
			return c, fmt.Errorf("connect: server %q: want one host:port; ParseServers splits a connection string", server)
		}
	}
	if c.Chroot != "" {
		if err := checkChroot(c.Chroot); err != nil {
			return c, fmt.Errorf("connect: %w", err)
		}
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Timeout < time.Millisecond {
		return c, fmt.Errorf("connect: session timeout %s is less than 1ms", c.Timeout)
	}
	c.Credentials = slices.Clone(c.Credentials)
	for _, cred := range c.Credentials {
		if err := cred.check(); err != nil {
			return c, fmt.Errorf("connect: %w", err)
		}
	}
	if c.ACL == nil {
		c.ACL = Open
	}
	// A dialer may speak TLS, and a certificate is an identity that is not known here.
	if len(c.Credentials) == 0 && c.Dial == nil {
		top := cmp.Or(c.Chroot, "/")
		if slices.ContainsFunc(c.ACL(top), func(a zk.ACL) bool { return a.Scheme == creator[0].Scheme }) {
			return c, fmt.Errorf("connect: the ACL of %s, as by CreatorAll, is for the session's identities, and it has none: "+
				"give Credentials", top)
		}
	}
	if c.Dial == nil {
		c.Dial = new(net.Dialer).DialContext
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}

// defaultTimeout is the session timeout to ask for if none is given.
const defaultTimeout = 10 * time.Second

// A Timer is what a [time.Timer] of [time.AfterFunc] is.
type Timer interface {
	Stop() bool
	Reset(d time.Duration) bool
}
