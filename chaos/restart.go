package chaos

import (
	"context"
	"fmt"
	"time"
)

func restartKind() Kind {
	return endingKind(Kind{
		Name: "restart", Momentary: true, Room: 5 * time.Second,
		Does:     "stops the process in an orderly way and starts it again at once",
		Verified: "another process runs; after that, as for `kill`",
		Examples: []string{"target: c1", "target: zk1", "target: leader"},
	}, Process.restart)
}

// restart ends the process in an orderly way and starts it again at once, as an upgrade does. It returns once the
// process has been started again. Healing only has to wait until the process works again.
func (p Process) restart(ctx context.Context) (*Harm, error) {
	before, err := p.Host.Agent.Status(ctx)
	if err != nil {
		return nil, err
	}
	h, err := p.stop(ctx)
	if err != nil {
		return nil, err
	}
	// The restart is verified by the process's new number.
	h.Verify = func(ctx context.Context) error {
		now, err := p.Host.Agent.Status(ctx)
		if err == nil && (now.Starts <= before.Starts || now.PID == before.PID) {
			err = fmt.Errorf("%s still runs process %d", p.Host.Name, before.PID)
		}
		return err
	}
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), healCap)
	defer cancel()
	_, err = p.start(whole)
	return h, err
}
