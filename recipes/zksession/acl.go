package zksession

import (
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"
)

// An ACL chooses the access control list of each znode that a session creates, by the path that the service knows it
// by, which includes a chroot. It is called for every create, from many goroutines. There is [Open], [CreatorAll] and
// [ACLOf], and a caller can write one that treats paths differently.
type ACL func(path string) []zk.ACL

// Open lets every client do everything, as Curator's default does.
func Open(string) []zk.ACL { return everybody }

// CreatorAll lets the identities that the session has when it creates a znode do everything, and no other client
// anything. The service stores the identities, not the session, so all sessions with one of the credentials may use the
// znode.
func CreatorAll(string) []zk.ACL { return creator }

// ACLOf returns an ACL that gives every znode the same list.
func ACLOf(list ...zk.ACL) ACL { return func(string) []zk.ACL { return list } }

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
	case errors.Is(err, zk.ErrInvalidACL):
		return fmt.Errorf("%w: an ACL must not be empty, and CreatorAll needs credentials", err)
	}
	return err
}

// denied explains the refusal of a request that concerns one znode, and returns any other error as it is.
func denied(err error, n need, verb, node string) error {
	if err == nil || !errors.Is(err, ErrNoAuth) && !errors.Is(err, zk.ErrInvalidACL) {
		return err
	}
	return fmt.Errorf("%s %s: %w", verb, node, n.explain(err, node))
}
