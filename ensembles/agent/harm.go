package agent

import (
	"context"
	"io"
	"time"
)

// harmRoutes are the operations that do harm to the host's process and to its znodes, beside its life
// and the network.
func (a *Agent) harmRoutes(do func(name string, f func(ctx context.Context, body io.Reader) (any, error))) {
	do("stall", func(ctx context.Context, b io.Reader) (any, error) {
		id, err := decode[string](b)
		if err != nil {
			return nil, err
		}
		return a.stall.hold(ctx, id)
	})
	do("unstall", func(_ context.Context, b io.Reader) (any, error) {
		id, err := decode[string](b)
		if err != nil {
			return nil, err
		}
		return a.stall.let(id)
	})
	do("disk", func(ctx context.Context, _ io.Reader) (any, error) { return measureDisk(ctx, a.cfg.Root) })
	do("clock", func(_ context.Context, b io.Reader) (any, error) {
		offset, err := decode[time.Duration](b)
		if err != nil {
			return nil, err
		}
		return a.sup.setClock(offset)
	})
	do("zookeeper/nodes", func(ctx context.Context, b io.Reader) (any, error) {
		r, err := decode[NodeRequest](b)
		if err != nil {
			return nil, err
		}
		answer, err := nodes(ctx, a.cfg.Log, r)
		answer.At = a.rec.Clock().Now()
		return answer, err
	})
}
