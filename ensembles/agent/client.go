package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A Client is the harness's end of the line to one agent. Its methods may be
// called from many goroutines. What needs a running process returns an error that
// wraps [ErrNoProcess] if there is none.
type Client struct {
	host   string
	base   string
	secret string
	http   *http.Client
}

// NewClient speaks to the agent of the named host at address.
func NewClient(host, address, secret string) *Client {
	return &Client{host: host, base: "http://" + address, secret: secret,
		http: &http.Client{Transport: &http.Transport{
			// No proxy of the environment's: the address is a published port of our own.
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute,
		}}}
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Renew renews the lease.
func (c *Client) Renew(ctx context.Context) (Stamp, error) { return post[Stamp](ctx, c, "lease", nil) }

// Status asks for the state of the host's process and rules.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return post[Status](ctx, c, "status", nil)
}

// Start runs a process; it fails if one is running.
func (c *Client) Start(ctx context.Context, s Spec) (Stamp, error) {
	return post[Stamp](ctx, c, "start", s)
}

// Restart runs the last process's spec again.
func (c *Client) Restart(ctx context.Context) (Stamp, error) {
	return post[Stamp](ctx, c, "restart", nil)
}

// Pause stops the process (SIGSTOP) and returns once all its threads have stopped.
func (c *Client) Pause(ctx context.Context) (Stamp, error) { return post[Stamp](ctx, c, "pause", nil) }

// Resume continues a stopped process.
func (c *Client) Resume(ctx context.Context) (Stamp, error) {
	return post[Stamp](ctx, c, "resume", nil)
}

// Kill ends the process (SIGKILL) and returns once it is gone.
func (c *Client) Kill(ctx context.Context) (Stamp, error) { return post[Stamp](ctx, c, "kill", nil) }

// Stop asks the process to end (SIGTERM), and kills it after its grace.
func (c *Client) Stop(ctx context.Context) (Stamp, error) { return post[Stamp](ctx, c, "stop", nil) }

// Input sends a line to the process's standard input.
func (c *Client) Input(ctx context.Context, line string) (Stamp, error) {
	return post[Stamp](ctx, c, "input", line)
}

// Block adds a network rule on the host.
func (c *Client) Block(ctx context.Context, b Block) (Stamp, error) {
	return post[Stamp](ctx, c, "block", b)
}

// Clear removes the network rule with that id, or all if it is empty.
func (c *Client) Clear(ctx context.Context, id string) (Stamp, error) {
	return post[Stamp](ctx, c, "clear", id)
}

// Probe asks whether the host can open connections to addresses within timeout.
// The answer has one entry an address: "" if it could, else why not.
func (c *Client) Probe(ctx context.Context, timeout time.Duration, addresses ...netip.AddrPort) ([]string, error) {
	r, err := post[ProbeResult](ctx, c, "probe", Probe{Addresses: addresses, Timeout: timeout})
	return r.Errors, err
}

// CommitWrite proves that a quorum commits a write through the host's server.
func (c *Client) CommitWrite(ctx context.Context) error {
	_, err := post[Stamp](ctx, c, "zookeeper/write", nil)
	return err
}

// Ask sends a four-letter word to the host's server.
func (c *Client) Ask(ctx context.Context, word string) (string, error) {
	body, err := c.get(ctx, "zookeeper/"+url.PathEscape(word), nil)
	if err != nil {
		return "", err
	}
	defer body.Close()
	b, err := io.ReadAll(body)
	return string(b), err
}

// File opens a file of the host, by its path below DataDir.
func (c *Client) File(ctx context.Context, path string) (io.ReadCloser, error) {
	return c.get(ctx, "file", url.Values{"path": {path}})
}

// History streams the raw history in dir from offset on: to its present end, or
// with follow until the host's process has ended (or, for the agent's own, ctx).
func (c *Client) History(ctx context.Context, dir string, offset int64, follow bool) (io.ReadCloser, error) {
	return c.get(ctx, "history", url.Values{"dir": {dir}, "offset": {strconv.FormatInt(offset, 10)}, "follow": {strconv.FormatBool(follow)}})
}

func (c *Client) get(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	u := c.base + "/" + path
	if len(query) > 0 {
		u += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, err
	}
	return c.send(req, path)
}

func (c *Client) send(req *http.Request, what string) (io.ReadCloser, error) {
	req.Header.Set("Authorization", "Bearer "+c.secret)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("agent of %s: %s: %w", c.host, what, err)
	}
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		resp.Body.Close()
		if resp.StatusCode == http.StatusConflict {
			return nil, fmt.Errorf("agent of %s: %s: %w", c.host, what, ErrNoProcess)
		}
		return nil, fmt.Errorf("agent of %s: %s: %s", c.host, what, strings.TrimSpace(string(b)))
	}
	return resp.Body, nil
}

func post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	var answer T
	b, err := json.Marshal(body)
	if err != nil {
		return answer, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/"+path, bytes.NewReader(b))
	if err != nil {
		return answer, err
	}
	resp, err := c.send(req, path)
	if err != nil {
		return answer, err
	}
	defer resp.Close()
	if err := json.NewDecoder(resp).Decode(&answer); err != nil {
		return answer, fmt.Errorf("agent of %s: %s: %w", c.host, path, err)
	}
	return answer, nil
}
