package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"locklab/harness/history"
)

// What an administrator's hand may do to a znode, through the host's own server.
const (
	NodesList   = "list"   // the znode, and its children
	NodesCreate = "create" // a persistent znode without data
	NodesDelete = "delete" // whatever its version; its children have to be gone
)

// nodeOps has all of them: anything else is refused.
var nodeOps = []string{NodesList, NodesCreate, NodesDelete}

// runRoot is where a run's znodes are: nothing beside that is touched.
var runRoot = regexp.MustCompile(`^/run[0-9]+(/|$)`)

// ErrNoNode and ErrNotEmpty say why a znode was left as it is.
var (
	ErrNoNode   = errors.New("there is no such znode")
	ErrNotEmpty = errors.New("the znode has children")
	ErrExists   = errors.New("the znode is there already")
)

// A NodeRequest asks for one of the operations on a znode below a run's root.
type NodeRequest struct {
	Op   string `json:"op"`
	Path string `json:"path"`
}

// A Node is a znode as its server sees it.
type Node struct {
	Path string `json:"path"`
	// Session owns it, if it is ephemeral.
	Session history.SessionID `json:"session,omitempty"`
	Czxid   int64             `json:"czxid"`
	// Children is filled in for what was asked for, by name.
	Children []Node `json:"children,omitempty"`
}

// NodeAnswer is the answer to a NodeRequest.
type NodeAnswer struct {
	Stamp
	// Node is what is there, after a list, and what was there, after a delete.
	Node Node `json:"node"`
	// Refused is why nothing was done: the text of ErrNoNode, ErrNotEmpty or ErrExists; or empty.
	Refused string `json:"refused,omitempty"`
}

// check refuses what an administrator has no business with.
func (r NodeRequest) check() error {
	switch {
	case !slices.Contains(nodeOps, r.Op):
		return fmt.Errorf("nodes: unknown operation %q (known: %v)", r.Op, nodeOps)
	case r.Path != path.Clean(r.Path) || !runRoot.MatchString(r.Path):
		return fmt.Errorf("nodes: %q is not below a run's root", r.Path)
	case r.Op != NodesList && strings.Count(r.Path, "/") < 2:
		return fmt.Errorf("nodes: %q is a run's root itself", r.Path)
	}
	return nil
}

// nodes carries out a request.
func nodes(ctx context.Context, log *slog.Logger, r NodeRequest) (NodeAnswer, error) {
	var a NodeAnswer
	if err := r.check(); err != nil {
		return a, err
	}
	err := asClient(ctx, log, func(conn *zk.Conn) error {
		switch r.Op {
		case NodesCreate:
			_, err := conn.Create(r.Path, nil, 0, zk.WorldACL(zk.PermAll))
			return err
		case NodesDelete:
			var err error
			if a.Node, err = look(conn, r.Path); err != nil {
				return err
			}
			return conn.Delete(r.Path, -1)
		}
		var err error
		if a.Node, err = look(conn, r.Path); err != nil {
			return err
		}
		names, _, err := conn.Children(r.Path)
		if err != nil {
			return err
		}
		for _, name := range names {
			child, err := look(conn, path.Join(r.Path, name))
			if errors.Is(err, zk.ErrNoNode) {
				continue // it went meanwhile
			}
			if err != nil {
				return err
			}
			a.Node.Children = append(a.Node.Children, child)
		}
		return nil
	})
	for refusal, why := range map[error]error{zk.ErrNoNode: ErrNoNode, zk.ErrNotEmpty: ErrNotEmpty, zk.ErrNodeExists: ErrExists} {
		if errors.Is(err, refusal) {
			a.Refused, err = why.Error(), nil
		}
	}
	if err != nil {
		return a, fmt.Errorf("nodes: %s %s: %w", r.Op, r.Path, err)
	}
	return a, nil
}

func look(conn *zk.Conn, p string) (Node, error) {
	exists, stat, err := conn.Exists(p)
	if err == nil && !exists {
		err = zk.ErrNoNode
	}
	if err != nil {
		return Node{}, err
	}
	return Node{Path: p, Session: history.SessionID(stat.EphemeralOwner), Czxid: stat.Czxid}, nil
}
