package zksession

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"

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

// An ACL chooses the access control list of each znode that a session creates, by the path that the service knows it
// by, which includes a chroot. It is called for every create, from many goroutines. There is [Open] and [CreatorAll],
// and a caller can write others.
//
// A lock is safe from a client only if the client can neither create nor delete children of the lock's directory: one
// that deletes the znode of a holder lets the next contender in beside it, and one that creates a znode with a number
// of its own choice gets in beside a holder, or makes all others wait for it. The service looks for both permissions in
// the ACL of the directory, not in those of the znodes in it. Three things follow.
//
//   - The directory's own ACL is what counts. A directory that exists keeps the ACL that it has, and sessions do not
//     look at it: one that was made open stays open.
//   - The same holds for every directory above. A client that can create and delete children of one of these can put a
//     directory of its own in the place of one that is empty. Locks' directories are containers, which the service
//     removes when they are empty, and the root of a new service is open to all. So an administrator should create the
//     topmost directory as a persistent znode with an ACL of its own, or close the root.
//   - Contenders read each other's znodes and the directory, whatever their recipe, and set data to revoke. So all
//     clients of one lock need a credential in common, or an ACL that lets each of them read, create and delete in the
//     directory and read the znodes in it.
//
// Do not take a permission to read away from the clients of a lock in use. Servers with the repair of CVE-2024-23944
// send no event of a znode that the client may not read by then, so a contender would not hear that its turn has come.
type ACL func(path string) []zk.ACL

// Open lets every client do everything, as Curator's default does.
func Open(string) []zk.ACL { return everybody }

// CreatorAll lets the identities that the session has when it creates a znode do everything, and no other client
// anything. The service stores the identities, not the session, so all sessions with one of the credentials may use the
// znode.
//
// A session without an identity cannot create anything with it. [Connect] refuses a [Config] with this ACL, or one that
// contains the scheme "auth" for the chroot or the root, if it has neither Credentials nor a Dial function. With a Dial
// function the identity can be a certificate; if there is none after all, the first create fails with [ErrInvalidACL].
func CreatorAll(string) []zk.ACL { return creator }

var (
	everybody = zk.WorldACL(zk.PermAll)
	creator   = zk.AuthACL(zk.PermAll)
)

// aclLength returns how many bytes a list adds to a request.
func aclLength(list []zk.ACL) (n int) {
	for _, a := range list {
		n += 4 + 4 + len(a.Scheme) + 4 + len(a.ID)
	}
	return n
}

// A need is the permission that a request needs.
type need string

// The permissions. To create or delete a znode a session needs a permission of its parent.
const (
	toRead   need = "read"
	toWrite  need = "write"
	toCreate need = "create"
	toDelete need = "delete"
)

// explain adds to a refusal by an ACL which permission is missing where.
func (n need) explain(err error, node string) error {
	switch {
	case errors.Is(err, ErrNoAuth):
		if n == toCreate || n == toDelete {
			node = path.Dir(node)
		}
		return fmt.Errorf("%w: the ACL of %s does not let this session's credentials %s", err, node, n)
	case errors.Is(err, ErrInvalidACL):
		return fmt.Errorf("%w: an ACL must not be empty, and CreatorAll needs credentials", err)
	}
	return err
}

// denied explains the refusal of a request that concerns one znode, and returns any other error as it is.
func denied(err error, n need, verb, node string) error {
	if err == nil || !errors.Is(err, ErrNoAuth) && !errors.Is(err, ErrInvalidACL) {
		return err
	}
	return fmt.Errorf("%s %s: %w", verb, node, n.explain(err, node))
}
