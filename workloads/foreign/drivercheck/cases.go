package drivercheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/recipes"
	"locklab/workloads/foreign"
)

// What an open, an acquire and a release have to be answered with.
const (
	dueTwo      = "opened ID, for two clients"
	dueGranted  = "granted ID"
	dueTimeout  = "timeout ID, once WAIT_MS has passed"
	dueReleased = "released ID, or lost ID if the session was over"
)

// opens asks for the greeting and for one session.
func opens(t *trial) Result {
	c := t.opened("opened ID SESSION, once it is connected to SERVERS")
	sessions := t.svc.sessions()
	switch {
	case t.elsewhere && c.id == 0:
		return note("it made no session at the servers that it was told, and says none. So its lock is tried by the " +
			"protocol alone, and a run of locklab cannot say why two of its clients overlap")
	case t.elsewhere:
		return wrong("it says session %#x, but made none at SERVERS (%s), which an open names", uint64(c.id),
			strings.Join(t.svc.addrs(), ","))
	case c.id == 0:
		return note("it does not say the ID of its session. Say it (opened ID 0x10000344a280000): without it, the " +
			"servers' logs cannot explain an overlap, and verdicts are unknown")
	case !slices.Contains(sessions, c.id):
		return wrong("it says session %#x, but the one that it made is %#x", uint64(c.id), uint64(sessions[0]))
	}
	layout := "no layout, so grants are not compared with the servers' logs"
	if l := t.driver.Layout(); l != "" {
		layout = "layout " + string(l)
	}
	return ok("session %#x, %s", uint64(c.id), layout)
}

// acquires asks for a lock whose parents are missing, twice, and looks at tokens and znodes.
func acquires(t *trial) Result {
	c := t.opened("opened ID")
	t.settleMode(c)
	var tokens []int64
	for range 2 {
		h := t.granted(c, t.lock, dueGranted+": the lock is free, and its command makes the parents that are missing")
		tokens = append(tokens, h.Token())
		t.misplaced(c, h)
		t.released(h)
		t.gone()
	}
	switch {
	case tokens[0] == 0 || tokens[1] == 0:
		return note("granted and released; no fencing token. With one (granted ID TOKEN), a resource can refuse " +
			"outdated clients, and runs with --guard fencing are possible")
	case tokens[1] <= tokens[0]:
		return wrong("the token of the second grant, %d, is not above that of the first, %d; due are tokens that rise",
			tokens[1], tokens[0])
	}
	return ok("granted and released, with rising tokens (%d, %d)", tokens[0], tokens[1])
}

// misplaced ends the case if a hold's session, or the znode that the layout promises, is wrong.
func (t *trial) misplaced(c *client, h *recipes.Hold) {
	if t.elsewhere {
		return
	}
	if id := h.Session(); id != 0 && !slices.Contains(t.svc.sessions(), id) {
		stop(wrong("it granted the lock to session %#x, which the service does not have", uint64(id)))
	}
	layout := t.driver.Layout()
	if layout == "" {
		return
	}
	owners := t.contenders(t.lock)
	switch {
	case len(owners) == 0:
		children := "has no children"
		if _, names, found := t.svc.node(t.ctx, t.lock); !found {
			children = "does not exist"
		} else if len(names) > 0 {
			children = "has " + strings.Join(names, ", ")
		}
		stop(wrong("its greeting declares layout=%s, but the holder has no znode by that layout: %s %s. Declare "+
			"what it makes, or nothing", layout, t.lock, children))
	case c.id != 0 && !slices.Contains(owners, c.id):
		stop(wrong("the znode of its hold belongs to session %#x, and the command said %#x", uint64(owners[0]),
			uint64(c.id)))
	}
}

// excludes asks for a lock that another client holds.
func excludes(t *trial) Result {
	_, b, h := t.contended()
	begun := time.Now()
	due(t.refused(b, t.lock, ""), dueTimeout)
	took := time.Since(begun)
	t.released(h)
	t.released(t.granted(b, t.lock, dueGranted+": the holder released the lock"))
	if late := took - shortly; late > atOnce {
		return note("the second client waits, but gives up %.1f s after its WAIT_MS, when it was cancelled",
			late.Seconds())
	}
	return ok("the second client waits, and gives up after its WAIT_MS")
}

// handsOver lets a client wait until the holder releases.
func handsOver(t *trial) Result {
	_, b, h := t.contended()
	w := t.wait(b, t.lock)
	defer w.cancel()
	early(w)
	t.released(h)
	if !t.ended(w) {
		return wrong("the client that waited was not granted the lock within %v of its release", t.cfg.patience)
	}
	due(w.err, dueGranted)
	t.released(w.hold)
	return ok("the client that waits gets the lock that is released")
}

// early ends the case if an acquire ended although it has to wait without a limit.
func early(w *waiter) {
	select {
	case <-w.held:
	default:
		return
	}
	if w.err == nil {
		stop(wrong("%v", errHeldTwice))
	}
	stop(unexpected(w.err, "no answer yet: WAIT_MS is -, so it waits"))
}

