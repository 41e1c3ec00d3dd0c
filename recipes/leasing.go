package recipes

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
)

// A leasing is one attempt to get leases, from a place at the head of the queue.
type leasing struct {
	s        *Semaphore
	n        int
	prefix   string // the prefix of all leases of this attempt; never used again
	place    *place
	reported bool
	mixed    bool   // some leases have no slot
	seen     *stock // as it was after we became the head, if we know that from it; used once
	count    Count  // the number of permits by which the leases were created, if it is shared
	slots    []int
}

// report calls OnQueued, once.
func (a *leasing) report(ahead int) {
	if !a.reported && a.s.cfg.OnQueued != nil {
		a.s.cfg.OnQueued(ahead)
	}
	a.reported = true
}

// A stock is how many permits a semaphore has, and which leases are in use.
type stock struct {
	max    int
	count  Count // set if the number is shared
	leases []lease
}

func (k stock) has(n int) bool { return len(k.leases)+n <= k.max }

// errChanged says that the semaphore has changed since it was read.
var errChanged = errors.New("changed meanwhile")

// await waits until there are n permits and returns the names of their leases.
//
// There are never more leases than permits (unless their number was lowered), and no two leases with one slot. Leases
// are created only by a transaction that also deletes a znode which was at the head of the queue, and the list of
// leases that it relies on was read after that znode was seen there. Up to that point the leases of all contenders that
// were at the head before are in the list, because a session's reads never go back in time, and the transactions that
// created those leases also deleted their znodes. From that point to the transaction no other contender can create a
// lease. So in between leases can only have gone. (Curator's clients create theirs while they hold the head, and delete
// them before they leave it if they must not keep them: the same is true of them.) For [leasing.headed] the list that
// shows a predecessor's lease is such a list.
func (a *leasing) await(ctx context.Context) ([]string, error) {
	for missing := 0; ; {
		k, err := a.first(ctx)
		if err == nil && !k.has(a.n) {
			a.report(1)
			if a.place.line.try {
				return nil, ErrNotAcquired
			}
			k, err = a.wait(ctx)
		}
		switch {
		case errors.Is(err, zksession.ErrConnectionLoss) || errors.Is(err, errChanged):
			continue // nothing but reads so far, which wait until we are connected again
		case err != nil:
			return nil, err
		}
		a.report(0)
		leases, err := a.take(ctx, k)
		if errors.Is(err, zksession.ErrNoNode) && missing < reaps {
			missing++
			err = ensureDir(ctx, a.s.cfg.Session.zk, a.s.leases())
			if err == nil {
				continue
			}
			return nil, fmt.Errorf("create %s: %w", a.s.leases(), err)
		}
		if errors.Is(err, errChanged) {
			continue
		}
		return leases, err
	}
}

// headed reports whether the contender of that name was the head of the queue when it went, and keeps the stock that
// shows it: among the leases is one that was got from its place.
//
// That lease was created by the transaction that deleted the place, which was the head then. So from then on we, who
// came right after it, are the head, until our own znode goes; and our own transaction finds out whether that is still
// there, since it deletes it. The leases of all before us were created by then, and since the list shows the last of
// these, it shows all that are left of them, however late the server is. This saves the list of the queue, which is the
// longer one.
func (a *leasing) headed(ctx context.Context, gone string) bool {
	prefix, ours := leasesOf(gone)
	if !ours {
		return false
	}
	k, err := a.look(ctx)
	if err != nil || !slices.ContainsFunc(k.leases, func(l lease) bool { return strings.HasPrefix(l.name, prefix) }) {
		return false // an error there is, the queue's list finds out
	}
	a.seen = &k
	return true
}

// first returns the stock that was seen when we became the head, or else looks at it.
func (a *leasing) first(ctx context.Context) (stock, error) {
	if k := a.seen; k != nil {
		a.seen = nil
		return *k, nil
	}
	return a.look(ctx)
}

