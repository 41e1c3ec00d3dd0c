package kubernetes

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"

	core "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"locklab/ensembles/reach"
)

// A forward is a port of 127.0.0.1 whose connections lead to a port of a pod. Each is a connection of its own to the
// API server, because streams that share one wait for each other.
type forward struct {
	listener net.Listener
	cluster  *cluster
	pod      string
	port     uint16
	log      *slog.Logger

	end  context.CancelFunc
	open sync.WaitGroup
}

// forward opens such a port.
func (c *cluster) forward(pod string, port uint16, log *slog.Logger) (*forward, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &forward{listener: l, cluster: c, pod: pod, port: port, log: log}
	life, end := context.WithCancel(context.Background())
	f.end = end
	f.open.Go(func() {
		reach.Relay(life, l, func(ctx context.Context, local net.Conn) {
			if err := f.pass(ctx, local); err != nil {
				f.log.Debug("port-forward", "port", f.port, "err", err)
			}
		})
	})
	return f, nil
}

// dialer returns what makes one connection to a pod. It must not be used for another: the client library's dialers keep
// the connection that they are making, and two that are made at the same time would become one. API servers talk
// WebSocket since version 1.30; to older ones, and through proxies that do not let it pass, connections are made with
// SPDY.
func (c *cluster) dialer(pod string) (httpstream.Dialer, error) {
	at := c.forwardURL(pod)
	overWebSocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(at, c.config)
	if err != nil {
		return nil, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(c.config)
	if err != nil {
		return nil, err
	}
	plain := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, at)
	return portforward.NewFallbackDialerForStreaming(overWebSocket, plain, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

func (f *forward) address() netip.AddrPort { return f.listener.Addr().(*net.TCPAddr).AddrPort() }

// pass carries one connection.
func (f *forward) pass(ctx context.Context, local net.Conn) error {
	dialer, err := f.cluster.dialer(f.pod)
	if err != nil {
		return err
	}
	conn, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return err
	}
	defer reach.Until(ctx, conn)()
	headers := http.Header{}
	headers.Set(core.PortHeader, strconv.Itoa(int(f.port)))
	headers.Set(core.PortForwardRequestIDHeader, "0")
	headers.Set(core.StreamType, core.StreamTypeError)
	errs, err := conn.CreateStream(headers)
	if err != nil {
		return err
	}
	if err := errs.Close(); err != nil { // nothing is written to it
		return err
	}
	headers.Set(core.StreamType, core.StreamTypeData)
	data, err := conn.CreateStream(headers)
	if err != nil {
		return err
	}
	// When one side ends, both are closed: neither agents nor ZooKeeper end one direction alone. A node that cannot
	// connect to the port says so on the stream of errors and closes nothing.
	var refused error
	var copies sync.WaitGroup
	end := func() {
		local.Close()
		_ = data.Reset()
		conn.Close()
	}
	copies.Go(func() {
		if said, _ := io.ReadAll(errs); len(said) > 0 {
			refused = fmt.Errorf("%s", said)
			end()
		}
	})
	copies.Go(func() {
		defer end()
		_, _ = io.Copy(data, local)
	})
	copies.Go(func() {
		defer end()
		_, _ = io.Copy(local, data)
	})
	copies.Wait()
	return refused
}

func (f *forward) close() {
	f.end()
	f.open.Wait()
}
