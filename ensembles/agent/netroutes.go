package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
)

// networkRoutes are the operations on the host's network. None that does harm may
// meet where the request comes from.
func (a *Agent) networkRoutes(do func(string, operation)) {
	do("block", func(ctx context.Context, b io.Reader) (any, error) {
		rule, err := decode[Block](b)
		if err == nil {
			err = sparesControl(ctx, "block", rule.Peers)
		}
		if err != nil {
			return nil, err
		}
		return a.fire.block(rule)
	})
	do("delay", func(ctx context.Context, b io.Reader) (any, error) {
		d, err := decode[Delay](b)
		if err == nil {
			err = sparesControl(ctx, "delay", d.Peers)
		}
		if err != nil {
			return nil, err
		}
		return a.slow.add(d)
	})
	do("clear", func(_ context.Context, b io.Reader) (any, error) {
		id, err := decode[string](b)
		if err != nil {
			return nil, err
		}
		if a.slow.has(id) {
			if st, err := a.slow.clear(id); err != nil || id != "" {
				return st, err
			}
		}
		return a.fire.clear(id)
	})
	do("reset", func(ctx context.Context, b io.Reader) (any, error) {
		peers, err := decode[[]netip.Addr](b)
		if err == nil {
			err = sparesControl(ctx, "reset", peers)
		}
		if err != nil {
			return nil, err
		}
		return reset(a.rec, peers)
	})
	do("connections", func(_ context.Context, b io.Reader) (any, error) {
		peers, err := decode[[]netip.Addr](b)
		if err != nil {
			return nil, err
		}
		return established(a.rec, peers)
	})
	do("relay", func(ctx context.Context, b io.Reader) (any, error) {
		q, err := decode[RelayRequest](b)
		if err != nil {
			return nil, err
		}
		return a.slow.relay(ctx, q)
	})
	do("capabilities", func(context.Context, io.Reader) (any, error) { return capabilities(), nil })
	do("datagrams/expect", func(context.Context, io.Reader) (any, error) { return a.grams.expect(), nil })
	do("datagrams/send", func(ctx context.Context, b io.Reader) (any, error) {
		s, err := decode[Datagrams](b)
		if err != nil {
			return nil, err
		}
		return a.grams.send(ctx, s)
	})
	do("datagrams/heard", func(_ context.Context, b io.Reader) (any, error) {
		id, err := decode[string](b)
		if err != nil {
			return nil, err
		}
		return a.grams.result(id)
	})
	do("probe", func(ctx context.Context, b io.Reader) (any, error) {
		p, err := decode[Probe](b)
		if err != nil {
			return nil, err
		}
		if p.Timeout <= 0 {
			// Nothing can be reached in no time, which would prove any cut.
			return nil, errors.New("probe: no timeout")
		}
		return probe(ctx, p), nil
	})
}

// sparesControl refuses peers among which is where the request comes from.
func sparesControl(ctx context.Context, what string, peers []netip.Addr) error {
	if from, ok := ctx.Value(requesterKey{}).(netip.Addr); ok && slices.Contains(peers, from) {
		return fmt.Errorf("%s: %v is where the control connection comes from", what, from)
	}
	return nil
}
