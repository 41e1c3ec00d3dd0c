package chaos

import (
	"context"
	"errors"
	"fmt"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// DeleteNode deletes a contender's own znode under it, as an administrator does who tidies up, or a
// program that takes it for its own. Nobody tells the contender but its watch, if it has one.
type DeleteNode struct {
	Ensemble *ensembles.Ensemble
	// Lock is the lock's path.
	Lock string
	// Session is whose znode goes; 0 = that of the contender who has been there longest, who holds
	// an exclusive lock.
	Session history.SessionID
	// Owner names the host whose session it is; nil = nobody knows.
	Owner func(history.SessionID) string
}

// Inject waits until there is such a znode, and deletes it. There is nothing to heal.
func (d DeleteNode) Inject(ctx context.Context) (*Harm, error) {
	var node agent.Node
	var at int64
	err := ensembles.Poll(ctx, pollEvery, "a contender's znode at "+d.Lock, func() error {
		all, err := ephemerals(ctx, d.Ensemble, d.Lock)
		if err != nil {
			return err
		}
		if node, err = d.choose(all); err != nil {
			return err
		}
		answer, err := administer(context.WithoutCancel(ctx), d.Ensemble, agent.NodesDelete, node.Path)
		if err == nil && (answer.Refused != "" || answer.Node.Czxid != node.Czxid) {
			err = errors.New("it went meanwhile")
		}
		at = answer.At
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("delete znode: %w", err)
	}
	return &Harm{At: at, Hosts: ownerName(d.Owner, node.Session), Sessions: []history.SessionID{node.Session}, Nodes: []string{node.Path},
		Verify:       func(ctx context.Context) error { return gone(ctx, d.Ensemble, node) },
		VerifyHealed: d.Ensemble.AwaitReady}, nil
}

// choose picks the znode that is to go.
func (d DeleteNode) choose(all []agent.Node) (agent.Node, error) {
	var first agent.Node
	for _, n := range all {
		if (d.Session == 0 || n.Session == d.Session) && (first.Path == "" || n.Czxid < first.Czxid) {
			first = n
		}
	}
	if first.Path == "" {
		return first, fmt.Errorf("%w: there is none", ErrNobody)
	}
	return first, nil
}
