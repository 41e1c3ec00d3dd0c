package recipes

import "locklab/recipes/internal/wire"

// disturb injects the plan's fault while the client under test is idle, if that is the plan. A client whose connection
// has broken is not connected again until reconnect is called, so that what it waits for can happen meanwhile.
func (st *stage) disturb() (reconnect func()) {
	if st.plan == nil || st.plan.step != idle {
		return func() {}
	}
	kind, down := st.plan.kind, st.subject.zk.Disconnected()
	apart := !kind.kill && (kind.fault == wire.RequestLost || kind.fault == wire.ReplyLost)
	st.arm(st.plan)
	st.w.Refuse(apart)
	go func() { _ = st.another() }()
	select {
	case <-st.struck:
	case <-st.ctx.Done():
		st.t.Error("the fault did not happen")
	}
	if apart {
		select {
		case <-down:
		case <-st.ctx.Done():
			st.t.Error("the connection did not break")
		}
	}
	return st.reconnect
}

// reconnect lets a client that was disturbed be connected again.
func (st *stage) reconnect() {
	if st.plan != nil && st.plan.step == idle {
		st.w.Refuse(false)
	}
}

// another makes a request of the session of the client under test that has nothing to do with its lock.
func (st *stage) another() error {
	_, _, err := st.subject.zk.Get(st.ctx, "/")
	return err
}
