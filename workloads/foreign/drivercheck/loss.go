package drivercheck

import (
	"errors"
	"time"

	"locklab/recipes"
	"locklab/recipes/zksession"
	"locklab/workloads/foreign"
)

// losesConnection breaks the holder's connection. Its session goes on, so its hold may, too.
func losesConnection(t *trial) Result {
	a, b, err := t.two()
	if err != nil {
		return unexpected(err, "opened ID, for two clients")
	}
	if a.id == 0 {
		return skipped("it does not say the ID of its session")
	}
	h, err := t.acquire(a, t.lock, "")
	if err != nil {
		return unexpected(err, dueGranted)
	}
	t.svc.disconnect(a.id)
	switch err := t.release(h); {
	case errors.Is(err, foreign.ErrBroken):
		return unexpected(err, dueReleased)
	case err != nil && !errors.Is(err, recipes.ErrLockLost):
		return note("a release that meets a broken connection ends with %q. The lock's znode stays until the session ends, "+
			"so release again until it is known to be gone", err)
	}
	if bad := t.passes(b, func(err error) Result {
		return wrong("%v: the holder was disconnected, came back and released the lock", err)
	}); bad != nil {
		return *bad
	}
	if !a.told(zksession.Disconnected) {
		return note("a release goes on after its connection was broken. It does not say disconnected ID and connected ID, " +
			"so a client of locklab cannot stop in between")
	}
	return ok("it says disconnected, and a release goes on after that")
}

// losesSession ends the holder's session at the servers.
func losesSession(t *trial) Result {
	a, b, err := t.two()
	if err != nil {
		return unexpected(err, "opened ID, for two clients")
	}
	if a.id == 0 {
		return skipped("it does not say the ID of its session")
	}
	h, err := t.acquire(a, t.lock, "")
	if err != nil {
		return unexpected(err, dueGranted)
	}
	if bad := t.expire(a); bad != nil {
		return *bad
	}
	ctx, cancel := t.within()
	defer cancel()
	untold := false
	select {
	case <-h.Context().Done():
	case <-ctx.Done():
		untold = true
	}
	if untold {
		if err := t.release(h); err == nil {
			return wrong("its session was over for %v: it said neither expired nor lost, and answered released to a release; "+
				"due is expired ID as soon as it knows, and lost ID to a release", t.cfg.patience)
		}
	}
	if bad := t.passes(b, func(err error) Result {
		return wrong("%v: the session of its holder is over, so the lock is free", err)
	}); bad != nil {
		return *bad
	}
	again, err := t.open()
	if err != nil {
		return unexpected(err, "opened ID: after expired, locklab opens the client's next session")
	}
	if bad := t.passes(again, func(err error) Result {
		return unexpected(err, dueGranted+", in the session after the one that expired")
	}); bad != nil {
		return *bad
	}
	switch {
	case untold:
		return note("it says that its session is over only when the hold is released. Say expired ID as soon as the " +
			"library tells it, or clients write for longer than they have to")
	case !a.told(zksession.Expired):
		return note("it says that the hold is lost, but not expired ID, so its client goes on asking in the old session")
	}
	return ok("it says expired, and the lock goes to the next client")
}

// losesSessionWaiting ends the session of a client that waits. Nothing may be granted to it any more.
func losesSessionWaiting(t *trial) Result {
	a, b, err := t.two()
	if err != nil {
		return unexpected(err, "opened ID, for two clients")
	}
	if b.id == 0 {
		return skipped("it does not say the ID of its session")
	}
	h, err := t.acquire(a, t.lock, "")
	if err != nil {
		return unexpected(err, dueGranted)
	}
	w := t.wait(b, t.lock)
	defer w.cancel()
	if bad := early(w); bad != nil {
		return *bad
	}
	if bad := t.expire(b); bad != nil {
		return *bad
	}
	begun := time.Now()
	if !t.ended(w) {
		return wrong("the session of a client that waited was over for %v, and its acquire had no answer; due is "+
			"expired ID, or failed ID", t.cfg.patience)
	}
	if w.err == nil {
		return wrong("%v, in a session that was over", errHeldTwice)
	}
	if err := t.release(h); err != nil {
		return unexpected(err, dueReleased)
	}
	if bad := t.passes(a, func(err error) Result {
		return wrong("%v: nobody holds the lock; the client whose session is over has probably gone on waiting in another "+
			"session. Due is that an attempt ends with its session", err)
	}); bad != nil {
		return *bad
	}
	return ok("its acquire ends after %.1f s", time.Since(begun).Seconds())
}
