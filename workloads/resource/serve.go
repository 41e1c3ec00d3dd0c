package resource

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"sync"

	"locklab/harness/history"
)

// Config is what a resource process is started with, as JSON.
type Config struct {
	Host  string `json:"host"`
	Guard string `json:"guard"`

	_ struct{}
}

// serviceName is the resource's in net/rpc.
const serviceName = "Resource"

// Serve serves until ctx ends. Its history is in dir.
func Serve(ctx context.Context, cfg Config, dir string) error {
	rec, err := history.NewRecorder(dir, cfg.Host, history.NewClock())
	if err != nil {
		return err
	}
	defer rec.Close()
	r, err := New(cfg.Guard, rec)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf(":%d", Port))
	if err != nil {
		return fmt.Errorf("resource: %w", err)
	}
	if err := rec.Record(history.Event{Op: history.OpReady}); err != nil {
		return err
	}
	return serve(ctx, r, l)
}

// serve answers on l until ctx ends, then closes l and every connection.
func serve(ctx context.Context, r *Resource, l net.Listener) error {
	return serveAs(ctx, service{r}, l)
}

func serveAs(ctx context.Context, s any, l net.Listener) error {
	srv := rpc.NewServer()
	if err := srv.RegisterName(serviceName, s); err != nil {
		return err
	}
	// However serving ends, connections end with it.
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("resource: %w", err)
		}
		wg.Go(func() {
			stop := context.AfterFunc(ctx, func() { c.Close() })
			defer stop()
			srv.ServeConn(c)
		})
	}
}

// service is the one method that the network may call.
type service struct{ r *Resource }

func (s service) Do(a Access, answer *Answer) error { return s.r.Do(a, answer) }

// A Client speaks to a resource over one connection; many goroutines may share it.
type Client struct{ rpc *rpc.Client }

// Dial connects to the resource at address.
func Dial(ctx context.Context, address string) (*Client, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("resource: %w", err)
	}
	return &Client{rpc.NewClient(c)}, nil
}

// Close drops the connection.
func (c *Client) Close() error { return c.rpc.Close() }

// Do asks for an access. An error means that its outcome is unknown.
func (c *Client) Do(ctx context.Context, a Access) (Answer, error) {
	var answer Answer
	call := c.rpc.Go(serviceName+".Do", a, &answer, make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
		return answer, call.Error
	case <-ctx.Done():
		return Answer{}, context.Cause(ctx) // answer may still be written to
	}
}
