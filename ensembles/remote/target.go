package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/ensembles/reach"
	"locklab/harness/fail"
	"locklab/recipes/zksession"
)

// ErrUnusable says that runs cannot use an ensemble, and its text says why in one line: an address that does not
// answer, a password or a permission that is missing, a server that is read-only.
var ErrUnusable = fail.Environment.New("the ensemble cannot be used")

// A Target says in words where an ensemble is and how to reach it.
type Target struct {
	// Connect is the connection string: host:port with commas between them, and perhaps a chroot behind them.
	Connect string
	// CA is the PEM file of the authorities that sign the servers' certificates, or SystemCA. Cert and Key are the PEM
	// files of a certificate to show to the servers. Connections use TLS if any of the three is given.
	CA, Cert, Key string
	// Auth says where the digest credential user:password is: "file:PATH", or "env:NAME" for an environment variable.
	Auth string

	_ struct{}
}

// SystemCA as the CA stands for the authorities that this machine trusts.
const SystemCA = "system"

// The forms of Target.Auth.
const (
	authFile = "file:"
	authEnv  = "env:"
)

// MostServers is how many servers an ensemble may have.
const MostServers = 9

// ParseConnect splits a connection string. Each server needs its port, because a port that is left out is more often a
// mistake than the default.
func ParseConnect(connect string) (servers []string, chroot string, err error) {
	if scheme, _, ok := strings.Cut(connect, "://"); ok {
		return nil, "", fmt.Errorf("%s:// has no place here", scheme)
	}
	servers, chroot, err = zksession.ParseServers(connect)
	if err != nil {
		return nil, "", err
	}
	if len(servers) > MostServers {
		return nil, "", fmt.Errorf("%d servers are named, and at most %d can be", len(servers), MostServers)
	}
	for i, s := range servers {
		if slices.Contains(servers[:i], s) {
			return nil, "", fmt.Errorf("server %q is named twice", s)
		}
		host, port, err := net.SplitHostPort(s)
		if err != nil || host == "" || port == "" {
			return nil, "", fmt.Errorf("server %q: want host:port", s)
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, "", fmt.Errorf("server %q: %s is not a port, which is from 1 to 65535", s, port)
		}
	}
	return servers, chroot, nil
}

// CheckAuth refuses a text that does not say where a credential is. The error does not repeat the text, which may be
// the credential itself.
func CheckAuth(text string) error {
	for _, form := range []string{authFile, authEnv} {
		if rest, ok := strings.CutPrefix(text, form); ok && rest != "" {
			return nil
		}
	}
	return errors.New("want file:PATH or env:NAME, where user:password is; the credential itself has no place here")
}

// Files returns the names of the files that Open reads.
func (t Target) Files() []string {
	all := []string{t.CA, t.Cert, t.Key}
	if t.CA == SystemCA {
		all[0] = ""
	}
	if name, ok := strings.CutPrefix(t.Auth, authFile); ok {
		all = append(all, name)
	}
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}

// Variable returns the name of the environment variable that Open reads; empty if there is none.
func (t Target) Variable() string {
	name, _ := strings.CutPrefix(t.Auth, authEnv)
	if name == t.Auth {
		return ""
	}
	return name
}

// Open reads the files that the target names. An error names the flag and does not repeat a credential.
func (t Target) Open() (*Access, error) {
	a := &Access{}
	var err error
	if a.Servers, a.Chroot, err = ParseConnect(t.Connect); err != nil {
		return nil, fmt.Errorf("--connect: %w", err)
	}
	if a.Credential, err = t.credential(); err != nil {
		return nil, fmt.Errorf("--connect-auth: %w", err)
	}
	if t.CA+t.Cert+t.Key == "" {
		return a, nil
	}
	a.TLS = &reach.TLS{}
	for _, f := range []struct {
		flag, name string
		into       *[]byte
	}{{"--connect-ca", t.CA, &a.TLS.CA}, {"--connect-cert", t.Cert, &a.TLS.Cert}, {"--connect-key", t.Key, &a.TLS.Key}} {
		if f.name == "" || f.name == SystemCA && f.flag == "--connect-ca" {
			continue
		}
		if *f.into, err = os.ReadFile(f.name); err != nil {
			return nil, fmt.Errorf("%s: %w", f.flag, err)
		}
	}
	if _, err := a.TLS.Config(); err != nil {
		return nil, err
	}
	return a, nil
}

// credential reads the credential; empty if there is none.
func (t Target) credential() (reach.Secret, error) {
	if t.Auth == "" {
		return "", nil
	}
	if err := CheckAuth(t.Auth); err != nil {
		return "", err
	}
	var text string
	if name, ok := strings.CutPrefix(t.Auth, authEnv); ok {
		if text = os.Getenv(name); text == "" {
			return "", fmt.Errorf("the environment variable %s is not set", name)
		}
	} else {
		b, err := os.ReadFile(strings.TrimPrefix(t.Auth, authFile))
		if err != nil {
			return "", err
		}
		text = strings.TrimRight(string(b), "\r\n")
	}
	if user, password, ok := strings.Cut(text, ":"); !ok || user == "" || password == "" {
		return "", errors.New("what is there is not user:password")
	}
	return reach.Secret(text), nil
}

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