func (a *leasing) look(ctx context.Context) (k stock, err error) {
	k.max = a.s.cfg.Max
	counted := make(chan error, 1)
	if a.s.cfg.Count == nil {
		counted <- nil
	} else {
		go func() { // waited for below
			v, err := a.s.cfg.Count.get(ctx)
			k.max, k.count = int(v.Value), v
			counted <- err
		}()
	}
	names, err := a.s.cfg.Session.zk.Children(ctx, a.s.leases())
	if countErr := <-counted; countErr != nil {
		return stock{}, countErr
	}
	if err != nil && !errors.Is(err, zksession.ErrNoNode) { // without the directory no lease is in use
		return stock{}, err
	}
	k.leases = parseLeases(names)
	return k, nil
}

// wait waits for a change of the stock, or of our place in the queue. It returns the stock if enough permits are free
// by now, or errChanged. Only the head of the queue watches the leases, so the return of a permit wakes only one
// waiter.
func (a *leasing) wait(ctx context.Context) (k stock, err error) {
	s := a.s.cfg.Session
	k.max = a.s.cfg.Max
	var resized <-chan zksession.Event
	if c := a.s.cfg.Count; c != nil {
		v, w, err := c.watch(ctx)
		if err != nil {
			return stock{}, err
		}
		defer w.stop()
		k.max, k.count, resized = int(v.Value), v, w.C
	}
	own := a.place.readOwn(ctx) // whoever waits here waits for long
	names, returned, err := s.hub.list(ctx, a.s.leases())
	if ownErr := <-own; ownErr != nil {
		returned.stop()
		return stock{}, ownErr
	}
	if errors.Is(err, zksession.ErrNoNode) {
		// There is no directory to watch, so create it: it is empty, and we wait for the count.
		if err := ensureDir(ctx, s.zk, a.s.leases()); err != nil {
			return stock{}, err
		}
		return stock{}, errChanged
	}
	if err != nil {
		return stock{}, err
	}
	defer returned.stop()
	k.leases = parseLeases(names)
	if k.has(a.n) {
		return k, nil
	}
	select {
	case <-returned.C:
	case <-resized:
	case <-a.place.own.events():
		a.place.ownChanged()
		if err := a.place.await(ctx); err != nil {
			return stock{}, err
		}
	case <-s.Done():
		return stock{}, s.Err()
	case <-ctx.Done():
		return stock{}, tasks.Ended(ctx)
	}
	return stock{}, errChanged
}

// take creates the leases and returns their names. When ctx ends it returns at once; what
// becomes of the request is then the session's business.
func (a *leasing) take(ctx context.Context, k stock) ([]string, error) {
	s := a.s.cfg.Session
	a.slots, a.count = freeSlots(k.leases, a.n), k.count
	a.mixed = slices.ContainsFunc(k.leases, func(l lease) bool { return l.slot == noSlot })
	return owned(ctx, s,
		func(ctx context.Context) ([]string, error) { return a.transact(ctx, k) },
		func(names []string) { s.janitor.removeAll(a.paths(names)) })
}

// transact creates the leases by one transaction, which also gives our place in the queue
// to the next, so that there is no moment at which a failure could leave one without
// the other. If the outcome is unknown and stays so, it leaves the leases to the janitor.
func (a *leasing) transact(ctx context.Context, k stock) (names []string, err error) {
	s := a.s.cfg.Session
	ops := []zksession.Op{{Kind: zksession.OpDelete, Path: a.place.path(), Version: zksession.AnyVersion}}
	if c := a.s.cfg.Count; c != nil {
		if k.count.Version == zksession.AnyVersion {
			return nil, fmt.Errorf("the version of %s has wrapped around to -1, which matches any version", c.cfg.Path)
		}
		ops = append(ops, zksession.Op{Kind: zksession.OpCheck, Path: c.cfg.Path, Version: k.count.Version})
	}
	creates := len(ops)
	for _, slot := range a.slots {
		ops = append(
			ops,
			zksession.Op{
				Kind: zksession.OpCreate,
				Path: path.Join(a.s.leases(), leaseName(a.place.name, slot)),
				Data: a.s.cfg.Data,
				Mode: zksession.EphemeralSequential,
			},
		)
	}
	if err := s.zk.Await(ctx); err != nil {
		return nil, err
	}
	// The request itself is not given up: a sweep must not overtake it.
	created, err := s.zk.Multi(context.WithoutCancel(ctx), ops...)
	if errors.Is(err, zksession.ErrConnectionLoss) {
		return a.find(ctx)
	}
	switch i := refused(err); {
	case i == 0 && errors.Is(err, zksession.ErrNoNode):
		return nil, errNodeGone // our place was deleted
	case i > 0 && i < creates && (errors.Is(err, zksession.ErrBadVersion) || errors.Is(err, zksession.ErrNoNode)):
		return nil, errChanged
	case errors.Is(err, zksession.ErrTooLarge):
		return nil, fmt.Errorf("%w: %d at once: %w", ErrQuantity, a.n, err)
	case err != nil:
		return nil, err
	}
	for _, node := range created[creates:] {
		names = append(names, path.Base(node))
	}
	return names, nil
}

