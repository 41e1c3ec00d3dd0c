package chaos

import (
	"context"
	"errors"
	"fmt"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

func deleteNodeKind() Kind {
	return Kind{
		Name: "delete-node", Family: FamilyZnode, Targets: OnClient, Momentary: true,
		Nature:   evidence.FaultNature{Cause: evidence.CauseAdministrator, DeletesZnodes: true},
		Does:     "an administrator deletes the client's own znode of the first lock, as soon as the client has one",
		Verified: "the znode is gone",
		Examples: []string{"target: c1"},
		injector: onEach(func(r *Run, i injection, h *ensembles.Host) (Injector, error) {
			session := func() history.SessionID { return r.Sessions.SessionOf(i.clientOf(h)) }
			return deleteNode{ensemble: r.Ensemble, lock: r.Lock, session: session, host: h}, nil
		}),
	}
}

// deleteNode deletes a contender's own znode. An administrator who tidies up does this, and so does a program that
// mistakes the znode for its own. The contender learns of it only from its watch, if it has one.
type deleteNode struct {
	ensemble *ensembles.Ensemble
	// lock is the lock's path.
	lock string
	// session returns the session that owns the znode to delete: that of a client, which may get another one meanwhile.
	// host is where the client runs.
	session func() history.SessionID
	host    *ensembles.Host
}

// Inject waits until there is such a znode, and deletes it. There is nothing to heal. Its error wraps [ErrNobody],
// because it only gives up if there was no znode for as long as it may wait.
func (d deleteNode) Inject(ctx context.Context) (*Harm, error) {
	var node agent.Node
	var at int64
	admin := newAdministrator(d.ensemble)
	err := ensembles.Poll(ctx, pollEvery, "a contender's znode at "+d.lock, func() error {
		all, err := ephemerals(ctx, admin, d.lock)
		if err != nil {
			return err
		}
		if node, err = d.choose(all); err != nil {
			return err
		}
		answer, err := admin.do(context.WithoutCancel(ctx), agent.NodesDelete, node.Path)
		if err == nil && (answer.Refused != "" || answer.Node.Czxid != node.Czxid) {
			err = errors.New("it went meanwhile")
		}
		at = answer.At
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	return &Harm{
		At:           at,
		Hosts:        []string{d.host.Name},
		Sessions:     []history.SessionID{node.Session},
		Nodes:        []string{node.Path},
		Verify:       func(ctx context.Context) error { return gone(ctx, d.ensemble, node) },
		VerifyHealed: d.ensemble.AwaitReady,
	}, nil
}

// choose picks the znode to delete: the oldest one of the session.
func (d deleteNode) choose(all []agent.Node) (agent.Node, error) {
	var first agent.Node
	owner := d.session()
	for _, n := range all {
		if n.Session == owner && (first.Path == "" || n.Czxid < first.Czxid) {
			first = n
		}
	}
	if first.Path == "" {
		return first, errors.New("there is none")
	}
	return first, nil
}
