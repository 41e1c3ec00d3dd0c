package agent

import (
	"errors"

	"locklab/harness/history"
)

// The operations on znodes: what an administrator can do through the host's own server.
const (
	NodesList   = "list"   // a znode and its children
	NodesCreate = "create" // a persistent znode without data
	NodesDelete = "delete" // a znode of any version that has no children
)

// The reasons for which a server refuses an operation on a znode.
var (
	ErrNoNode   = errors.New("there is no such znode")
	ErrNotEmpty = errors.New("the znode has children")
	ErrExists   = errors.New("the znode already exists")
)

// A NodeRequest asks for one of the operations on a znode below a run's root.
type NodeRequest struct {
	Op   string `json:"op"`
	Path string `json:"path"`
}

// A Node is a znode as its server sees it.
type Node struct {
	Path string `json:"path"`
	// Session is the owner of an ephemeral znode.
	Session history.SessionID `json:"session,omitempty"`
	Czxid   int64             `json:"czxid"`
	// Children are the children of the znode that was asked for.
	Children []Node `json:"children,omitempty"`
}

// NodeAnswer is the answer to a NodeRequest.
type NodeAnswer struct {
	Stamp
	// Node is the znode that was listed or deleted.
	Node Node `json:"node"`
	// Refused says why nothing was done: the text of ErrNoNode, ErrNotEmpty or ErrExists. It is empty on success.
	Refused string `json:"refused,omitempty"`
}
