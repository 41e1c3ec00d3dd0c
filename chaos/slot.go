package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Slots knows what is done to that of a host which there is one of, such as its process: harm of one kind would end
// that of another, or could not be told from it. Scenarios that plan so are refused; what is late for its plan, because
// nobody led or held a lock, is only known to be so when it strikes. Its zero value is ready; its methods may be called
// at once.
type Slots struct {
	mu    sync.Mutex
	taken map[string]*taken
}

// taken is the kind of harm that has a slot, and how many faults do it.
type taken struct {
	kind   string
	faults int
}

// take takes all of the slots for a kind of harm, or none. An error wraps [ErrNobody].
func (s *Slots) take(kind string, shared bool, keys []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		if t := s.taken[k]; t != nil && (t.kind != kind || !shared) {
			return fmt.Errorf("%w: a %s has the %s, and a %s cannot be done beside it", ErrNobody, t.kind, k, kind)
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
func (s *Slots) leave(keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		if s.taken[k].faults--; s.taken[k].faults == 0 {
			delete(s.taken, k)
		}
	}
}

// A Slotted is a fault that does no harm where harm of another kind has the slot, so that what is recorded to be in
// force until it is healed is.
type Slotted struct {
	Fault
	// Kind is the fault's, Keys name its slots, each with its host, and Among is where they are taken.
	Kind  string
	Keys  []string
	Among *Slots
	// Shared says that several of its kind may have them.
	Shared bool
	// Later says that the fault begins by waiting for its host to do something: it needs its slots from then on.
	Later bool
}

// Inject does the harm in its slots, which it leaves when it is healed.
func (s Slotted) Inject(ctx context.Context) (*Harm, error) {
	if s.Later {
		harm, err := s.Fault.Inject(ctx)
		if harm == nil || harm.Heal == nil {
			return harm, err // there is nothing that could be ended
		}
		if terr := s.Among.take(s.Kind, s.Shared, s.Keys); terr != nil {
			return undone(ctx, harm, errors.Join(err, terr))
		}
		return s.leaving(harm), err
	}
	if err := s.Among.take(s.Kind, s.Shared, s.Keys); err != nil {
		return nil, err
	}
	harm, err := s.Fault.Inject(ctx)
	if harm == nil || harm.Heal == nil {
		s.Among.leave(s.Keys)
		return harm, err
	}
	return s.leaving(harm), err
}

// undone heals harm that must not be, and returns what is left of it.
func undone(ctx context.Context, harm *Harm, err error) (*Harm, error) {
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), healCap)
	defer cancel()
	if _, herr := harm.Heal(clean); herr != nil {
		return harm, errors.Join(err, herr) // the caller tries again
	}
	return nil, err
}

// leaving has harm leave its slots once it is healed.
func (s Slotted) leaving(harm *Harm) *Harm {
	h := *harm
	leave := sync.OnceFunc(func() { s.Among.leave(s.Keys) })
	h.Heal = func(ctx context.Context) (int64, error) {
		at, err := harm.Heal(ctx)
		if err == nil {
			leave()
		}
		return at, err
	}
	return &h
}
