package serve

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

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// nodeOps lists all operations.
var nodeOps = []string{agent.NodesList, agent.NodesCreate, agent.NodesDelete}

// runRoot matches the paths of a run's znodes, below the lab's root. No other znode is touched.
var runRoot = regexp.MustCompile(`^/run[0-9]+(/|$)`)

// checkNodes returns an error for any request that is not about a run's znodes.
func (u upstream) checkNodes(r agent.NodeRequest) error {
	below, inRoot := strings.CutPrefix(r.Path, u.root)
	switch {
	case !slices.Contains(nodeOps, r.Op):
		return fmt.Errorf("nodes: unknown operation %q (known: %v)", r.Op, nodeOps)
	case r.Path != path.Clean(r.Path) || !inRoot || !runRoot.MatchString(below):
		return fmt.Errorf("nodes: %q is not below a run's root", r.Path)
	case r.Op != agent.NodesList && strings.Count(below, "/") < 2:
		return fmt.Errorf("nodes: %q is a run's root", r.Path)
	}
	return nil
}

// nodes carries out a request.
func (u upstream) nodes(ctx context.Context, log *slog.Logger, r agent.NodeRequest) (agent.NodeAnswer, error) {
	var a agent.NodeAnswer
	if err := u.checkNodes(r); err != nil {
		return a, err
	}
	err := u.asClient(ctx, log, func(conn *zk.Conn) (err error) {
		if r.Op == agent.NodesCreate {
			_, err = conn.Create(r.Path, nil, 0, u.acl())
			return err
		}
		if a.Node, err = look(conn, r.Path); err != nil {
			return err
		}
		if r.Op == agent.NodesDelete {
			return conn.Delete(r.Path, -1)
		}
		names, _, err := conn.Children(r.Path)
		if err != nil {
			return err
		}
		for _, name := range names {
			child, err := look(conn, path.Join(r.Path, name))
			if errors.Is(err, zk.ErrNoNode) {
				continue // it was deleted meanwhile
			}
			if err != nil {
				return err
			}
			a.Node.Children = append(a.Node.Children, child)
		}
		return nil
	})
	for refusal, why := range map[error]error{
		zk.ErrNoNode: agent.ErrNoNode, zk.ErrNotEmpty: agent.ErrNotEmpty, zk.ErrNodeExists: agent.ErrExists,
	} {
		if errors.Is(err, refusal) {
			a.Refused, err = why.Error(), nil
		}
	}
	if err != nil {
		return a, fmt.Errorf("nodes: %s %s: %w", r.Op, r.Path, err)
	}
	return a, nil
}

func look(conn *zk.Conn, p string) (agent.Node, error) {
	exists, stat, err := conn.Exists(p)
	if err == nil && !exists {
		err = zk.ErrNoNode
	}
	if err != nil {
		return agent.Node{}, err
	}
	return agent.Node{Path: p, Session: history.SessionID(stat.EphemeralOwner), Czxid: stat.Czxid}, nil
}
