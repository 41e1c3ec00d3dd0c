package zksession

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/internal/tasks"
)

// failures are the last failures to connect, by server.
type failures struct {
	mu      sync.Mutex
	servers []string // in the order of their first failures
	last    map[string]error
}

func (f *failures) note(server string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.servers, server) {
		f.servers = append(f.servers, server)
	}
	if f.last == nil {
		f.last = map[string]error{}
	}
	f.last[server] = err
}

// errUntried is why there is no connection where no try has failed.
var errUntried = errors.New("no server has answered yet")

func (f *failures) explain(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.servers) == 0 {
		return fmt.Errorf("%w: %w", err, errUntried)
	}
	for _, server := range f.servers {
		err = fmt.Errorf("%w; %s: %w", err, server, f.last[server])
	}
	return err
}

// warn logs one warning if there is no session when the timeout has passed, unless the caller's own caller has been
// told before: see [tasks.Told]. It is called when a session is wanted, and its result when there is one, or none is
// wanted any more.
func (f *failures) warn(ctx context.Context, cfg Config) (over func()) {
	if tasks.Told(ctx) {
		return func() {}
	}
	late := time.AfterFunc(cfg.Timeout, func() {
		cfg.Logger.Warn("no ZooKeeper server has answered yet; the client keeps trying",
			"servers", cfg.Servers, "for", cfg.Timeout, "error", f.explain(errNoSession))
	})
	return func() { late.Stop() }
}

// errNoSession is what there is to explain while the client keeps trying.
var errNoSession = errors.New("no session")

// Why a session is over.
var (
	// ErrSessionExpired says that ZooKeeper declared the session expired.
	ErrSessionExpired = errors.New("session expired")
	// ErrSessionClosed says that the session was closed by its owner.
	ErrSessionClosed = errors.New("session closed")
	// ErrAuthFailed says that a server refused one of the session's credentials, or wants credentials of another kind,
	// such as SASL. The client has given the session up, because the server would refuse the credential on each
	// connection; if that was not the first, the session's znodes stay until it expires.
	ErrAuthFailed = errors.New("authentication failed")
)

// A [ZooKeeper] answers with one of these errors, or with the reason why the session is over.
// Any other error means that the service refused the request for good.
var (
	// ErrNoNode says that the znode (or, for a create, its parent) does not exist.
	ErrNoNode = errors.New("no node")
	// ErrNodeExists says that the znode to create exists already.
	ErrNodeExists = errors.New("node exists")
	// ErrBadVersion says that the znode has another version than the one required.
	ErrBadVersion = errors.New("bad version")
	// ErrNoAuth says that the ACL of a znode does not allow the request to the session's credentials: they are missing,
	// or wrong, as with a wrong password. The error's text names the znode and the permission.
	ErrNoAuth = errors.New("not authorized")
	// ErrInvalidACL says that the service refused to create a znode because of the ACL that it was to have: the ACL is
	// empty or has an identity that the servers do not understand, or it is [CreatorAll]'s and the session has no
	// identity.
	ErrInvalidACL = zk.ErrInvalidACL
	// ErrUnimplemented says that the server does not know the request.
	ErrUnimplemented = errors.New("unimplemented")
	// ErrTooLarge says that a request was not sent because it is too large, or that its answer was not read because that
	// is: the list of a directory with too many children. The error's text names the limit. A request that asks for a
	// change is answered with a few bytes, so it was not executed.
	ErrTooLarge = errors.New("too large")
	// ErrConnectionLoss says that the outcome is unknown: the connection went away,
	// or the session moved, before the answer was here. The session still lives as far as we know.
	ErrConnectionLoss = errors.New("connection loss")
)
