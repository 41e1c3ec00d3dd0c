package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"locklab/ensembles/agent"
)

// An operation carries out a request: it decodes the body, acts, and returns the answer to encode.
type operation func(ctx context.Context, body io.Reader) (any, error)

// with makes an operation of a function that takes the request's body.
func with[In, Out any](f func(context.Context, In) (Out, error)) operation {
	return func(ctx context.Context, body io.Reader) (any, error) {
		var in In
		dec := json.NewDecoder(body)
		dec.DisallowUnknownFields()
		if err := dec.Decode(&in); err != nil {
			return nil, fmt.Errorf("bad request: %w", err)
		}
		return f(ctx, in)
	}
}

// without makes an operation of a function that needs no body.
func without[Out any](f func(context.Context) (Out, error)) operation {
	return func(ctx context.Context, _ io.Reader) (any, error) { return f(ctx) }
}

// protectControl makes an operation of a function that affects the packets of peers. The operation refuses to affect
// the control connection.
func protectControl[In, Out any](what string, peers func(In) []netip.Addr, f func(In) (Out, error)) operation {
	return with(func(ctx context.Context, in In) (out Out, err error) {
		if from, ok := ctx.Value(requesterKey{}).(netip.Addr); ok && slices.Contains(peers(in), from) {
			return out, fmt.Errorf("%s: %v is where the control connection comes from", what, from)
		}
		return f(in)
	})
}

// operations lists every change and question that an agent accepts by POST, by path.
func (a *server) operations() map[string]operation {
	return map[string]operation{
		"lease":        without(a.renew),
		"status":       without(a.status),
		"capabilities": without(a.capabilities),
		"time":         without(a.time),
		"disk":         without(func(ctx context.Context) (agent.Disk, error) { return measureDisk(ctx, a.cfg.Root) }),

		// The host's process.
		"start":          with(func(_ context.Context, s agent.Spec) (agent.Stamp, error) { return a.sup.start(&s) }),
		"restart":        without(func(context.Context) (agent.Stamp, error) { return a.sup.start(nil) }),
		"pause":          without(a.sup.pause),
		"resume":         without(a.sup.resume),
		"kill":           without(a.sup.kill),
		"processor-time": without(a.processorTime),
		"stop":           without(a.sup.stop),
		"input":          with(func(_ context.Context, line string) (agent.Stamp, error) { return a.sup.write(line) }),
		"clock":          with(func(_ context.Context, d time.Duration) (agent.Stamp, error) { return a.sup.setClock(d) }),
		"stall":          with(a.stall.hold),
		"unstall":        with(func(_ context.Context, id string) (agent.Stamp, error) { return a.stall.lift(id) }),

		// Its network.
		"block": protectControl("block", func(b agent.Block) []netip.Addr { return b.Peers }, a.firewall.block),
		"delay": protectControl("delay", func(d agent.Delay) []netip.Addr { return d.Peers }, a.delays.delay),
		"clear": with(func(_ context.Context, id string) (agent.Stamp, error) { return a.clear(id) }),
		"relay": with(a.delays.relay),
		"reset": protectControl("reset", func(peers []netip.Addr) []netip.Addr { return peers },
			a.reset),
		"connections": with(func(_ context.Context, peers []netip.Addr) (agent.Connections, error) {
			return established(a.rec, peers)
		}),
		"probe":            with(probe),
		"datagrams/expect": without(func(context.Context) (agent.Expectation, error) { return a.datagrams.expect(), nil }),
		"datagrams/send":   with(a.datagrams.send),
		"datagrams/heard":  with(func(_ context.Context, id string) (agent.Heard, error) { return a.datagrams.result(id) }),

		// Its ZooKeeper server.
		"zookeeper/write": without(a.commitWrite),
		"zookeeper/nodes": with(a.nodes),
	}
}

// routes serves everything that an agent can be asked for and refuses anything else.
func (a *server) routes() http.Handler {
	mux := http.NewServeMux()
	for name, op := range a.operations() {
		mux.HandleFunc("POST /"+name, func(w http.ResponseWriter, r *http.Request) {
			answer, err := op(r.Context(), r.Body)
			if err != nil {
				http.Error(w, err.Error(), statusCode(err))
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(answer) // the client sees the connection break
		})
	}
	mux.HandleFunc("GET /zookeeper/{word}", func(w http.ResponseWriter, r *http.Request) {
		b, err := a.upstream.ask(r.Context(), r.PathValue("word"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		_, _ = w.Write(b)
	})
	mux.HandleFunc("GET /history", a.serveHistory)
	mux.HandleFunc("GET /file", a.serveFile)
	mux.HandleFunc("PUT /file", a.putFile)
	mux.HandleFunc("GET /files", a.serveNames)
	mux.HandleFunc("GET /tree", a.serveTree)
	return mux
}

// statusCode tells the client which of the protocol's errors the answer is.
func statusCode(err error) int {
	switch {
	case errors.Is(err, agent.ErrNoProcess):
		return http.StatusConflict
	case errors.Is(err, agent.ErrUnsupported):
		return http.StatusNotImplemented
	}
	return http.StatusInternalServerError
}

// lossUnit is the smallest share of packets that a block can lose, in percent.
const lossUnit = 0.01

func validateBlock(b agent.Block) error {
	switch {
	case b.ID == "" || len(b.Peers) == 0:
		return errors.New("block: id and peers are required")
	case b.Direction != agent.Both && b.Direction != agent.In && b.Direction != agent.Out:
		return fmt.Errorf("block: unknown direction %q", b.Direction)
	case b.Verdict != agent.Drop && b.Verdict != agent.Reject:
		return fmt.Errorf("block: unknown verdict %q", b.Verdict)
	case b.Loss != 0 && !(b.Loss >= lossUnit && b.Loss <= 100):
		return fmt.Errorf("block: loss of %v%%, want %v to 100", b.Loss, lossUnit)
	case b.Bandwidth > maxBandwidth:
		return fmt.Errorf("block: bandwidth of %d bytes/s, want at most %d", b.Bandwidth, uint64(maxBandwidth))
	}
	return validPeers("block", b.Peers)
}

// maxBandwidth, in bytes per second, exceeds what the links of a lab carry.
const maxBandwidth = 10 << 30

// burst is how many bytes may pass at once after a silence, beyond the second's worth that the kernel always allows.
// The sum is enough for two full packets.
func burst(b agent.Block) uint32 { return uint32(max(2*1500, b.Bandwidth) - b.Bandwidth) }

func validateDelay(d agent.Delay) error {
	switch {
	case d.ID == "" || len(d.Peers) == 0:
		return errors.New("delay: id and peers are required")
	case d.Latency <= 0 || d.Latency > maxLatency:
		return fmt.Errorf("delay: latency %v, want more than 0 and at most %v", d.Latency, maxLatency)
	case d.Jitter < 0 || d.Jitter > d.Latency:
		return fmt.Errorf("delay: jitter %v, want at most the latency of %v", d.Jitter, d.Latency)
	}
	return validPeers("delay", d.Peers)
}

// maxLatency is far longer than any session timeout.
const maxLatency = 5 * time.Minute

func validPeers(what string, peers []netip.Addr) error {
	for _, p := range peers {
		if !p.Is4() {
			return fmt.Errorf("%s: %v is not an IPv4 address", what, p)
		}
	}
	return nil
}
