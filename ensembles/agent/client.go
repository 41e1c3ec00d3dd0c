package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"locklab/harness/fail"
	"locklab/harness/history"
)

// A Client is the harness's connection to one agent. Its methods may be called from many goroutines. A method that
// needs a running process returns an error that wraps [ErrNoProcess] if there is none.
type Client struct {
	host   string
	base   string
	secret string
	http   *http.Client
	clock  hostClock
}

// NewClient returns a client for the agent of the named host at an address.
func NewClient(host, address, secret string) *Client {
	name, _ := history.ClockName() // without a name, no host's clock is taken for this one
	return &Client{host: host, base: "http://" + address, secret: secret,
		clock: hostClock{own: history.NewClock(), name: name},
		http: &http.Client{Transport: &http.Transport{
			// The environment's proxy is not used: the address is a port that the lab has published on this machine.
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute,
		}}}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Renew renews the lease.
func (c *Client) Renew(ctx context.Context) (Stamp, error) { return post[Stamp](ctx, c, "lease", nil) }

// Status asks for the state of the host's process and rules.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return post[Status](ctx, c, "status", nil)
}

// ProcessorTime asks how much of the processors the host's process and its agent have used. If the host runs no process
// but speaks for a server elsewhere, that server's counts, if it is on the host's machine.
func (c *Client) ProcessorTime(ctx context.Context) (ProcessorTime, error) {
	return post[ProcessorTime](ctx, c, "processor-time", nil)
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

// Stop asks the process to end (SIGTERM), and kills it when its grace is over.
func (c *Client) Stop(ctx context.Context) (Stamp, error) { return post[Stamp](ctx, c, "stop", nil) }

// Input sends a line to the process's standard input.
func (c *Client) Input(ctx context.Context, line string) (Stamp, error) {
	return post[Stamp](ctx, c, "input", line)
}

// Block adds a network rule on the host.
func (c *Client) Block(ctx context.Context, b Block) (Stamp, error) {
	return post[Stamp](ctx, c, "block", b)
}

// Delay holds back packets on the host. If the kernel has no netem and there is no relay to some peer, the error wraps
// [ErrUnsupported].
func (c *Client) Delay(ctx context.Context, d Delay) (Stamp, error) {
	return post[Stamp](ctx, c, "delay", d)
}

// Relay makes the host pass connections to an address of its loopback on to a server, so that they can be delayed. It
// returns the address.
func (c *Client) Relay(ctx context.Context, to netip.AddrPort, seed uint64) (netip.AddrPort, error) {
	r, err := post[RelayResult](ctx, c, "relay", RelayRequest{To: to, Seed: seed})
	return r.Address, err
}

// FarRelay makes the host pass connections to an address of its loopback on to a server, so that a request and its
// answer take at least roundTrip longer. No [Delay] acts on them, and Clear changes nothing. It returns the address.
func (c *Client) FarRelay(ctx context.Context, to netip.AddrPort, roundTrip time.Duration) (netip.AddrPort, error) {
	r, err := post[RelayResult](ctx, c, "relay", RelayRequest{To: to, RoundTrip: &roundTrip})
	return r.Address, err
}

// Reset ends the host's established TCP connections with the peers, at both ends, and returns those that it ended.
func (c *Client) Reset(ctx context.Context, peers ...netip.Addr) (Connections, error) {
	return post[Connections](ctx, c, "reset", peers)
}

// Connections lists the host's established TCP connections with the peers.
func (c *Client) Connections(ctx context.Context, peers ...netip.Addr) (Connections, error) {
	return post[Connections](ctx, c, "connections", peers)
}

// Capabilities asks what the host's kernel and image can do.
func (c *Client) Capabilities(ctx context.Context) (Capabilities, error) {
	return post[Capabilities](ctx, c, "capabilities", nil)
}

// Expect makes the host count datagrams with a new id, which it returns.
func (c *Client) Expect(ctx context.Context) (string, error) {
	e, err := post[Expectation](ctx, c, "datagrams/expect", nil)
	return e.ID, err
}

// Send makes the host send datagrams, and returns when it has sent them.
func (c *Client) Send(ctx context.Context, d Datagrams) (Stamp, error) {
	return post[Stamp](ctx, c, "datagrams/send", d)
}

// Heard returns how many datagrams with an id from Expect have arrived so far, and when.
func (c *Client) Heard(ctx context.Context, id string) (Heard, error) {
	return post[Heard](ctx, c, "datagrams/heard", id)
}

// Clear removes the network rule or delay with that id, or all if it is empty.
func (c *Client) Clear(ctx context.Context, id string) (Stamp, error) {
	return post[Stamp](ctx, c, "clear", id)
}

// Probe asks whether the host can open connections to addresses within timeout. The answer has one entry for each
// address: "" if the host could connect, else why not.
func (c *Client) Probe(ctx context.Context, timeout time.Duration, addresses ...netip.AddrPort) ([]string, error) {
	r, err := post[ProbeResult](ctx, c, "probe", Probe{Addresses: addresses, Timeout: timeout})
	return r.Errors, err
}

// Stall makes the process's disk seem to hang, for the fault of that id: it holds the one thread of a ZooKeeper server
// that writes to the disk. If the host forbids that, the error wraps [ErrUnsupported].
func (c *Client) Stall(ctx context.Context, id string) (Stamp, error) {
	return post[Stamp](ctx, c, "stall", id)
}

// Unstall ends a fault's stall, or all stalls if id is empty.
func (c *Client) Unstall(ctx context.Context, id string) (Stamp, error) {
	return post[Stamp](ctx, c, "unstall", id)
}

// Disk measures the storage below DataDir. It takes as long as a hundred syncs.
func (c *Client) Disk(ctx context.Context) (Disk, error) { return post[Disk](ctx, c, "disk", nil) }

// SetClock sets the wall clock of the host's process off by offset. An offset of 0 sets it right. The process must have
// been started with [Spec.Clock].
func (c *Client) SetClock(ctx context.Context, offset time.Duration) (Stamp, error) {
	return post[Stamp](ctx, c, "clock", offset)
}

// Nodes does what an administrator can do to a znode, through the host's own server. If the server refuses, the
// answer's Refused says why.
func (c *Client) Nodes(ctx context.Context, r NodeRequest) (NodeAnswer, error) {
	return post[NodeAnswer](ctx, c, "zookeeper/nodes", r)
}

// AskProbe is a Probe of ZooKeeper servers, each of which must answer. It also returns how long each took.
func (c *Client) AskProbe(
	ctx context.Context, timeout time.Duration, addresses ...netip.AddrPort) (ProbeResult, error) {
	return post[ProbeResult](ctx, c, "probe", Probe{Addresses: addresses, Timeout: timeout, Ask: true})
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
	return c.FileFrom(ctx, path, 0)
}

// FileFrom is like File, and leaves out what is before an offset.
func (c *Client) FileFrom(ctx context.Context, path string, offset int64) (io.ReadCloser, error) {
	return c.get(ctx, "file", url.Values{"path": {path}, "offset": {strconv.FormatInt(offset, 10)}})
}

// Tree opens a directory of the host with all that is below it, by its path below DataDir, as a tar archive. If there
// is no such directory, the error wraps [fs.ErrNotExist].
func (c *Client) Tree(ctx context.Context, dir string) (io.ReadCloser, error) {
	return c.get(ctx, "tree", url.Values{"dir": {dir}})
}

// Put writes a file of the host, whose path is absolute, and the directories that it is in. It is for what a host needs
// before its first process starts.
func (c *Client) Put(ctx context.Context, path string, executable bool, content io.Reader) error {
	u := c.base + "/file?" + url.Values{"path": {path}, "executable": {strconv.FormatBool(executable)}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, u, io.NopCloser(content))
	if err != nil {
		return err
	}
	body, err := c.send(req, "file")
	if err != nil {
		return err
	}
	return body.Close()
}

// Files lists the regular files in a directory of the host, by its path below DataDir, sorted by name.
func (c *Client) Files(ctx context.Context, dir string) ([]string, error) {
	body, err := c.get(ctx, "files", url.Values{"dir": {dir}})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var names []string
	if err := json.NewDecoder(body).Decode(&names); err != nil {
		return nil, fmt.Errorf("agent of %s: files: %w", c.host, err)
	}
	return names, nil
}

// A HistoryRequest asks for a part of a raw history. The answer ends somewhere, and the next request continues there.
type HistoryRequest struct {
	Dir    string
	Offset int64
	// Follow waits for what is still to be written. An answer without a byte then means that the host's process has
	// ended and that the whole history has been sent. The agent's own history is followed until ctx ends.
	Follow bool
	// Every is how often the agent then looks for what another process has written; 0 is each 10 ms.
	Every time.Duration
	// Collect says that everything before Offset has arrived, and that the host need not keep it.
	Collect bool
}

// History asks for a part of a raw history.
func (c *Client) History(ctx context.Context, r HistoryRequest) (io.ReadCloser, error) {
	return c.get(ctx, "history", url.Values{"dir": {r.Dir}, "offset": {strconv.FormatInt(r.Offset, 10)},
		"follow": {strconv.FormatBool(r.Follow)}, "every": {r.Every.String()},
		"collect": {strconv.FormatBool(r.Collect)}})
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
		switch resp.StatusCode {
		case http.StatusConflict:
			return nil, fmt.Errorf("agent of %s: %s: %w", c.host, what, ErrNoProcess)
		case http.StatusNotFound:
			return nil, fmt.Errorf("agent of %s: %s: %w: %s", c.host, what, fs.ErrNotExist, strings.TrimSpace(string(b)))
		case http.StatusNotImplemented:
			_, why, _ := strings.Cut(strings.TrimSpace(string(b)), ErrUnsupported.Error()+": ")
			return nil, fmt.Errorf("agent of %s: %s: %w: %s", c.host, what, ErrUnsupported, why)
		}
		return nil, fmt.Errorf("agent of %s: %s: %s", c.host, what, strings.TrimSpace(string(b)))
	}
	return resp.Body, nil
}

// repeatable are the requests that have the same effect when they are made twice.
var repeatable = map[string]bool{"status": true, "lease": true, "capabilities": true, "connections": true, "disk": true,
	"time": true}

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
	if repeatable[path] {
		// With this key net/http sends the request again if its connection turns out to be closed. The header itself is
		// not sent.
		req.Header["Idempotency-Key"] = []string{}
	}
	resp, err := c.send(req, path)
	if err != nil {
		return answer, err
	}
	defer resp.Close()
	if err := json.NewDecoder(resp).Decode(&answer); err != nil {
		return answer, fmt.Errorf("agent of %s: %s: %w", c.host, path, err)
	}
	c.place(&answer)
	return answer, nil
}

// ErrNoProcess answers a request that needs the host's process when there is none.
var ErrNoProcess = errors.New("the host's process is not running")

// ErrUnsupported answers a request for a fault that the host cannot carry out. The error that wraps it names the
// capability that is missing.
var ErrUnsupported = fail.Environment.New("not supported here")
