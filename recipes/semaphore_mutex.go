package recipes

import (
	"context"
)

// SemaphoreMutexConfig describes a [SemaphoreMutex]. Its fields are as in [SemaphoreConfig].
type SemaphoreMutexConfig struct {
	Session  *Session
	Path     string
	Data     []byte
	OnQueued func(ahead int)

	_ struct{} // no positional literals
}

// A SemaphoreMutex is a semaphore with one permit: an exclusive lock, fair as [Mutex] is, but not
// reentrant, and at a higher price. Clients of Apache Curator's
// InterProcessSemaphoreMutex at the same path contend for it too, which is what it is for.
type SemaphoreMutex struct {
	s *Semaphore
}

// NewSemaphoreMutex checks the configuration. It asks the service nothing.
func NewSemaphoreMutex(cfg SemaphoreMutexConfig) (*SemaphoreMutex, error) {
	if err := checkConfig("semaphore mutex", cfg.Session, cfg.Path); err != nil {
		return nil, err
	}
	data, err := ownData("semaphore mutex", cfg.Data)
	if err != nil {
		return nil, err
	}
	return &SemaphoreMutex{named("semaphore-mutex",
		SemaphoreConfig{Session: cfg.Session, Path: cfg.Path, Max: 1, Data: data, OnQueued: cfg.OnQueued})}, nil
}

// Acquire implements [Lock].
func (m *SemaphoreMutex) Acquire(ctx context.Context) (*Hold, error) { return m.s.Acquire(ctx, 1) }

func (m *SemaphoreMutex) where() site { return site{m.s.cfg.Session, m.s.cfg.Path} }

// Participants is [Semaphore.Participants]: the holder, if there is one.
func (m *SemaphoreMutex) Participants(ctx context.Context) ([]Permit, error) {
	return m.s.Participants(ctx)
}

// Contenders is [Semaphore.Contenders].
func (m *SemaphoreMutex) Contenders(ctx context.Context) ([]Participant, error) {
	return m.s.Contenders(ctx)
}
