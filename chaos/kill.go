package chaos

import "context"

func killKind() Kind {
	return endingKind(Kind{
		Name: "kill", Shared: true,
		Does:     "SIGKILL of a client process, a server or the resource; started again to heal",
		Verified: "the process is gone and does not answer; " + verifiedBack,
		Examples: []string{"target: c1", "target: zk1", "target: leader", "target: resource"},
	}, Process.kill)
}

// kill ends the process without warning (SIGKILL). Healing starts it again at the same address, where a server finds
// its data again.
func (p Process) kill(ctx context.Context) (*Harm, error) { return p.end(ctx, p.Host.Agent.Kill) }