// find returns the leases that an unanswered transaction has made: all of them, or if it
// made none and never will, errChanged. Why never: see [creator.find].
func (a *leasing) find(ctx context.Context) ([]string, error) {
	s := a.s.cfg.Session
	children, err := settled(ctx, func(ctx context.Context) ([]string, error) {
		if err := s.zk.Sync(ctx, a.s.leases()); err != nil {
			return nil, err
		}
		return s.zk.Children(ctx, a.s.leases())
	})
	if errors.Is(err, zksession.ErrNoNode) {
		return nil, errChanged
	}
	if err != nil {
		s.janitor.sweep(a.s.leases(), a.prefix)
		return nil, err
	}
	var names []string
	for _, name := range children {
		if strings.HasPrefix(name, a.prefix) {
			names = append(names, name)
		}
	}
	switch len(names) {
	case 0:
		return nil, errChanged
	case a.n:
		return names, nil
	}
	s.janitor.removeAll(a.paths(names)) // an administrator has deleted the others
	return nil, errNodeGone
}

func (a *leasing) paths(names []string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = path.Join(a.s.leases(), name)
	}
	return paths
}

// grant makes the hold of leases that we have created. It reads and watches every one, all at
// once: a hold is granted iff each was there after our session created it, and the session
// is not over after that.
//
// A shared number of permits is read with them. The transaction required its version, which says that it had not been
// set since we read it, unless its znode was deleted and created again, because the versions then start again. No
// transaction can ask which znode it is. But if a read behind the transaction shows the same one as the read before it,
// it was the same all the time, since a znode that was deleted never comes back. Otherwise the leases are returned, and
// nothing is granted by a number that may not have been the present one.
func (a *leasing) grant(ctx context.Context, names []string) (*Hold, error) {
	s, leases := a.s.cfg.Session, a.paths(names)
	type look struct {
		data []byte
		stat zksession.Stat
		w    *waiter
		err  error
	}
	looks := make([]look, len(leases))
	var countErr error
	var wg sync.WaitGroup
	if c := a.s.cfg.Count; c != nil {
		wg.Go(func() { countErr = a.sameCount(ctx, c) })
	}
	for i, node := range leases {
		wg.Go(func() {
			l := &looks[i]
			l.data, l.stat, l.w, l.err = s.watchOwn(ctx, node)
		})
	}
	wg.Wait()
	err := countErr
	for _, l := range looks {
		if err == nil {
			err = l.err
		}
	}
	if err == nil {
		err = s.mayHold()
	}
	if err != nil {
		for _, l := range looks {
			l.w.stop()
		}
		s.janitor.removeAll(leases)
		if errors.Is(err, zksession.ErrNoNode) {
			err = errNodeGone
		}
		return nil, err
	}
	h := s.newHold(a.s.key(), looks[0].stat.Czxid, func(ctx context.Context) error {
		return s.confirm(ctx, s.janitor.removeAll(leases))
	})
	h.path, h.nodes = leases[0], leases
	h.under = claimed(ctx, a.s.key()) // a semaphore adds up the permits of them all
	if !a.mixed {
		h.slots = a.slots
	}
	for i, l := range looks {
		h.noteData(l.data)
		s.guard(h, leases[i], l.stat.Czxid, l.w)
	}
	return h, nil
}

// sameCount returns errNodeGone if the shared number of permits is another znode than the one by which the leases were
// created.
func (a *leasing) sameCount(ctx context.Context, c *SharedCount) error {
	now, err := settled(ctx, c.read)
	if errors.Is(err, zksession.ErrNoNode) || err == nil && now.created != a.count.created {
		return errNodeGone
	}
	return err
}
