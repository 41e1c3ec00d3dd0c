package zktest

import (
	"context"
	"time"

	"locklab/recipes/zksession"
	"locklab/recipes/zktest/sim"
)

// Config returns what a client on a host needs to do the same in each execution of a seed: connections, timers and
// identifiers of the host, and requests in an order of their own. [Ensemble.Dial] alone leaves it to the scheduler
// which of several goroutines sends first.
func (e *Ensemble) Config(client *sim.Host) zksession.Config {
	return zksession.Config{Servers: e.Addrs(), Dial: e.Dial(client), GUID: client.GUID,
		Wrap:      func(z zksession.ZooKeeper) zksession.ZooKeeper { return inTurn{z, client} },
		AfterFunc: func(d time.Duration, f func()) zksession.Timer { return client.AfterFunc(d, f) }}
}

// inTurn is a session whose requests are sent in an order that the seed decides, also where several goroutines send at
// the same instant.
type inTurn struct {
	zksession.ZooKeeper
	host *sim.Host
}

// next returns when it is a request's turn.
func (t inTurn) next(ctx context.Context, op, node string) {
	_ = t.Await(ctx) // the request itself says what is wrong
	t.host.Turn(op + node)
}

func (t inTurn) Create(ctx context.Context, path string, data []byte, mode zksession.Mode) (string, error) {
	t.next(ctx, "create ", path+string(data)) // attempts that contend for one name differ in what they write
	return t.ZooKeeper.Create(ctx, path, data, mode)
}

func (t inTurn) Enter(ctx context.Context, path string, data []byte) (zksession.Entry, error) {
	t.next(ctx, "enter ", path)
	return t.ZooKeeper.Enter(ctx, path, data)
}

func (t inTurn) Delete(ctx context.Context, path string) error {
	t.next(ctx, "delete ", path)
	return t.ZooKeeper.Delete(ctx, path)
}

func (t inTurn) Get(ctx context.Context, path string) ([]byte, zksession.Stat, error) {
	t.next(ctx, "get ", path)
	return t.ZooKeeper.Get(ctx, path)
}

func (t inTurn) GetW(ctx context.Context, path string, fired func(zksession.Event)) ([]byte, zksession.Stat, error) {
	t.next(ctx, "getw ", path)
	return t.ZooKeeper.GetW(ctx, path, fired)
}

func (t inTurn) Children(ctx context.Context, path string) ([]string, error) {
	t.next(ctx, "list ", path)
	return t.ZooKeeper.Children(ctx, path)
}

func (t inTurn) ChildrenW(ctx context.Context, path string, fired func(zksession.Event)) ([]string, error) {
	t.next(ctx, "listw ", path)
	return t.ZooKeeper.ChildrenW(ctx, path, fired)
}

func (t inTurn) Succeed(ctx context.Context, own, ahead string, compare bool) (*zksession.Succession, error) {
	t.next(ctx, "succeed ", own)
	return t.ZooKeeper.Succeed(ctx, own, ahead, compare)
}

func (t inTurn) Multi(ctx context.Context, ops ...zksession.Op) ([]string, error) {
	first := ""
	if len(ops) > 0 {
		first = ops[0].Path
	}
	t.next(ctx, "multi ", first)
	return t.ZooKeeper.Multi(ctx, ops...)
}

func (t inTurn) Sync(ctx context.Context, path string) error {
	t.next(ctx, "sync ", path)
	return t.ZooKeeper.Sync(ctx, path)
}
