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
	a, b, h := t.contended()
	t.identified(a)
	t.svc.disconnect(a.id)
	switch err := t.release(h); {
	case errors.Is(err, foreign.ErrBroken):
		return unexpected(err, dueReleased)
	case err != nil && !errors.Is(err, recipes.ErrLockLost):
		return note("a release that meets a broken connection ends with %q. The lock's znode stays until the session ends, "+
			"so release again until it is known to be gone", err)
	}
	t.passes(b, "the holder was disconnected, came back and released the lock")
	if !a.told(zksession.Disconnected) {
		return note("a release goes on after its connection was broken. It does not say disconnected ID and connected ID, " +
			"so a client of locklab cannot stop in between")
	}
	return ok("it says disconnected, and a release goes on after that")
}

// losesSession ends the holder's session at the servers.
func losesSession(t *trial) Result {
	a, b, h := t.contended()
	t.identified(a)
	t.expire(a)
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
	t.passes(b, "the session of its holder is over, so the lock is free")
	again := t.opened("opened ID: after expired, locklab opens the client's next session")
	t.released(t.granted(again, t.lock, dueGranted+", in the session after the one that expired"))
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
	a, b, h := t.contended()
	t.identified(b)
	w := t.wait(b, t.lock)
	defer w.cancel()
	early(w)
	t.expire(b)
	begun := time.Now()
	if !t.ended(w) {
		return wrong("the session of a client that waited was over for %v, and its acquire had no answer; due is "+
			"expired ID, or failed ID", t.cfg.patience)
	}
	if w.err == nil {
		return wrong("%v, in a session that was over", errHeldTwice)
	}
	t.released(h)
	t.passes(a, "nobody holds the lock; the client whose session is over has probably gone on waiting in another "+
		"session. Due is that an attempt ends with its session")
	return ok("its acquire ends after %.1f s", time.Since(begun).Seconds())
}
