package chaos

import "context"

func stopKind() Kind {
	return endingKind(Kind{
		Name: "stop",
		Does: "stops a client process, a server or the resource in an orderly way (SIGTERM, and SIGKILL after a " +
			"grace period); started again to heal",
		Verified: "as for `kill`",
		Examples: []string{"target: c1", "target: zk1"},
	}, Process.stop)
}

// stop asks the process to end (SIGTERM), as an orderly shutdown does, and kills it only after a grace period.
func (p Process) stop(ctx context.Context) (*Harm, error) { return p.end(ctx, p.Host.Agent.Stop) }
