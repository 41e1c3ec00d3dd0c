package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"locklab/ensembles/agent"
	"locklab/ensembles/reach"
)

// probe dials all addresses at once.
func probe(ctx context.Context, p agent.Probe) (agent.ProbeResult, error) {
	if p.Timeout <= 0 {
		// With no time nothing can be reached, so every link would look cut.
		return agent.ProbeResult{}, errors.New("probe: no timeout")
	}
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	res := agent.ProbeResult{Errors: make([]string, len(p.Addresses)), Took: make([]time.Duration, len(p.Addresses))}
	var wg sync.WaitGroup
	for i, addr := range p.Addresses {
		wg.Go(func() {
			begun := time.Now()
			err := dialOnce(ctx, addr, p.Ask)
			res.Took[i] = time.Since(begun)
			if err != nil {
				res.Errors[i] = err.Error()
			}
		})
	}
	wg.Wait()
	return res, nil
}

// dialOnce makes a connection. With ask, it asks ruok on it and waits for the ZooKeeper server's answer.
func dialOnce(ctx context.Context, addr netip.AddrPort, ask bool) error {
	dial := func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr.String())
	}
	if !ask {
		c, err := dial(ctx)
		if err != nil {
			return err
		}
		return c.Close()
	}
	answer, err := reach.Ask(ctx, dial, "ruok")
	if err == nil && string(answer) != "imok" && !reach.Refused(answer) {
		err = fmt.Errorf("answer %q: %w", answer, io.ErrUnexpectedEOF)
	}
	return err
}
