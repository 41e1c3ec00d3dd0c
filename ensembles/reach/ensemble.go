package reach

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

// An Ensemble is everything that a process needs to reach an ensemble. As JSON it has the secrets, so it passes between
// processes through pipes only.
type Ensemble struct {
	Servers []string `json:"servers"`
	// Chroot is an existing znode below which runs work; empty = the root.
	Chroot     string `json:"chroot,omitempty"`
	TLS        *TLS   `json:"tls,omitempty"` // nil = connections are plain
	Credential Secret `json:"credential,omitempty"`

	_ struct{}
}

// A Secret is a text that is not shown: formatting it hides it.
type Secret string

// String returns the same text for every secret.
func (s Secret) String() string { return "(hidden)" }

// GoString returns the same text for every secret.
func (s Secret) GoString() string { return s.String() }

// User returns the user of a digest credential.
func (s Secret) User() string {
	user, _, _ := strings.Cut(string(s), ":")
	return user
}

// TLS has PEM blocks: the authorities that sign the servers' certificates, or none for those that this machine trusts,
// and a certificate with its key to show to the servers, or neither.
type TLS struct {
	CA   []byte `json:"ca,omitempty"`
	Cert []byte `json:"cert,omitempty"`
	Key  []byte `json:"key,omitempty"`
}

// String hides the key.
func (t *TLS) String() string { return "TLS" }

// Config returns the configuration of connections. The error names the flag whose file is at fault.
func (t *TLS) Config() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(t.CA) > 0 {
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(t.CA) {
			return nil, errors.New("--connect-ca: the file has no certificate in PEM form")
		}
	}
	if len(t.Cert)+len(t.Key) > 0 {
		pair, err := tls.X509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("--connect-cert and --connect-key: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

// Dial connects to a server, by TLS if the ensemble wants that.
func (e *Ensemble) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if e.TLS == nil {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	cfg, err := e.TLS.Config()
	if err != nil {
		return nil, err
	}
	return (&tls.Dialer{Config: cfg}).DialContext(ctx, network, address)
}

// Ask sends a four-letter word to a server. ctx must have a deadline. A server that does not allow the word says so in
// its answer: see [Allowed].
func (e *Ensemble) Ask(ctx context.Context, server, word string) ([]byte, error) {
	return Ask(ctx, func(ctx context.Context) (net.Conn, error) { return e.Dial(ctx, "tcp", server) }, word)
}

// Ask sends a four-letter word to the server that dial connects to. ctx must have a deadline.
func Ask(ctx context.Context, dial func(context.Context) (net.Conn, error), word string) ([]byte, error) {
	c, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(c, word); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(c, 16<<20))
}

// Field returns the rest of the first line of a server's answer that begins with a name; empty if there is none.
func Field(text, name string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// Allowed reports whether an answer to a four-letter word is more than the server's word that it does not allow it.
func Allowed(answer []byte) bool { return len(answer) > 0 && !Refused(answer) }

// Refused reports whether an answer says that the server does not allow the four-letter word.
func Refused(answer []byte) bool {
	return strings.Contains(string(answer), "is not executed because it is not in the whitelist")
}
