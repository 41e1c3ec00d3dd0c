package recipes

import "context"

// MutexConfig describes a [Mutex].
type MutexConfig struct {
	Session *Session
	// Path is the lock's directory, whose children are its queue. It is created if
	// it does not exist.
	Path string
	// Data is what the contenders' znodes contain, for people that inspect the service. It is copied.
	Data []byte
	// OnQueued, if set, is called by Acquire once it has its place in the queue, with the number of contenders ahead
	// of it. It is called again if the attempt starts over because its znode was deleted by another client. This
	// attempt waits for OnQueued; the queue does not.
	OnQueued func(ahead int)

	_ struct{} // no positional literals
}

// A Mutex is a fair exclusive lock: contenders queue by the order in which the service
// created their znodes. It is reentrant by [Hold.Reenter]. Clients of Apache Curator's
// InterProcessMutex at the same path take part in the same queue.
type Mutex struct {
	line line
}

// NewMutex checks the configuration. It asks the service nothing.
func NewMutex(cfg MutexConfig) (*Mutex, error) {
	if err := checkConfig("mutex", cfg.Session, cfg.Path); err != nil {
		return nil, err
	}
	var err error
	if cfg.Data, err = ownData("mutex", cfg.Data); err != nil {
		return nil, err
	}
	cfg.OnQueued = cfg.Session.queued(mutexName, cfg.Path, cfg.OnQueued)
	return newMutex(cfg), nil
}

// mutexName is the name that a session's observer hears.
const mutexName = "mutex"

func newMutex(cfg MutexConfig) *Mutex {
	return &Mutex{
		line{
			s:        cfg.Session,
			recipe:   mutexName,
			dir:      cfg.Path,
			data:     cfg.Data,
			onQueued: cfg.OnQueued,
			layout:   mutexLayout,
			blocks:   everybody,
			alone:    true,
			succeeds: true,
		},
	}
}

// Acquire implements [Lock]; prefer [Do], which releases whatever becomes of the work. If somebody else deletes the
// attempt's znode while it waits, the attempt starts over at the end of the queue, as long as the session lives.
func (m *Mutex) Acquire(ctx context.Context) (*Hold, error) { return m.line.Acquire(ctx) }

func (m *Mutex) where() site { return m.line.where() }

// Participants returns every contender in the queue, the holder first. It costs one request, and one more for each
// contender, so the result does not show a single moment.
func (m *Mutex) Participants(ctx context.Context) ([]Participant, error) {
	return m.line.participants(ctx, func(contender) bool { return true })
}
