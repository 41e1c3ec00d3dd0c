package chaos

import (
	"context"
	"errors"
	"sync"

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// Shares counts who has a part in which harm, so that of several faults that do the same to
// one host the last one heals it. Its zero value with a clock is ready; its methods may be
// called at once.
type Shares struct {
	// Clock stamps what joins harm that is done already, and what leaves harm to others.
	Clock history.Clock

	mu    sync.Mutex
	among map[string]*shared
}

// shared is one harm to one host, and how many have a part in it. Doing and healing it
// exclude each other.
type shared struct {
	sync.Mutex
	parts int
	harm  *Harm // by whoever did it
}

func (s *Shares) of(key string) *shared {
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

// A Share is a fault that others may do to the same host at the same time.
type Share struct {
	Fault
	// Key names the harm and its host, Among is where it is counted.
	Key   string
	Among *Shares
	// Later says that the fault begins by waiting for its host to do something: meanwhile
	// others may do and heal theirs.
	Later bool
}

// Inject does the harm, or joins it.
func (s Share) Inject(ctx context.Context) (*Harm, error) {
	all := s.Among.of(s.Key)
	if s.Later {
		harm, err := s.Fault.Inject(ctx)
		if harm == nil {
			return nil, err
		}
		all.Lock()
		defer all.Unlock()
		return s.part(all, harm, harm.At), err
	}
	all.Lock()
	defer all.Unlock()
	harm, err := s.Fault.Inject(ctx)
	switch {
	case harm != nil:
		return s.part(all, harm, harm.At), err
	case all.parts > 0 && errors.Is(err, agent.ErrNoProcess):
		return s.part(all, all.harm, s.Among.Clock.Now()), nil // another has ended it already
	}
	return nil, err
}

// part is one more part of the harm. all is locked.
func (s Share) part(all *shared, harm *Harm, at int64) *Harm {
	if all.parts++; all.parts == 1 {
		all.harm = harm
	}
	left := false
	return &Harm{At: at, Hosts: harm.Hosts, Sessions: harm.Sessions, Nodes: harm.Nodes, Verify: harm.Verify, Over: harm.Over,
		Heal: func(ctx context.Context) (int64, error) {
			all.Lock()
			defer all.Unlock()
			if !left {
				left = true
				all.parts--
			}
			if all.parts > 0 {
				return s.Among.Clock.Now(), nil // the others keep it
			}
			return harm.Heal(ctx)
		},
		VerifyHealed: func(ctx context.Context) error {
			all.Lock()
			others := left && all.parts > 0
			all.Unlock()
			if others {
				return nil // they will look
			}
			return harm.VerifyHealed(ctx)
		}}
}
