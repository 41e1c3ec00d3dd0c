package resource

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/rpc"
	"sync"
	"time"

	"locklab/harness/history"
	"locklab/workloads/control"
)

// serviceName is the resource's in net/rpc.
const serviceName = "Resource"

// Serve serves until ctx ends. Its history is in dir.
func Serve(ctx context.Context, cfg control.ResourceConfig, dir string) error {
	rec, err := history.NewRecorder(dir, cfg.Host, history.NewClock())
	if err != nil {
		return err
	}
	defer rec.Close()
	make := New
	if cfg.Lists {
		make = NewOfLists
	}
	r := make(cfg.Fencing, rec)
	for _, old := range cfg.Resume {
		if err := r.resume(old); err != nil {
			return err
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", netip.AddrPortFrom(cfg.Address, control.ResourcePort).String())
	if err != nil {
		return fmt.Errorf("resource: %w", err)
	}
	if err := rec.Record(history.Ready(0)); err != nil {
		return err
	}
	if err := serve(ctx, r, l); err != nil {
		return err
	}
	return rec.End()
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

// service is the methods that the network may call.
type service struct{ r *Resource }

func (s service) Do(a Access, answer *Answer) error { return s.r.Do(a, answer) }

func (s service) List(lock string, elements *[]int64) error { return s.r.List(lock, elements) }

// A Client speaks to a resource over one connection at a time; many goroutines may share it. After a connection
// broke, the next access makes a new one, because a resource may be restarted.
type Client struct {
	address string

	mu  sync.Mutex
	rpc *rpc.Client // nil once it broke
}

// Dial connects to the resource at address. On a busy machine the first packets may be lost, so it tries several times
// to get an answer.
func Dial(ctx context.Context, address string) (*Client, error) {
	c := &Client{address: address}
	var err error
	for range dialTries {
		_, err = c.connection(ctx)
		if late := net.Error(nil); !errors.As(err, &late) || !late.Timeout() || ctx.Err() != nil {
			break
		}
	}
	return c, err
}

// dialTries is how often Dial tries when nobody answers.
const dialTries = 10

// connection returns the connection, and makes one if there is none.
func (c *Client) connection(ctx context.Context) (*rpc.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rpc == nil {
		conn, err := (&net.Dialer{Timeout: dialCap}).DialContext(ctx, "tcp", c.address)
		if err != nil {
			return nil, fmt.Errorf("resource: %w", err)
		}
		c.rpc = rpc.NewClient(conn)
	}
	return c.rpc, nil
}

// dialCap bounds the making of a connection: others wait for it.
const dialCap = time.Second

// drop forgets a connection that broke, unless another has taken its place.
func (c *Client) drop(broken *rpc.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rpc == broken {
		c.rpc = nil
		_ = broken.Close() // it is beyond repair
	}
}

// Close drops the connection.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rpc == nil {
		return nil
	}
	return c.rpc.Close()
}

// Do asks for an access. After an error its outcome is unknown, unless the error wraps [ErrFull]: then it was
// refused.
func (c *Client) Do(ctx context.Context, a Access) (Answer, error) {
	conn, err := c.connection(ctx)
	if err != nil {
		return Answer{}, err
	}
	var answer Answer
	call := conn.Go(serviceName+".Do", a, &answer, make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
		if call.Error != nil && call.Error.Error() == ErrFull.Error() { // net/rpc keeps only the text of an error
			return answer, ErrFull
		}
		if refusal := rpc.ServerError(""); call.Error != nil && !errors.As(call.Error, &refusal) {
			c.drop(conn)
		}
		return answer, call.Error
	case <-ctx.Done():
		return Answer{}, context.Cause(ctx) // answer may still be written to
	}
}

// List asks for the elements of a lock's list.
func (c *Client) List(ctx context.Context, lock string) ([]int64, error) {
	conn, err := c.connection(ctx)
	if err != nil {
		return nil, err
	}
	var elements []int64
	call := conn.Go(serviceName+".List", lock, &elements, make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
		return elements, call.Error
	case <-ctx.Done():
		return nil, context.Cause(ctx) // elements may still be written to
	}
}
