package chaos

import (
	"context"
	"errors"
	"sync"

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

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
