package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"locklab/ensembles/agent"
	"locklab/harness/history"
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

// shares counts how many faults take part in the same harm to a host, so that the last of them heals it. Its zero
// value is ready to use, and its methods may be called concurrently.
type shares struct {
	mu    sync.Mutex
	among map[string]*shared
}

// shared is one harm to one host, and the number of faults that take part in it. Doing it and healing it exclude each
// other.
type shared struct {
	sync.Mutex
	parts int
	harm  *Harm // of the fault that did it
}

func (s *shares) of(key string) *shared {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.among == nil {
		s.among = map[string]*shared{}
	}
	if s.among[key] == nil {
		s.among[key] = &shared{}
	}
	return s.among[key]
}

// A sharedFault is a fault that several faults of its kind may inject into the same host at the same time.
type sharedFault struct {
	Injector
	// key names the fault and its host. among is where the faults in force are counted.
	key   string
	among *shares
	// clock stamps a fault that joins harm that is already done, and a fault that leaves its harm to others.
	clock history.Clock
	// later says that the fault begins by waiting for its host to do something. Meanwhile, others may inject and heal
	// theirs.
	later bool
}

// Inject does the harm, or joins harm that is already done.
func (s sharedFault) Inject(ctx context.Context) (*Harm, error) {
	all := s.among.of(s.key)
	if !s.later {
		all.Lock()
		defer all.Unlock()
	}
	harm, err := s.Injector.Inject(ctx)
	if s.later {
		all.Lock()
		defer all.Unlock()
	}
	switch {
	case harm != nil:
		return s.part(all, harm, harm.At), err
	case !s.later && all.parts > 0 && errors.Is(err, agent.ErrNoProcess):
		return s.part(all, all.harm, s.clock.Now()), nil // another has ended it already
	}
	return nil, err
}

// part adds one more fault to the harm. The caller has locked all.
func (s sharedFault) part(all *shared, harm *Harm, at int64) *Harm {
	if all.parts++; all.parts == 1 {
		all.harm = harm
	}
	left := false
	one := *harm
	one.At = at
	one.Heal = func(ctx context.Context) (int64, error) {
		all.Lock()
		defer all.Unlock()
		if !left {
			left = true
			all.parts--
		}
		if all.parts > 0 {
			return s.clock.Now(), nil // the others keep it
		}
		return harm.Heal(ctx)
	}
	one.VerifyHealed = func(ctx context.Context) error {
		all.Lock()
		others := left && all.parts > 0
		all.Unlock()
		if others {
			return nil // they will look
		}
		return harm.VerifyHealed(ctx)
	}
	return &one
}
