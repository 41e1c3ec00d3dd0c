package recipes

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"
)

// revokeData is what the znode of a participant contains once it was asked to leave. These are
// Curator's bytes, so that its clients and ours can ask each other.
const revokeData = "__REVOKE__"

// isRevocation reports whether a znode with this data was asked to leave. Nothing more than
// those bytes counts, nor does Curator count more.
func isRevocation(data []byte) bool { return string(data) == revokeData }

// checkData refuses data that would say of every contender that it was asked to leave.
func checkData(recipe string, data []byte) error {
	if isRevocation(data) {
		return fmt.Errorf("%s: the data %s is what revokes a lock", recipe, revokeData)
	}
	return nil
}

// Revoked returns a channel that is closed once somebody has asked for this hold's release:
// by [Session.Revoke], or by Curator's Revoker. It is a request and no more: the hold goes on until
// it is released or lost. Somebody who was asked while it still queued finds the channel of its
// hold closed from the start. Nothing is asked of the service to know it: the watch and the reads are those
// by which the hold learns of its znode's deletion.
//
// The channel says what the data was when it was read, and it is read first before the hold is
// granted, and again after each change. So one request among several may go unnoticed, if other data is
// written over it before it was read, but not the last. The channel is never closed for
// recipes whose znode is not the hold's alone or that do not say which it is: [NaiveMutex], [NoLock], [ZKLock].
func (h *Hold) Revoked() <-chan struct{} { return h.revoked.Done() }

// noteData takes notice of what the hold's znode contains.
func (h *Hold) noteData(data []byte) {
	if isRevocation(data) {
		h.revoke()
	}
}

// revocable are the layouts of those who look at their data.
var revocable = []layout{mutexLayout, rwLayout, textbookLayout, leaseLayout}

// Revoke asks a participant in a lock's queue, or a holder of a semaphore's permits, to leave; whose
// znode is at node: see [Participant].Path and [Permit].Path. It replaces the znode's data, costs one
// request, and does not wait for anything to come of it: only a client that looks at it leaves, as ours
// do that heed [Hold.Revoked]. It returns nil also if the participant is gone already. It refuses
// with ErrInvalidPath what cannot be a participant by its name, since its data
// would be lost.
func (s *Session) Revoke(ctx context.Context, node string) error {
	if err := checkPath(node); err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	if !slices.ContainsFunc(revocable, func(l layout) bool { _, ok := l.parse(path.Base(node)); return ok }) {
		return fmt.Errorf("revoke: %w %q: not a participant's", ErrInvalidPath, node)
	}
	// To repeat it does no harm: whoever was asked twice was asked, and nobody else will ever have that name.
	_, err := settled(ctx, func(ctx context.Context) ([]string, error) {
		return s.zk.Multi(ctx, Op{Kind: OpSet, Path: node, Data: []byte(revokeData), Version: AnyVersion})
	})
	if err != nil && !errors.Is(err, ErrNoNode) {
		return fmt.Errorf("revoke %s: %w", node, err)
	}
	return nil
}

// Evict is Revoke for those who do not leave when asked: it waits until the participant is gone,
// at the longest for grace, and then deletes its znode. It reports whether it came to that. The hold of whom it was
// ends with ErrLockLost as soon as its client hears of it, and until then two may believe that they hold: what
// the first still does is for the resource to refuse, by the token. One that only waited queues again.
//
// Requests: 2 (the revocation, and a read with a watch), and the delete; and a read for each change of the data.
// If ctx ends first its error is returned, and the participant, though asked, may stay.
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
		case errors.Is(err, ErrNoNode):
			return false, nil
		case errors.Is(err, ErrConnectionLoss):
			continue // waits until we are connected again
		case err != nil:
			return false, err
		}
		select {
		case e := <-w.C:
			if e == Unwatched {
				return false, s.Err()
			}
			continue // changed or gone: the next look tells
		case <-ctx.Done():
			w.stop()
			return false, ended(ctx)
		case <-over.C:
			w.stop()
		}
		unanswered := false
		_, err = settled(ctx, func(ctx context.Context) (none struct{}, err error) {
			err = s.zk.Delete(ctx, node)
			unanswered = unanswered || errors.Is(err, ErrConnectionLoss)
			return none, err
		})
		if errors.Is(err, ErrNoNode) {
			return unanswered, nil // after a lost reply it was most likely us
		}
		return err == nil, err
	}
}
