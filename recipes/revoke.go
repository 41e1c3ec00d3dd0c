package recipes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
)

// revokeData is what the znode of a participant contains once it was asked to leave. These are
// Curator's bytes, so that its clients and ours can ask each other.
const revokeData = "__REVOKE__"

// isRevocation reports whether a znode with this data was asked to leave. Only exactly those bytes count, as in
// Curator.
func isRevocation(data []byte) bool { return string(data) == revokeData }

// ownData returns a copy of the data for a recipe's znodes, which the caller cannot change. It refuses data that would
// make every contender look as if it was asked to leave.
func ownData(recipe string, data []byte) ([]byte, error) {
	if isRevocation(data) {
		return nil, fmt.Errorf("%s: the data %s is reserved, because it revokes a lock", recipe, revokeData)
	}
	return bytes.Clone(data), nil
}

// Revoked returns a channel that is closed once another client has asked for this hold's release, by [Session.Revoke]
// or by Curator's Revoker. That is only a request: the hold goes on until it is released or lost. If a client was
// asked while it still queued, the channel of its hold is closed from the start. It costs no further requests,
// because the hold learns of it by the same watch and reads by which it learns that its znode was deleted.
//
// The channel reflects the data as it was read: first before the hold is granted, and again after each change. So one
// request among several may go unnoticed, if other data is written over it before it is read, but not the last one.
// The channel is never closed for recipes whose znode is not the hold's alone or that do not say which znode it is:
// [NaiveMutex], [NoLock], [ZKLock].
func (h *Hold) Revoked() <-chan struct{} { return h.revoked.Done() }

// noteData notes whether the data of the hold's znode is a revocation.
func (h *Hold) noteData(data []byte) {
	if isRevocation(data) {
		h.revoke()
	}
}

// revocable are the layouts of the recipes that read the data of their own znodes.
var revocable = []layout{mutexLayout, latchLayout, rwLayout, textbookLayout, leaseLayout}

// Revoke asks a participant in a lock's queue, or a holder of a semaphore's permits, to leave. Its znode is at node:
// see [Participant].Path and [Permit].Path. Revoke replaces the znode's data, costs one request, and does not wait
// for any effect: only a client that reads its data leaves, such as a client of ours that obeys [Hold.Revoked]. It
// returns nil also if the participant is already gone. It refuses with ErrInvalidPath a znode whose name shows that
// it is not a participant, because the znode's data would be lost.
func (s *Session) Revoke(ctx context.Context, node string) error {
	if err := checkPath(node); err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	if !slices.ContainsFunc(revocable, func(l layout) bool { _, ok := l.parse(path.Base(node)); return ok }) {
		return fmt.Errorf("revoke: %w %q: not a participant's", ErrInvalidPath, node)
	}
	// Repeating it is safe: asking a participant twice changes nothing, and no other znode will ever have that name.
	_, err := settled(ctx, func(ctx context.Context) ([]string, error) {
		return s.zk.Multi(
			ctx,
			zksession.Op{Kind: zksession.OpSet, Path: node, Data: []byte(revokeData), Version: zksession.AnyVersion},
		)
	})
	if err != nil && !errors.Is(err, zksession.ErrNoNode) {
		return fmt.Errorf("revoke %s: %w", node, err)
	}
	return nil
}

// Evict is Revoke for participants that do not leave when asked: it waits until the participant is gone, but no longer
// than grace, and then deletes its znode. It reports whether it deleted the znode. The participant's hold ends with
// ErrLockLost as soon as its client hears of it, and until then two clients may believe that they hold the lock: the
// resource must refuse what the first still does, by the token. A participant that only waited queues again.
//
// Requests: 2 (the revocation, and a read with a watch), and the delete; and a read for each change of the data. If ctx
// ends first its error is returned, and the participant, though asked, may stay.
func (s *Session) Evict(ctx context.Context, node string, grace time.Duration) (forced bool, err error) {
	if err := s.Revoke(ctx, node); err != nil {
		return false, err
	}
	forced, err = s.evict(ctx, node, grace)
	if err != nil {
		return false, fmt.Errorf("evict %s: %w", node, err)
	}
	return forced, nil
}

func (s *Session) evict(ctx context.Context, node string, grace time.Duration) (forced bool, err error) {
	over := time.NewTimer(grace)
	defer over.Stop()
	for {
		_, _, w, err := s.hub.get(ctx, node)
		switch {
		case errors.Is(err, zksession.ErrNoNode):
			return false, nil
		case errors.Is(err, zksession.ErrConnectionLoss):
			continue // waits until we are connected again
		case err != nil:
			return false, err
		}
		select {
		case e := <-w.C:
			if e == zksession.Unwatched {
				return false, s.Err()
			}
			continue // changed or gone: the next read shows which
		case <-ctx.Done():
			w.stop()
			return false, tasks.Ended(ctx)
		case <-over.C:
			w.stop()
		}
		unanswered := false
		_, err = settled(ctx, func(ctx context.Context) (none struct{}, err error) {
			err = s.zk.Delete(ctx, node)
			unanswered = unanswered || errors.Is(err, zksession.ErrConnectionLoss)
			return none, err
		})
		if errors.Is(err, zksession.ErrNoNode) {
			return unanswered, nil // after a lost reply it was most likely us
		}
		return err == nil, err
	}
}
