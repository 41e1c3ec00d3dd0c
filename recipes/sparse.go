package recipes

import (
	"context"
	"errors"
	"slices"
	"sync"

	"locklab/recipes/zksession"
)

// A sparse is what a line with sparse lists knows about its queue: the contender that came last when it was last
// listed. It may be used by many attempts at once.
//
// A list of a long queue is the most expensive request, for the service and for the client. A waiter makes two: one to
// find the contender to wait for, and one when that has gone. In a long queue these rules make it one, and now and then
// two. Both are for contenders that hold alone ([behindAll]).
//
// The hint. A contender that came before ours blocks it for as long as it is there. So an attempt that knows one from
// an earlier list need not list anything until that one has gone. Nothing is concluded from its going: the list comes
// then, when the place is near the head.
//
// The rest. Let a list show our znode n and before it the contenders P. When all of P have gone, and n is read after
// that, owned by our session, all in one connection, then n holds. Why: no contender comes in before n later, because
// numbers only rise while the directory exists, which it does while n does; the names of P are never used again, so the
// event of a deletion and the answer that there is no such znode are final; and on one connection a read shows a state
// no older than the events before it, so at the instant of that read n was there and all before it had gone: it was
// eligible. Without that read the conclusion would not hold: n may have been deleted before the last of P. After a
// reconnect it would not hold either, since the new server may be behind the event, so then the list is made after all.
//
// The rule takes for granted that no client makes up a number lower than the counter's. One that does gets in beside a
// holder under any rule. A downgrade does so in the directory of a read/write lock, which is why this is for mutexes.
type sparse struct {
	long int // the length of a queue whose list is worth saving
	mu   sync.Mutex
	last contender // empty name: none
}

const (
	// longQueue is the length from which a list costs more than the requests that replace it.
	longQueue = 200
	// nearHead is how many contenders may be ahead of us for us to wait for them one by one.
	nearHead = 4
)

// saw remembers the last contender of a list, unless that is our own.
func (s *sparse) saw(l layout, children []string, own string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = contender{}
	if len(children) <= s.long {
		return
	}
	queue := l.queue(children)
	if end := len(queue) - 1; end >= s.long && queue[end].name != own {
		s.last = queue[end]
	}
}

// hint returns a contender that is known to have come before me.
func (s *sparse) hint(me contender) (name string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.name, s.last.name != "" && !s.last.exhausted() && s.last.seq < me.seq
}

// near returns the rest of the queue before me if it is to be waited for one by one.
func (s *sparse) near(l layout, children []string, me contender) (before []contender, near bool) {
	if s == nil || len(children) <= s.long {
		return nil, false
	}
	queue := l.queue(children)
	own := slices.Index(queue, me)
	if len(queue) <= s.long || own > nearHead {
		return nil, false
	}
	return queue[:own], true
}

// hinted reports whether an attempt will follow a hint, and so needs no list when it begins.
func (l *line) hinted() bool {
	if l.sparse == nil || l.try || l.onQueued != nil { // these need the list
		return false
	}
	l.sparse.mu.Lock()
	defer l.sparse.mu.Unlock()
	return l.sparse.last.name != ""
}

// follow waits until the contender that came before us according to the last list has gone, if one is known.
func (p *place) follow(ctx context.Context, me contender) error {
	l := p.line
	if p.children != nil || !l.hinted() {
		return nil
	}
	name, ok := l.sparse.hint(me)
	if !ok {
		return nil
	}
	own := p.readOwn(ctx)
	w, err := p.watch(ctx, name)
	if ownErr := <-own; ownErr != nil || p.stat.Owner != l.s.ID() {
		w.stop()
		return nil // the next look finds out, and knows what to do
	}
	switch {
	case errors.Is(err, zksession.ErrNoNode), errors.Is(err, zksession.ErrConnectionLoss):
		return nil
	case err != nil:
		return err
	}
	_, err = p.wait(ctx, w)
	return err
}

// outlast waits until all the contenders before us have gone, of a list made on the
// connection that again tells the end of, and reports whether the place holds. If it does not and there
// is no error, the queue has to be looked at again.
func (p *place) outlast(ctx context.Context, before []contender, again <-chan struct{}) (bool, error) {
	// When the last but one has gone, those before it most likely have: they are asked for
	// while the last one holds.
	n := len(before)
	for i := range before {
		c := before[i]
		if i < n-1 {
			c = before[(i+n-2)%(n-1)]
		}
		if gone, err := p.outlive(ctx, c.name); !gone {
			return false, err
		}
	}
	data, stat, err := p.line.s.zk.Get(ctx, p.path())
	switch {
	case errors.Is(err, zksession.ErrConnectionLoss):
		return false, nil
	case errors.Is(err, zksession.ErrNoNode), err == nil && (stat.Owner != p.line.s.ID() || stat.Czxid != p.stat.Czxid):
		return false, errNodeGone
	case err != nil:
		return false, err
	}
	p.revoked = p.revoked || isRevocation(data)
	select {
	case <-again:
		return false, nil
	default:
		return true, nil
	}
}

// outlive waits until a contender has gone. If it cannot tell and there is no error, the queue has to be looked at
// again.
func (p *place) outlive(ctx context.Context, name string) (gone bool, err error) {
	for {
		w, err := p.watch(ctx, name)
		switch {
		case errors.Is(err, zksession.ErrNoNode):
			return true, nil
		case errors.Is(err, zksession.ErrConnectionLoss):
			return false, nil
		case err != nil:
			return false, err
		}
		e, fired, err := p.event(ctx, w)
		switch {
		case !fired:
			return false, err
		case e == zksession.Deleted:
			return true, nil
		case e == zksession.Unwatched:
			return false, p.line.s.Err()
		}
	}
}
