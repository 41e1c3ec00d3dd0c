package remote

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"locklab/ensembles/reach"
	"locklab/recipes/zksession"
)

// An Access is the way to an ensemble.
type Access struct{ reach.Ensemble }

// Credentials returns the credential in the form that sessions take; none if the secret is empty.
func Credentials(s reach.Secret) []zksession.Credential {
	if s == "" {
		return nil
	}
	user, password, _ := strings.Cut(string(s), ":")
	return []zksession.Credential{zksession.Digest(user, password)}
}

// ACL returns the ACL of the znodes that a session with this credential creates.
func ACL(s reach.Secret) zksession.ACL {
	if s == "" {
		return zksession.Open
	}
	return zksession.CreatorAll
}

// Session opens a session with one of the servers.
func (a *Access) Session(ctx context.Context, timeout time.Duration, log *slog.Logger, servers ...string) (
	zksession.ZooKeeper, error) {
	return zksession.Connect(ctx, zksession.Config{Servers: servers, Timeout: timeout, Dial: a.Dial,
		Credentials: Credentials(a.Credential), ACL: ACL(a.Credential), Logger: log})
}
