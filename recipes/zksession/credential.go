package zksession

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"locklab/recipes/zkproto"
)

// A Credential is what a session proves its identity with. The server adds the identity to the connection, and looks
// for it in the ACL of each znode that a request concerns. Formatting a Credential does not show its secret.
type Credential struct {
	scheme string
	auth   []byte
	// colon says that a user's name had a colon, which cannot be told from that before the password.
	colon bool
}

// Digest returns the credential of a user with a password. A colon ends the user's name at the servers, so Connect
// refuses a name with a colon. A server accepts any pair and only
// compares its digest with those in ACLs, so a wrong password is not refused at Connect, but by the first request that
// needs the right one: see [ErrNoAuth]. The password passes over the connection as it is: use TLS, by [Config].Dial,
// where others can listen.
func Digest(user, password string) Credential {
	return Credential{scheme: "digest", auth: []byte(user + ":" + password), colon: strings.Contains(user, ":")}
}

// String returns the scheme.
func (c Credential) String() string { return "a credential of the scheme " + c.scheme }

// GoString returns what String does.
func (c Credential) GoString() string { return c.String() }

// maxCredential is the largest credential: the first connection sends it before it can make its buffer larger.
const maxCredential = firstBuffer - requestOverhead

// check refuses a credential that cannot be sent.
func (c Credential) check() error {
	switch size := len(c.scheme) + len(c.auth); {
	case c.scheme == "":
		return errors.New("a credential has no scheme")
	case c.colon:
		return fmt.Errorf("%s has a colon in the user's name", c)
	case size > maxCredential:
		return fmt.Errorf("%s has %d bytes: %w: it may have %d", c, size, ErrTooLarge, maxCredential)
	}
	return nil
}

// refusedCredential says in words with which code a server refused a credential.
func refusedCredential(code int32) string {
	if code == zkproto.CodeAuthFailed {
		return "refused a credential: it has no provider for the scheme, or the provider rejects the credential"
	}
	return fmt.Sprintf("refused a credential with code %d", code)
}

// authenticate sends the credentials on a session that has just been established, before any other request.
//
// On each later connection go-zookeeper sends them again, one after the other, and waits for each answer before it
// sends anything else: the goroutine that sends takes other requests, that which sets watches again included, from a
// queue, and begins with that afterwards. If a credential is refused then, [connection.answered] ends the session.
func (c *connection) authenticate(ctx context.Context) error {
	for _, cred := range c.cfg.Credentials {
		for {
			_, err := request(ctx, c, func() (struct{}, error) {
				return struct{}{}, c.conn.AddAuth(cred.scheme, cred.auth)
			})
			if err == nil {
				break
			}
			if !errors.Is(err, ErrConnectionLoss) { // adding a credential twice does no harm
				return err
			}
		}
	}
	return nil
}
