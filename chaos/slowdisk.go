package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// SlowDisk keeps a server from writing its transaction log, as a disk whose fsync does not come back does.
// The server goes on reading, answering and pinging; what it has not logged it does not acknowledge. With
// a majority of such servers nothing is committed until the leader drops them for it.
type SlowDisk struct {
	// ID names it on the host, so that other faults' stalls stay.
	ID       string
	Host     *ensembles.Host
	Ensemble *ensembles.Ensemble
}

// syncs is how often a server has synced its log (mntr).
const syncs = "zk_cnt_fsynctime"

// Inject holds the server's disk. A server that has no leader writes nothing to it, so there is nobody to hit.
func (s SlowDisk) Inject(ctx context.Context) (*Harm, error) {
	if _, err := s.count(ctx); errors.Is(err, errNotServing) {
		return nil, fmt.Errorf("slow disk of %s: %w: %w", s.Host.Name, ErrNobody, err)
	}
	stall := func(ctx context.Context) (agent.Stamp, error) { return s.Host.Agent.Stall(ctx, s.ID) }
	at, err := tell(ctx, stall, s.heal)
	if err != nil {
		return nil, unsupported(fmt.Errorf("slow disk of %s: %w", s.Host.Name, err))
	}
	return &Harm{At: at, Hosts: []string{s.Host.Name}, Verify: s.verify, Heal: s.heal, VerifyHealed: s.verifyHealed}, nil
}

// unsupported turns an agent's word that it cannot do a thing into ours.
func unsupported(err error) error {
	if errors.Is(err, agent.ErrUnsupported) {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}

func (s SlowDisk) heal(ctx context.Context) (int64, error) {
	st, err := s.Host.Agent.Unstall(ctx, s.ID)
	return st.At, err
}

// lookCap is how long a write may take to reach a server's log, in which it is milliseconds.
const lookCap = 500 * time.Millisecond

// held reports whether the agent holds the disk for this fault.
func (s SlowDisk) held(ctx context.Context) (bool, error) {
	st, err := s.Host.Agent.Status(ctx)
	return slices.Contains(st.Stalls, s.ID), err
}

// verify writes something to the ensemble, which every server but this one logs. A log that is not synced
// proves nothing by itself: a server that has been cut off has nothing to sync.
//
// It looks again after a sync, as long as it may: a leader drops a server that has not acknowledged for longer than
// the sync limit (a second with the shortest ticks), and that one joins anew with another thread to
// sync its log, which does so a few times before it is held too.
func (s SlowDisk) verify(ctx context.Context) error {
	if held, err := s.held(ctx); err != nil {
		return err
	} else if !held {
		return fmt.Errorf("the disk of %s is not held for %s", s.Host.Name, s.ID)
	}
	return ensembles.Poll(ctx, pollEvery, s.Host.Name+" to sync its log no more", func() error {
		err := s.logs(ctx)
		if errors.Is(err, errNoSync) {
			return nil
		}
		return cmp.Or(err, errSync)
	})
}

// verifyHealed waits until the server syncs its log and is one of its ensemble. A sync alone tells
// nothing while the disk is held, as above.
func (s SlowDisk) verifyHealed(ctx context.Context) error {
	if held, err := s.held(ctx); err != nil {
		return err
	} else if held {
		return fmt.Errorf("the disk of %s is held for %s", s.Host.Name, s.ID)
	}
	if err := ensembles.Poll(ctx, pollEvery, s.Host.Name+" to sync its log again", func() error { return s.logs(ctx) }); err != nil {
		return err
	}
	return s.Ensemble.AwaitReady(ctx)
}

// errSync says that a server syncs its log though its disk is held.
var errSync = errors.New("the log was synced")

// errNotServing says that a server has no leader.
var errNotServing = errors.New("the server does not serve")

// errNoSync says that a server has synced nothing though there was something to sync.
var errNoSync = errors.New("the log was not synced")

// logs reports whether the server syncs its log: a write is begun through another server, or through
// itself if there is none, and what the counter says then is the effect.
func (s SlowDisk) logs(ctx context.Context) error {
	before, err := s.count(ctx)
	if err != nil {
		return err
	}
	via := s.Host
	for _, h := range s.Ensemble.Servers {
		if h != s.Host {
			via = h
		}
	}
	once, cancel := context.WithTimeout(ctx, lookCap)
	defer cancel()
	begun := make(chan error, 1)
	go func() { begun <- via.Agent.CommitWrite(once) }()
	after := before
	// The last look is heard out: what it says is the verdict, and not that time was up in the middle of it.
	err = ensembles.Poll(once, pollEvery, "the log of "+s.Host.Name, func() error {
		var err error
		if after, err = s.count(ctx); err == nil && after <= before {
			err = errNoSync
		}
		return err
	})
	werr := <-begun
	if errors.Is(err, errNoSync) && werr != nil && !errors.Is(werr, context.DeadlineExceeded) {
		return fmt.Errorf("there was nothing to sync: %w", werr)
	}
	return err
}

// count asks the server how often it has synced.
func (s SlowDisk) count(ctx context.Context) (float64, error) {
	answer, err := s.Host.Agent.Ask(ctx, "mntr")
	if err != nil {
		return 0, err
	}
	metrics := ensembles.ParseMetrics(answer)
	if len(metrics) == 0 { // a server without a leader has no numbers to tell
		return 0, fmt.Errorf("%w: %s answers mntr with %q", errNotServing, s.Host.Name, strings.TrimSpace(answer))
	}
	n, ok := metrics[syncs]
	if !ok {
		return 0, fmt.Errorf("%w: %s does not count its syncs (mntr has no %s)", ErrUnsupported, s.Host.Name, syncs)
	}
	return n, nil
}
