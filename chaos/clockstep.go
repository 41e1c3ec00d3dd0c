package chaos

import (
	"context"
	"fmt"
	"strings"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/check/evidence"
	"locklab/harness/settings"
)

func clockStepKind() Kind {
	return Kind{
		Name: "clock-step", Family: FamilyStorage, Targets: OnServer | OnAll,
		Slot: slotProcess, Capability: agent.CapFaketime, StepsClock: true,
		NotDrawn: true, // the leader's clock places the servers' transactions: with it off, what they granted is not known
		Nature:   evidence.FaultNature{SparesSessions: true},
		Does: "shifts a server's wall clock forward or back, and sets it right to heal; the monotonic clock " +
			"(CLOCK_MONOTONIC) is left alone",
		Verified: "the server's own log shows the shifted time; after healing, it shows the right time",
		Examples: []string{"target: zk1, by: 1h"},
		Params:   clockStepParams{},
		check:    checkClockStep,
		injector: onEach(func(r *Run, i injection, h *ensembles.Host) (Injector, error) {
			by := time.Duration(params[clockStepParams](i.Fault).By)
			return clockStep{host: h, by: by, ensemble: r.Ensemble}, nil
		}),
	}
}

// clockStepParams are the keys that only a clock step has.
type clockStepParams struct {
	By step `key:"by" help:"by how much the wall clock is shifted: 1h, or -30s to set it back" required:"true"`
}

// A step is a duration that may be negative.
type step time.Duration

// MarshalText implements [encoding.TextMarshaler].
func (s step) MarshalText() ([]byte, error) {
	return []byte(settings.FormatDuration(time.Duration(s))), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *step) UnmarshalText(text []byte) error {
	d, err := settings.ParseDuration(string(text))
	if err == nil {
		*s = step(d)
	}
	return err
}

// Schema implements [settings.Schemer].
func (step) Schema() settings.Schema {
	return settings.TextSchema(`^-?` + settings.DurationPattern + `$`)
}

// A step must be larger than smallestStep, to be told from none, and at most largestStep.
const (
	smallestStep = 2 * clockSlack
	largestStep  = 10 * 365 * 24 * time.Hour
)

func checkClockStep(c *checker, f Fault) {
	by := time.Duration(params[clockStepParams](f).By)
	if by != 0 && (by.Abs() <= smallestStep || by.Abs() > largestStep) {
		c.refuse(at("by"), "by: 1h", "a clock-step of %s: it must be more than %s and at most %s",
			by, smallestStep, largestStep)
	}
}

// clockStep shifts the wall clock of one server's process, as an operator or a wrong NTP server does, and sets it
// right to heal. It leaves the monotonic clock (CLOCK_MONOTONIC) alone, because histories and the expiry of sessions
// depend on it. The server must have been started with a clock that can be set.
type clockStep struct {
	host *ensembles.Host
	// by is how far the clock is shifted: forward, or back if it is negative.
	by       time.Duration
	ensemble *ensembles.Ensemble
}

func (c clockStep) Inject(ctx context.Context) (*Harm, error) {
	if c.by.Abs() <= smallestStep {
		return nil, fmt.Errorf("a step of %v cannot be told from none", c.by)
	}
	set := func(ctx context.Context) (agent.Stamp, error) { return c.host.Agent.SetClock(ctx, c.by) }
	at, err := carryOut(ctx, set, c.heal)
	if err != nil {
		return nil, err
	}
	return &Harm{At: at, Hosts: []string{c.host.Name}, Heal: c.heal,
		Verify:       func(ctx context.Context) error { return c.shows(ctx, c.by) },
		VerifyHealed: thenReady(c.ensemble, func(ctx context.Context) error { return c.shows(ctx, 0) })}, nil
}

func (c clockStep) heal(ctx context.Context) (int64, error) {
	st, err := c.host.Agent.SetClock(ctx, 0)
	return st.At, err
}

// clockSlack is how far two readings of one clock may differ. Every step is larger.
const clockSlack = time.Second

// shows reports why the server's clock is not shifted by that much.
func (c clockStep) shows(ctx context.Context, by time.Duration) error {
	off, err := serverClock(ctx, c.host)
	if err == nil && (off-by).Abs() > clockSlack {
		err = fmt.Errorf("the clock of %s is off by %v and not by %v", c.host.Name, off, by)
	}
	return err
}

// serverClock returns how far a server's wall clock is ahead of this machine's. It goes by the server's log, which
// has the time of every four-letter word.
func serverClock(ctx context.Context, h *ensembles.Host) (time.Duration, error) {
	if _, err := h.Agent.Ask(ctx, "ruok"); err != nil {
		return 0, err
	}
	asked := time.Now()
	log, err := ensembles.ReadServerLog(ctx, h)
	if err != nil {
		return 0, err
	}
	const layout = "2006-01-02 15:04:05,000"
	var last string
	for line := range strings.Lines(log) {
		if len(line) > len(layout) && strings.Contains(line, "Processing ruok command") {
			last = line[:len(layout)]
		}
	}
	said, err := time.Parse(layout, last) // hosts keep UTC
	if err != nil {
		return 0, fmt.Errorf("the log of %s does not say what its clock is: %w", h.Name, err)
	}
	return said.Sub(asked.UTC()), nil
}
