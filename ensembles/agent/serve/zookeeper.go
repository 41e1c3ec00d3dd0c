package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sys/unix"

	"locklab/ensembles/agent"
	"locklab/ensembles/reach"
)

// commands are the four-letter words that an agent may send to its server.
var commands = []string{"srvr", "mntr", "ruok", "wchs", "cons", "dump", "conf"}

// ask sends one four-letter word to the host's own server.
func (u upstream) ask(ctx context.Context, word string) ([]byte, error) {
	if !slices.Contains(commands, word) {
		return nil, fmt.Errorf("unknown command %q (known: %v)", word, commands)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	b, err := reach.Ask(ctx, u.dial, word)
	if err == nil && reach.Refused(b) {
		return nil, fmt.Errorf("the server does not allow the four-letter word %s", word)
	}
	return b, err
}

// commitWrite proves that a quorum accepts writes through the host's own server:
// it creates an ephemeral node and deletes it.
func (u upstream) commitWrite(ctx context.Context, log *slog.Logger) error {
	return u.asClient(ctx, log, func(conn *zk.Conn) error {
		path, err := conn.Create(u.root+"/locklab-ready-", nil, zk.FlagEphemeral|zk.FlagSequence, u.acl())
		if err == nil {
			err = conn.Delete(path, -1)
		}
		return err
	})
}

// asClient calls f with a session of its own with the host's server.
func (u upstream) asClient(ctx context.Context, log *slog.Logger, f func(*zk.Conn) error) error {
	dial := func(_, _ string, limit time.Duration) (net.Conn, error) {
		once, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return u.dial(once)
	}
	conn, _, err := zk.Connect([]string{u.name}, 4*time.Second, zk.WithDialer(dial), zk.WithLogger(printf{log}),
		zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		var err error
		if u.credential != "" {
			err = conn.AddAuth("digest", []byte(u.credential))
		}
		if err == nil {
			err = f(conn)
		}
		done <- err
	}()
	select {
	case err = <-done:
		conn.Close()
	case <-ctx.Done():
		conn.Close() // ends the calls in flight
		<-done
		err = context.Cause(ctx)
	}
	return err
}

type printf struct{ log *slog.Logger }

func (p printf) Printf(format string, args ...any) { p.log.Debug(fmt.Sprintf(format, args...)) }

// diskSyncs is how many appends are synced: the fewest that have a 99th percentile.
const diskSyncs = 100

// measureDisk appends to a file and syncs it each time, as a server does when it logs a transaction.
func measureDisk(ctx context.Context, root string) (d agent.Disk, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(root, &fs); err != nil {
		return d, fmt.Errorf("disk: %w", err)
	}
	d.FreeBytes = int64(fs.Bavail) * fs.Bsize
	f, err := os.CreateTemp(root, "fsync-")
	if err != nil {
		return d, fmt.Errorf("disk: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	record := make([]byte, 512) // about the size of a create
	var took []time.Duration
	for range diskSyncs {
		if ctx.Err() != nil {
			return d, context.Cause(ctx)
		}
		begun := time.Now()
		if _, err := f.Write(record); err != nil {
			return d, fmt.Errorf("disk: %w", err)
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return d, fmt.Errorf("disk: %w", err)
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	d.Syncs, d.P50, d.P99, d.Max = len(took), took[len(took)/2], took[len(took)*99/100-1], took[len(took)-1]
	return d, nil
}

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
