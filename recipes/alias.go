package recipes

import (
	"github.com/go-zookeeper/zk"

	"locklab/recipes/zksession"
)

// These types of package zksession have names here too, so that a program that uses the locks imports one package.
type (
	// Config says which servers a [SessionConfig] connects to, and how.
	Config = zksession.Config
	// Credential is what a session proves its identity with: see [Digest].
	Credential = zksession.Credential
	// ACL chooses who may use a session's znodes, as [CreatorAll] does. See [zksession.ACL] for what it must not allow.
	ACL = zksession.ACL
	// StateChange is what [Config].OnState is called with.
	StateChange = zksession.StateChange
	// Op is one operation of [Hold.Multi], and OpError says which of them was refused.
	Op      = zksession.Op
	OpError = zksession.OpError
)

// The constants of an [Op] and of a [StateChange].
const (
	OpCheck      = zksession.OpCheck
	OpCreate     = zksession.OpCreate
	OpDelete     = zksession.OpDelete
	OpSet        = zksession.OpSet
	AnyVersion   = zksession.AnyVersion
	Persistent   = zksession.Persistent
	Connected    = zksession.Connected
	Disconnected = zksession.Disconnected
	Expired      = zksession.Expired
	Closed       = zksession.Closed
)

// These errors are the same values as in zksession, where they are described.
var (
	ErrSessionExpired = zksession.ErrSessionExpired
	ErrSessionClosed  = zksession.ErrSessionClosed
	ErrAuthFailed     = zksession.ErrAuthFailed
	ErrConnectionLoss = zksession.ErrConnectionLoss
	ErrNoAuth         = zksession.ErrNoAuth
	ErrNoNode         = zksession.ErrNoNode
	ErrNodeExists     = zksession.ErrNodeExists
	ErrBadVersion     = zksession.ErrBadVersion
	ErrTooLarge       = zksession.ErrTooLarge
)

// CreatorAll is [zksession.CreatorAll].
func CreatorAll(path string) []zk.ACL { return zksession.CreatorAll(path) }

// Digest is [zksession.Digest].
func Digest(user, password string) Credential { return zksession.Digest(user, password) }

// ParseServers is [zksession.ParseServers].
func ParseServers(s string) (servers []string, chroot string, err error) {
	return zksession.ParseServers(s)
}
