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
	"locklab/harness/check/evidence"
)

func slowDiskKind() Kind {
	return Kind{
		Name: "slow-disk", Family: FamilyStorage, Targets: OnServer | OnAll,
		Outage: true, Slot: slotProcess, Capability: agent.CapPtrace,
		Nature: evidence.FaultNature{SilencesLeader: true},
		Does: "a server's fsync does not return; ptrace holds the one thread that writes the server's log, and " +
			"all other threads run",
		Verified: "the server does not sync a write that is made meanwhile, or has been dropped by its leader and " +
			"waits for that thread; after healing, it syncs, and the ensemble is whole",
		Examples: []string{"target: zk1"},
		injector: onEach(func(r *Run, i injection, h *ensembles.Host) (Injector, error) {
			return slowDisk{id: i.id, host: h, ensemble: r.Ensemble}, nil
		}),
	}
}

// slowDisk keeps a server from writing its transaction log, like a disk whose fsync does not return. The server
// still reads, answers and pings, but it does not acknowledge what it has not logged. If a majority of servers has
// such a disk, nothing is committed until the leader drops them.
type slowDisk struct {
	// id names the fault on the host, so that healing leaves the stalls of other faults alone.
	id       string
	host     *ensembles.Host
	ensemble *ensembles.Ensemble
}

// syncs is the counter of a server's log syncs, as mntr names it.
const syncs = "zk_cnt_fsynctime"

// Inject holds the server's disk. A server without a leader writes nothing to its disk, so it cannot be a target.
func (s slowDisk) Inject(ctx context.Context) (*Harm, error) {
	if _, err := s.count(ctx); errors.Is(err, errNotServing) {
		return nil, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	stall := func(ctx context.Context) (agent.Stamp, error) { return s.host.Agent.Stall(ctx, s.id) }
	at, err := carryOut(ctx, stall, s.heal)
	if err != nil {
		return nil, err
	}
	return &Harm{At: at, Hosts: []string{s.host.Name}, Verify: s.verify, Heal: s.heal,
		VerifyHealed: thenReady(s.ensemble, s.over)}, nil
}

func (s slowDisk) heal(ctx context.Context) (int64, error) {
	st, err := s.host.Agent.Unstall(ctx, s.id)
	return st.At, err
}

// lookCap is how long a write may take to reach a server's log. It normally takes milliseconds.
const lookCap = 500 * time.Millisecond

// held reports whether the agent holds the disk for this fault.
func (s slowDisk) held(ctx context.Context) (bool, error) {
	st, err := s.host.Agent.Status(ctx)
	return slices.Contains(st.Stalls, s.id), err
}

// verify writes something to the ensemble, which every other server logs. A log that is not synced proves nothing by
// itself, because a server that has been cut off has nothing to sync.
//
// If it sees a sync, it looks again for as long as it may. A leader drops a server that has not acknowledged for
// longer than the sync limit (a second with the shortest ticks). That server joins again with another thread that
// syncs its log, which happens a few times before that thread is held too. Or it first waits for the thread that is
// held, as servers from 3.9 on do, and serves nobody meanwhile.
func (s slowDisk) verify(ctx context.Context) error {
	if held, err := s.held(ctx); err != nil {
		return err
	} else if !held {
		return fmt.Errorf("the disk of %s is not held for %s", s.host.Name, s.id)
	}
	return ensembles.Poll(ctx, pollEvery, s.host.Name+" to sync its log no more", func() error {
		err := s.logs(ctx)
		if errors.Is(err, errNoSync) || errors.Is(err, errNotServing) && s.waits(ctx) {
			return nil
		}
		return cmp.Or(err, errSync)
	})
}

// waits reports whether the server is shutting down and waits for the thread that is held, by what it logged since it
// was started.
func (s slowDisk) waits(ctx context.Context) bool {
	log, err := ensembles.ReadServerLog(ctx, s.host)
	if err != nil {
		return false
	}
	waits := false
	for line := range strings.SplitSeq(log, "\n") {
		switch {
		case strings.Contains(line, "Reading configuration from"):
			waits = false
		case strings.Contains(line, "SyncRequestProcessor"):
			waits = strings.HasSuffix(line, "Shutting down") || waits && !strings.HasSuffix(line, "exited!")
		}
	}
	held, err := s.held(ctx)
	return err == nil && waits && held
}

// over waits until the server syncs its log again. A sync alone proves nothing, because there are some while the disk
// is held, as above.
func (s slowDisk) over(ctx context.Context) error {
	if held, err := s.held(ctx); err != nil {
		return err
	} else if held {
		return fmt.Errorf("the disk of %s is held for %s", s.host.Name, s.id)
	}
	logs := func() error { return s.logs(ctx) }
	return ensembles.Poll(ctx, pollEvery, s.host.Name+" to sync its log again", logs)
}

// errSync says that a server synced its log although its disk is held.
var errSync = errors.New("the log was synced")

// errNotServing says that a server has no leader.
var errNotServing = errors.New("the server does not serve")

// errNoSync says that a server synced nothing although there was something to sync.
var errNoSync = errors.New("the log was not synced")

// logs reports whether the server syncs its log. It begins a write through another server, or through this one if
// there is no other, and then reads the counter.
func (s slowDisk) logs(ctx context.Context) error {
	before, err := s.count(ctx)
	if err != nil {
		return err
	}
	via := s.host
	for _, h := range s.ensemble.Servers {
		if h != s.host {
			via = h
		}
	}
	once, cancel := context.WithTimeout(ctx, lookCap)
	defer cancel()
	begun := make(chan error, 1)
	go func() { begun <- via.Agent.CommitWrite(once) }()
	after := before
	// The last look is allowed to finish, because it decides the verdict. Otherwise the verdict would be that time
	// ran out.
	err = ensembles.Poll(once, pollEvery, "the log of "+s.host.Name, func() error {
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

// count asks the server how often it has synced its log.
func (s slowDisk) count(ctx context.Context) (float64, error) {
	answer, err := s.host.Agent.Ask(ctx, "mntr")
	if err != nil {
		return 0, err
	}
	metrics := ensembles.ParseMetrics(answer)
	if len(metrics) == 0 { // a server without a leader reports no numbers
		return 0, fmt.Errorf("%w: %s answers mntr with %q", errNotServing, s.host.Name, strings.TrimSpace(answer))
	}
	n, ok := metrics[syncs]
	if !ok {
		return 0, fmt.Errorf("%w: %s does not count its syncs (mntr has no %s)", ErrUnsupported, s.host.Name, syncs)
	}
	return n, nil
}
