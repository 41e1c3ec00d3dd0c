package recipes

import (
	"context"
	"errors"
	"fmt"

	"locklab/recipes/zksession"
)

// Multi executes all of the operations as one transaction, or none, and only if the hold lasts at
// the service at that moment: the transaction begins with a check that each of the hold's
// znodes exists. So what a lock protects inside ZooKeeper is safe without a token:
// neither a stop between the decision and the write nor a lagging server lets a client write that has lost
// the lock. Another client's hold does not help it, because the name of a hold's znode is never used again. Without
// operations, Multi only asks a quorum whether the hold lasts.
//
// It returns for each operation the path of the znode that it created, or "". Its errors:
//
//   - ErrReleased, or wrapping ErrLockLost: the hold is over; nothing was executed. If it was the
//     service that said so, the hold's context ends too;
//   - wrapping an [*zksession.OpError], whose index is that among ops: that operation was refused; nothing
//     was executed;
//   - wrapping ErrUnguarded: holds of a NaiveMutex, whose znode's name the next holder's has too, of NoLock, and of
//     locks that do not belong to this package cannot be checked; nothing was executed;
//   - wrapping ErrConnectionLoss, besides ErrLockLost if the session ended meanwhile; or wrapping that of ctx: the
//     outcome is unknown. The service may have executed the transaction, or may still do so until the session is over,
//     but only while the hold lasts there. Hold cannot find that out, because only the caller
//     knows how its operations differ from others': while it holds, it can read what it wrote, or
//     repeat operations with versions, which the service refuses if it has executed them before.
func (h *Hold) Multi(ctx context.Context, ops ...zksession.Op) ([]string, error) {
	created, err := h.guarded(ctx, ops)
	if err != nil {
		return nil, fmt.Errorf("guarded write: %w", err)
	}
	return created, nil
}

func (h *Hold) guarded(ctx context.Context, ops []zksession.Op) ([]string, error) {
	if len(h.nodes) == 0 {
		return nil, ErrUnguarded
	}
	// Only after this is it known that no request has been sent if the session turns out to be over.
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
	all := make([]zksession.Op, 0, guards+len(ops))
	for _, node := range h.nodes {
		// It matches any version, because other clients may set the data.
		all = append(all, zksession.Op{Kind: zksession.OpCheck, Path: node, Version: zksession.AnyVersion})
	}
	created, err := h.of.zk.Multi(ctx, append(all, ops...)...)
	op, _ := errors.AsType[*zksession.OpError](err)
	switch i := refused(err); {
	case err == nil:
		return created[guards:], nil
	case i >= 0 && errors.Is(err, zksession.ErrSessionExpired):
		return nil, lost(op.Err) // this is the answer to the transaction, so none of it was executed
	case i >= guards:
		return nil, &zksession.OpError{Index: i - guards, Err: op.Err}
	case i >= 0 && errors.Is(err, zksession.ErrNoNode):
		gone := h.of.whyGone(h.nodes[i])
		h.lose(gone)
		return nil, lost(gone)
	case i >= 0:
		return nil, fmt.Errorf("check %s: %w", h.nodes[i], op.Err)
	case errors.Is(err, zksession.ErrSessionExpired) || errors.Is(err, zksession.ErrSessionClosed) ||
		errors.Is(err, zksession.ErrAuthFailed):
		return nil, fmt.Errorf("%w: %w", zksession.ErrConnectionLoss, lost(err))
	}
	return nil, err
}

// refused returns which operation of a transaction was the reason for its refusal, or -1 if
// none was.
func refused(err error) int {
	if op, ok := errors.AsType[*zksession.OpError](err); ok {
		return op.Index
	}
	return -1
}
