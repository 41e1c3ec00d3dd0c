package recipes

import (
	"context"
	"time"

	"locklab/recipes/observe"
	"locklab/recipes/zksession"
)

// An observed hold is one whose end an observer will be told.
type observed struct {
	tell    func(observe.Event)
	granted observe.Event
	at      time.Time // of the grant
}

// released takes note of the end of a hold by its release, and returns what tells the observer with what result.
func (o *observed) released() func(error) {
	if o == nil {
		return func(error) {}
	}
	e := o.end(observe.Released)
	return func(err error) {
		e.Err = err
		o.tell(e)
	}
}

func (o *observed) end(k observe.Kind) observe.Event {
	e := o.granted
	e.Kind, e.Took = k, time.Since(o.at)
	return e
}

// acquire is an acquisition of the lock at path, with its events if there is an observer.
func (s *Session) acquire(recipe, path string, acquire func() (*Hold, error)) (*Hold, error) {
	begun := time.Now()
	h, err := acquire()
	if err == nil {
		s.warnUnreleased(h)
	}
	if s.observe == nil {
		return h, err
	}
	e := observe.Event{Kind: observe.Granted, Session: s.ID(), Recipe: recipe, Lock: path, Took: time.Since(begun)}
	if err != nil {
		e.Kind, e.Err = observe.Failed, err
		s.observe(e)
		return nil, err
	}
	e.Token = h.token
	h.observed = &observed{s.observe, e, time.Now()}
	s.observe(e)
	// This begins only now, so that the loss comes after the grant.
	loss := func() {
		<-h.ctx.Done()
		if cause := context.Cause(h.ctx); cause != ErrReleased {
			e := h.observed.end(observe.Lost)
			e.Err = cause
			s.observe(e)
		}
	}
	if !s.tasks.Start(loss) {
		loss() // the session is over, and the hold with it
	}
	return h, nil
}

// queued returns a lock's OnQueued that also tells the observer, if there is one.
func (s *Session) queued(recipe, path string, on func(ahead int)) func(ahead int) {
	if s.observe == nil {
		return on
	}
	return func(ahead int) {
		s.observe(observe.Event{Kind: observe.Queued, Session: s.ID(), Recipe: recipe, Lock: path, Ahead: ahead})
		if on != nil {
			on(ahead)
		}
	}
}

// observeStates returns an OnState that tells an observer, and then calls next, if set.
func observeStates(observer func(observe.Event), next func(zksession.StateChange)) func(zksession.StateChange) {
	var since time.Time // when the session was disconnected
	return func(c zksession.StateChange) {
		e := observe.Event{Session: c.Session, Server: c.Server, Err: c.Err}
		switch c.State {
		case zksession.Connected:
			e.Kind = observe.Connected
			if !since.IsZero() {
				e.Took = time.Since(since)
			}
		case zksession.Disconnected:
			e.Kind, since = observe.Disconnected, time.Now()
		default:
			e.Kind = observe.Ended
		}
		observer(e)
		if next != nil {
			next(c)
		}
	}
}
