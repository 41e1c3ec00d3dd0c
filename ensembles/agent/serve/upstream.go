package serve

import (
	"context"
	"encoding/json"
	"net"
	"net/netip"

	"github.com/go-zookeeper/zk"

	"locklab/ensembles/agent"
	"locklab/ensembles/reach"
)

// A dialer connects to one server.
type dialer func(ctx context.Context) (net.Conn, error)

// An upstream is the ZooKeeper server that an agent speaks for: the host's own, or one of an ensemble elsewhere.
type upstream struct {
	name       string // in messages
	dial       dialer
	credential reach.Secret // to prove its identity with; empty = none
	// root is the znode outside which the agent touches nothing; empty = all znodes are the lab's.
	root string
}

func upstreamOf(s *agent.Surroundings, e *agent.Elsewhere) upstream {
	if e != nil {
		return upstream{name: e.Server, credential: e.Ensemble.Credential, root: e.Path,
			dial: func(ctx context.Context) (net.Conn, error) { return e.Ensemble.Dial(ctx, "tcp", e.Server) }}
	}
	at := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if s != nil {
		at = s.Address
	}
	own := netip.AddrPortFrom(at, agent.ClientPort).String()
	return upstream{name: own,
		dial: func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp4", own) }}
}

// acl returns the ACL of znodes that the agent creates.
func (u upstream) acl() []zk.ACL {
	if u.credential == "" {
		return zk.WorldACL(zk.PermAll)
	}
	return zk.AuthACL(zk.PermAll)
}

// secretsOf returns the variables by which a process reaches the ensemble itself.
func secretsOf(e *reach.Ensemble) (env []string, err error) {
	if e.Credential != "" {
		env = append(env, agent.EnvCredential+"="+string(e.Credential))
	}
	if e.TLS != nil {
		var b []byte
		if b, err = json.Marshal(e.TLS); err == nil {
			env = append(env, agent.EnvTLS+"="+string(b))
		}
	}
	return env, err
}

// publish passes the connections that l accepts on to the host's ZooKeeper server, which dial connects to, until ctx
// ends. It closes l.
func publish(ctx context.Context, l net.Listener, dial dialer) {
	reach.Relay(ctx, l, func(ctx context.Context, client net.Conn) {
		server, err := dial(ctx)
		if err != nil {
			return // a client of a server that does not run is refused
		}
		defer reach.Until(ctx, server)()
		reach.Join(client, server)
	})
}
