package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// An administrator makes requests about znodes. It asks the server that answered last before all others: one that has
// lost its leader, and does not know it yet, takes seconds to fail. It belongs to one goroutine.
type administrator struct{ servers []*ensembles.Host }

func newAdministrator(e *ensembles.Ensemble) *administrator {
	return &administrator{slices.Clone(e.Servers)}
}

// administer is one request of an administrator.
func administer(ctx context.Context, e *ensembles.Ensemble, op, path string) (agent.NodeAnswer, error) {
	return newAdministrator(e).do(ctx, op, path)
}

// do makes a request through a server that is up. It does not ask a server that is stopped, because such a server
// accepts a connection and never answers on it.
func (a *administrator) do(ctx context.Context, op, path string) (agent.NodeAnswer, error) {
	var errs []error
	for i, h := range a.servers {
		answer, err := administerAt(ctx, h, agent.NodeRequest{Op: op, Path: path})
		if err == nil {
			a.servers[0], a.servers[i] = h, a.servers[0]
			return answer, nil
		}
		if ctx.Err() != nil {
			return agent.NodeAnswer{}, err
		}
		errs = append(errs, err)
	}
	return agent.NodeAnswer{}, errors.Join(errs...)
}

// administerSoon repeats administer until some server has carried out the request, which must be one that may be done
// twice. At times no server serves, because the servers are electing a leader.
func administerSoon(ctx context.Context, e *ensembles.Ensemble,
	op, path string) (answer agent.NodeAnswer, err error) {
	err = ensembles.Poll(ctx, pollEvery, "a server that serves", func() (err error) {
		answer, err = administer(ctx, e, op, path)
		return err
	})
	return answer, err
}

// listCap is how long one server may take to list znodes before another is asked, because a server that has lost its
// leader may not know it yet. Requests that change something have more time.
const listCap = 2 * time.Second

func administerAt(ctx context.Context, h *ensembles.Host, r agent.NodeRequest) (agent.NodeAnswer, error) {
	limit := commandCap
	if r.Op == agent.NodesList {
		limit = listCap
	}
	once, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	st, err := h.Agent.Status(once)
	if err == nil && (st.State == history.ProcessStopped || st.State == history.ProcessExited) {
		err = fmt.Errorf("%s is %s", h.Name, st.State)
	}
	if err != nil {
		return agent.NodeAnswer{}, err
	}
	return h.Agent.Nodes(once, r)
}

// ephemerals lists the ephemeral znodes at a lock's path, below it, and below its own directories. The contenders of
// every recipe are there.
func ephemerals(ctx context.Context, a *administrator, lock string) ([]agent.Node, error) {
	var found []agent.Node
	var look func(path string, depth int) error
	look = func(path string, depth int) error {
		answer, err := a.do(ctx, agent.NodesList, path)
		if err != nil || answer.Refused != "" {
			return err
		}
		if answer.Node.Session != 0 {
			found = append(found, answer.Node)
		}
		for _, child := range answer.Node.Children {
			if child.Session != 0 {
				found = append(found, child)
			} else if depth > 0 {
				if err := look(child.Path, depth-1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := look(lock, 1)
	return found, err
}

// gone returns an error if the znode that was created by that transaction is still there. Another znode of the same
// name does not count.
func gone(ctx context.Context, e *ensembles.Ensemble, n agent.Node) error {
	answer, err := administerSoon(ctx, e, agent.NodesList, n.Path)
	if err == nil && answer.Refused == "" && answer.Node.Czxid == n.Czxid {
		err = fmt.Errorf("%s is still there", n.Path)
	}
	return err
}
