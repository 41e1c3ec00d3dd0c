package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// slots tracks which exclusive resource of a host, such as its process, a fault occupies. A fault of one kind would
// end a fault of another kind on the same resource, or could not be told from it. Scenarios that plan such faults are
// refused. A fault that strikes later than planned, because there was no leader or no holder, can be refused only
// when it strikes. The zero value is ready to use, and the methods may be called concurrently.
type slots struct {
	mu    sync.Mutex
	taken map[string]*taken
}

// taken is the kind of fault that occupies a slot, and how many faults of it do.
type taken struct {
	kind   string
	faults int
}

// take takes all of the slots for a kind of fault, or none of them. Its error wraps [ErrNobody].
func (s *slots) take(kind string, shared bool, keys []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		if t := s.taken[k]; t != nil && (t.kind != kind || !shared) {
			return fmt.Errorf("%w: a %s occupies the %s, so a %s cannot be done at the same time", ErrNobody, t.kind, k, kind)
		}
	}
	if s.taken == nil {
		s.taken = map[string]*taken{}
	}
	for _, k := range keys {
		if s.taken[k] == nil {
			s.taken[k] = &taken{kind: kind}
		}
		s.taken[k].faults++
	}
	return nil
}

// leave undoes take.
func (s *slots) leave(keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		if s.taken[k].faults--; s.taken[k].faults == 0 {
			delete(s.taken, k)
		}
	}
}

// A slotted is a fault that does no harm if a fault of another kind occupies its slot. A fault that the history has
// as in force until it is healed is therefore really in force.
type slotted struct {
	Injector
	// kind is the kind of fault. keys name its slots, each with its host. among is where the slots are taken.
	kind  string
	keys  []string
	among *slots
	// shared says that several faults of the kind may occupy the slots together.
	shared bool
	// later says that the fault begins by waiting for its host to do something. It needs its slots only from then on.
	later bool
}

// Inject does the harm in its slots, and leaves them when the harm is healed.
func (s slotted) Inject(ctx context.Context) (*Harm, error) {
	if !s.later {
		if err := s.among.take(s.kind, s.shared, s.keys); err != nil {
			return nil, err
		}
	}
	harm, err := s.Injector.Inject(ctx)
	lasts := harm != nil && harm.Heal != nil
	switch {
	case s.later && lasts:
		if terr := s.among.take(s.kind, s.shared, s.keys); terr != nil {
			return harm.withdraw(ctx, errors.Join(err, terr))
		}
	case !s.later && !lasts:
		s.among.leave(s.keys)
	}
	if !lasts {
		return harm, err
	}
	return harm.whenHealed(func() { s.among.leave(s.keys) }), err
}
