package zksession

import (
	"errors"

	"github.com/go-zookeeper/zk"
)

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
