package chaos

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// ClockStep sets the wall clock of one server's process off, as an operator or a wrong NTP server does, and
// sets it right again to heal. The clock that only counts time (CLOCK_MONOTONIC) is left alone: histories stand
// on it, and so does the expiry of sessions. The server must have been started with a clock that can be set.
type ClockStep struct {
	Host *ensembles.Host
	// By is what the clock is set off by, forward or, below 0, back.
	By       time.Duration
	Ensemble *ensembles.Ensemble
}

// Inject steps the clock.
func (c ClockStep) Inject(ctx context.Context) (*Harm, error) {
	if c.By.Abs() <= 2*clockSlack {
		return nil, fmt.Errorf("clock of %s: a step of %v cannot be told from none", c.Host.Name, c.By)
	}
	set := func(ctx context.Context) (agent.Stamp, error) { return c.Host.Agent.SetClock(ctx, c.By) }
	at, err := tell(ctx, set, c.heal)
	if err != nil {
		return nil, unsupported(fmt.Errorf("clock of %s: %w", c.Host.Name, err))
	}
	return &Harm{At: at, Hosts: []string{c.Host.Name}, Heal: c.heal,
		Verify: func(ctx context.Context) error { return c.shows(ctx, c.By) },
		VerifyHealed: func(ctx context.Context) error {
			if err := c.shows(ctx, 0); err != nil {
				return err
			}
			return c.Ensemble.AwaitReady(ctx)
		}}, nil
}

func (c ClockStep) heal(ctx context.Context) (int64, error) {
	st, err := c.Host.Agent.SetClock(ctx, 0)
	return st.At, err
}

// clockSlack is how far two looks at one clock may be apart; a clock is stepped by more.
const clockSlack = time.Second

// shows reports why the server's clock is not off by that much.
func (c ClockStep) shows(ctx context.Context, by time.Duration) error {
	off, err := serverClock(ctx, c.Host)
	if err == nil && (off-by).Abs() > clockSlack {
		err = fmt.Errorf("the clock of %s is off by %v and not by %v", c.Host.Name, off, by)
	}
	return err
}

// serverClock returns how far a server's wall clock is ahead of this machine's, by what the server says
// itself: it logs every four-letter word with the time.
func serverClock(ctx context.Context, h *ensembles.Host) (time.Duration, error) {
	if _, err := h.Agent.Ask(ctx, "ruok"); err != nil {
		return 0, err
	}
	asked := time.Now()
	r, err := h.Agent.File(ctx, ensembles.ServerLog)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	const layout = "2006-01-02 15:04:05,000"
	var last string
	for in := bufio.NewScanner(r); in.Scan(); {
		if line := in.Text(); len(line) > len(layout) && strings.Contains(line, "Processing ruok command") {
			last = line[:len(layout)]
		}
	}
	said, err := time.Parse(layout, last) // hosts keep UTC
	if err != nil {
		return 0, fmt.Errorf("the log of %s does not say what its clock is: %w", h.Name, err)
	}
	return said.Sub(asked.UTC()), nil
}
