package recipes

import (
	"context"
	"errors"
	"fmt"
)

// Multi executes all of the operations as one transaction, or none, and only if the hold lasts at
// the service at that moment: the transaction begins with a check that each of the hold's
// znodes exists. So what a lock protects inside ZooKeeper is safe without a token:
// no stop between the decision to write and the write, and no server that lags, lets one write who has lost
// the lock. Another's hold does not help, for the name of a hold's znode is never used again. Without
// operations it is a question whether the hold lasts, which a quorum answers.
//
// It returns for each operation the path of the znode that it created, or "". Its errors:
//
//   - ErrReleased, or wrapping ErrLockLost: the hold is over; nothing was executed. If it was the
//     service that said so, the hold's context ends too;
//   - wrapping an [*OpError], whose index is that among ops: that operation was refused; nothing
//     was executed;
//   - wrapping ErrUnguarded: holds of a NaiveMutex, whose znode's name the next holder's has too, of NoLock, and of
//     locks that are not this package's cannot be checked; nothing was executed;
//   - wrapping ErrConnectionLoss, besides ErrLockLost if the session ended meanwhile; or wrapping that of ctx: the
//     outcome is unknown. What was executed, or will be until the session is over, is executed
//     while the hold lasts at the service. Nothing here can resolve it, for only the caller
//     knows what tells his operations from others': while he holds he can read what he wrote, or
//     repeat operations with versions, which then are refused if they were executed before.
func (h *Hold) Multi(ctx context.Context, ops ...Op) ([]string, error) {
	created, err := h.guarded(ctx, ops)
	if err != nil {
		return nil, fmt.Errorf("guarded write: %w", err)
	}
	return created, nil
}

func (h *Hold) guarded(ctx context.Context, ops []Op) ([]string, error) {
	if len(h.nodes) == 0 {
		return nil, ErrUnguarded
	}
	// Only after this is it known that nothing has been sent when the session turns out to be over.
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(h.ctx, stop)()
	err := h.of.zk.Await(waiting)
	if !h.Valid() {
		return nil, context.Cause(h.ctx)
	}
	if over := h.of.Err(); over != nil {
		return nil, lost(over)
	}
	if err != nil {
		return nil, err
	}
	guards := len(h.nodes)
	all := make([]Op, 0, guards+len(ops))
	for _, node := range h.nodes {
		// Of any version, since others may set its data.
		all = append(all, Op{Kind: OpCheck, Path: node, Version: AnyVersion})
	}
	created, err := h.of.zk.Multi(ctx, append(all, ops...)...)
	op, _ := errors.AsType[*OpError](err)
	switch i := refused(err); {
	case err == nil:
		return created[guards:], nil
	case i >= guards:
		return nil, &OpError{i - guards, op.Err}
	case i >= 0 && errors.Is(err, ErrNoNode):
		gone := h.of.whyGone(h.nodes[i])
		h.lose(gone)
		return nil, lost(gone)
	case errors.Is(err, ErrSessionExpired) || errors.Is(err, ErrSessionClosed):
		return nil, fmt.Errorf("%w: %w", ErrConnectionLoss, lost(err))
	}
	return nil, err
}