// cancels gives an acquire up, and looks whether its place in the queue goes with it.
func cancels(t *trial) Result {
	a, b, h := t.contended()
	w := t.wait(b, t.lock)
	defer w.cancel()
	early(w)
	w.cancel()
	<-w.held
	switch {
	case w.err == nil:
		return wrong("%v", errHeldTwice)
	case !errors.Is(w.err, context.Canceled) || errors.Is(w.err, foreign.ErrBroken):
		return unexpected(w.err, "timeout ID, for the acquire that was cancelled")
	}
	t.released(h)
	t.passes(a, "nobody holds the lock; the attempt that was cancelled is probably still in the queue. Due is "+
		"that a cancel takes its znode away")
	return ok("an acquire that is cancelled ends, and nobody waits for it")
}

// tries sends a WAIT_MS of 0.
func tries(t *trial) Result {
	a, b := t.two()
	try := func(c *client) (*recipes.Hold, error) {
		ctx, cancel := t.within()
		defer cancel()
		return c.Lock(foreign.LockConfig{Paths: []string{t.lock}, Mode: t.mode, Try: true}).Acquire(ctx)
	}
	h, err := try(a)
	switch {
	case errors.Is(err, recipes.ErrNotAcquired), errors.Is(err, context.DeadlineExceeded):
		return wrong("a try (WAIT_MS 0) of a lock that nobody holds was answered timeout; due is granted, or failed with a " +
			"reason if the lock can only wait")
	case errors.Is(err, foreign.ErrBroken):
		return unexpected(err, dueGranted)
	case err != nil:
		return note("it can only wait: a try (WAIT_MS 0, which --try sends) fails with %q", err)
	}
	begun := time.Now()
	other, err := try(b)
	took := time.Since(begun)
	switch {
	case err == nil:
		_ = t.release(other)
		return wrong("%v", errHeldTwice)
	case !errors.Is(err, recipes.ErrNotAcquired):
		return unexpected(err, "timeout ID at once: the lock is held, and a try may not wait")
	case took > atOnce:
		return wrong("a try (WAIT_MS 0) of a lock that is held was answered after %.1f s; due is timeout at once",
			took.Seconds())
	}
	t.released(h)
	t.passes(a, "nobody holds the lock; the try that was refused is probably still in the queue")
	return ok("a try takes a free lock, and does not wait for one that is held")
}

// twoLocks asks for two locks, which do not exclude each other.
func twoLocks(t *trial) Result {
	a, b := t.two()
	one := t.granted(a, t.lock, dueGranted)
	two := t.granted(b, t.other, dueGranted+": another client holds a lock of another PATH, which does not matter")
	for _, h := range []*recipes.Hold{one, two} {
		t.released(h)
	}
	return ok("locks of two paths do not exclude each other")
}

// closes closes the session of a holder.
func closes(t *trial) Result {
	a, b, _ := t.contended()
	begun := time.Now()
	due(t.close(a), "closed ID")
	took := time.Since(begun)
	t.passes(b, "the session of its holder was closed, and closed means that its locks are free")
	if took > 3*time.Second {
		return note("closed frees the lock, but the close and the exit after end took %.1f s; a command that does not exit "+
			"within 3 s is killed", took.Seconds())
	}
	return ok("closing the session of the holder frees its lock")
}

// pings looks whether a command that promises answers gives them while a client waits.
func pings(t *trial) Result {
	a, b := t.two()
	if !t.driver.Pings() {
		return skipped("it declares no pings. With them, a standstill of its process (a collection of garbage) is not " +
			"held against its lock")
	}
	h := t.granted(a, t.lock, dueGranted)
	w := t.wait(b, t.lock)
	defer func() { w.cancel(); <-w.held }()
	ctx, cancel := t.within()
	defer cancel()
	for range 3 {
		select {
		case took := <-t.pongs:
			if took > atOnce {
				return wrong("it answered a ping after %.1f s while a client waited; due is pong at once", took.Seconds())
			}
		case <-ctx.Done():
			return wrong("it declares pings, and did not answer one while a client waited; due is pong at once")
		}
	}
	t.released(h)
	return ok("pings are answered while a client waits")
}

// modes says which modes the command has, and whether they exclude each other as they must.
func modes(t *trial) Result {
	a, b := t.two()
	has := []string{cmp.Or(t.mode, foreign.Exclusive)}
	for _, kind := range []struct{ name, path, first, second, third string }{
		{"read and write", t.lock, foreign.Read, foreign.Read, foreign.Write},
		{"permits", t.other, foreign.Permits(1, 2), foreign.Permits(1, 2), foreign.Permits(1, 2)},
	} {
		first, err := t.acquire(a, kind.path, kind.first)
		if errors.Is(err, foreign.ErrBroken) || errors.Is(err, context.DeadlineExceeded) {
			return unexpected(err, fmt.Sprintf("granted or failed ID, for MODE %s", kind.first))
		}
		if err != nil {
			continue // it says that it cannot
		}
		second, err := t.acquire(b, kind.path, kind.second)
		due(err, fmt.Sprintf("granted, since %s and %s exclude nobody, or failed for a MODE that the lock does not have",
			kind.first, kind.second))
		switch err := t.refused(a, kind.path, kind.third); {
		case errors.Is(err, errHeldTwice):
			return wrong("%s was granted beside %s and %s", kind.third, kind.first, kind.second)
		case err != nil:
			return unexpected(err, dueTimeout)
		}
		for _, h := range []*recipes.Hold{first, second} {
			t.released(h)
		}
		has = append(has, kind.name)
	}
	return ok("it has the modes %s", strings.Join(has, ", "))
}
