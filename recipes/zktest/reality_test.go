package zktest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"locklab/ensembles/labtest/suite"
	"locklab/recipes/internal/wire"
	"locklab/recipes/zktest"
)

// envSeed makes TestSameAsARealService play the sequence of one seed again.
const envSeed = "LOCKLAB_ZKTEST_SEED"

// The same random requests of two sessions get the same answers and events from a real ensemble and from this
// package's service: names of sequential znodes, stats, the order of events, permissions, transactions, reconnects
// with watches and the ends of sessions included.
func TestSameAsARealService(t *testing.T) {
	real := ensemble.Servers(t)
	seed := uint64(rand.Uint32())
	if text, ok := os.LookupEnv(envSeed); ok {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		check(t, err)
	}
	sequences := uint64(2)
	if suite.All() {
		sequences = 10
	}
	needsRead := existsNeedsRead(t, real)
	for n := range sequences {
		root := "/reality-" + uuid.NewString()
		fake := zktest.StartWith(t, zktest.Config{Servers: len(real), ExistsNeedsRead: needsRead})
		var transcripts [2][]string
		var wg sync.WaitGroup
		for i, servers := range [][]string{real, fake.Addrs()} {
			wg.Go(func() { transcripts[i] = play(t, servers, root, seed+n) })
		}
		wg.Wait()
		if diff := cmp.Diff(transcripts[0], transcripts[1]); diff != "" {
			t.Errorf("%s=%d (-real +in memory):\n%s", envSeed, seed+n, diff)
		}
		t.Logf("%s=%d: %d answers and events", envSeed, seed+n, len(transcripts[0]))
	}
}

// existsNeedsRead finds out which of the two ways to answer exists the servers have.
func existsNeedsRead(t *testing.T, servers []string) bool {
	conn, _, err := zk.Connect(servers, 10*time.Second, zk.WithLogger(silent{}))
	check(t, err)
	defer conn.Close()
	path, err := conn.Create("/unreadable-"+uuid.NewString(), nil, zk.FlagEphemeral, zk.WorldACL(zk.PermDelete))
	check(t, err)
	_, _, err = conn.Exists(path)
	if err != nil && !errors.Is(err, zk.ErrNoAuth) {
		t.Fatal(err)
	}
	return err != nil
}

// steps is how many requests each sequence has.
const steps = 400

// A band plays requests on one service.
type band struct {
	t        *testing.T
	servers  []string
	root     string
	r        *rand.Rand
	players  []*player
	sessions []int64 // in the order in which they were opened
	record   []string
}

// A player is one session at a time.
type player struct {
	b    *band
	name string
	conn *zk.Conn
	wire *wire.Wire
	wait []<-chan zk.Event // of the watches that have not fired

	mu     sync.Mutex
	opened int // sessions
	socket net.Conn
	events []string
	up     bool
}

// play plays the sequence of a seed and returns a transcript, in which transactions and sessions have numbers of their
// own.
func play(t *testing.T, servers []string, root string, seed uint64) []string {
	b := &band{t: t, servers: servers, root: root, r: rand.New(rand.NewPCG(seed, 0))}
	for _, name := range []string{"a", "b"} {
		p := &player{b: b, name: name}
		p.open()
		b.players = append(b.players, p)
	}
	defer func() {
		for _, p := range b.players {
			p.conn.Close()
		}
	}()
	_, err := b.players[0].conn.Create(root, nil, 0, zk.WorldACL(zk.PermAll))
	b.must(err)
	b.must(b.players[1].conn.AddAuth("digest", []byte("user:password")))
	for range steps {
		p := b.players[b.r.IntN(2)]
		switch b.r.IntN(60) {
		case 0:
			b.away(p)
		case 1:
			b.note("%s closes", p.name)
			p.conn.Close()
			p.open()
			b.settle(true)
		default:
			b.step(p)
			b.settle(false)
		}
	}
	return b.numbered()
}

func (b *band) must(err error) {
	if err != nil {
		b.t.Error(err)
		panic("the transcript cannot be made")
	}
}

func (b *band) note(format string, args ...any) {
	b.record = append(b.record, fmt.Sprintf(format, args...))
}

// until waits for a condition.
func (b *band) until(what string, cond func() bool) {
	ctx, cancel := context.WithTimeout(b.t.Context(), testTimeout)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			b.must(fmt.Errorf("timed out before: %s", what))
		}
	}
}

// open opens a session.
func (p *player) open() {
	p.mu.Lock()
	p.opened++
	n := p.opened
	p.wire, p.wait, p.up = wire.New(), nil, false
	p.mu.Unlock()
	conn, _, err := zk.Connect(p.b.servers, 20*time.Second, zk.WithLogInfo(false), zk.WithLogger(silent{}),
		zk.WithEventCallback(func(e zk.Event) { p.event(n, e) }), zk.WithDialer(p.dial))
	p.b.must(err)
	p.conn = conn
	p.b.until("a session", p.connected)
	p.b.sessions = append(p.b.sessions, conn.SessionID())
}

// silent drops messages.
type silent struct{}

func (silent) Printf(string, ...any) {}

func (p *player) dial(network, address string, limit time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	conn, err := p.wire.Dial(ctx, network, address)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.socket = conn
	return conn, err
}

// event is called with the events of the n-th session, which may come after the next one has been opened.
func (p *player) event(n int, e zk.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case n != p.opened:
	case e.Type == zk.EventSession:
		p.up = e.State == zk.StateHasSession
	case e.Type > 0:
		p.events = append(p.events, fmt.Sprintf("  %s hears of %s: %s", p.name, p.b.short(e.Path), e.Type))
	}
}

func (p *player) connected() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.up
}

// short returns a path without the sequence's own root.
func (b *band) short(path string) string { return strings.ReplaceAll(path, b.root, "") }

// settle waits until each player has heard of all events so far, and records them; sorted, if their order is not
// fixed. A sync would not do: a leader answers that of its own client before it has carried out what it has committed.
func (b *band) settle(sorted bool) {
	for _, p := range b.players {
		_, err := p.conn.Multi(&zk.CheckVersionRequest{Path: "/", Version: -1})
		b.must(err)
		p.mu.Lock()
		if sorted {
			slices.Sort(p.events)
		}
		b.record = append(b.record, p.events...)
		p.events = nil
		p.mu.Unlock()
	}
}

// away breaks a player's connection and lets the other one go on for a while. The first then connects again, which
// sets its watches again.
func (b *band) away(p *player) {
	b.note("%s is away", p.name)
	p.wait = slices.DeleteFunc(p.wait, func(c <-chan zk.Event) bool { return len(c) > 0 })
	p.wire.Refuse(true)
	p.mu.Lock()
	_ = p.socket.Close()
	p.mu.Unlock()
	b.until("the end of the connection", func() bool { return !p.connected() })
	other := b.players[0]
	if other == p {
		other = b.players[1]
	}
	for range b.r.IntN(6) {
		b.step(other)
	}
	_, before := p.wire.Requests()
	p.wire.Refuse(false)
	b.until("another connection", p.connected)
	if len(p.wait) > 0 {
		b.until("the watches", func() bool {
			_, now := p.wire.Requests()
			return now[wire.OpSetWatches] > before[wire.OpSetWatches]
		})
	}
	b.settle(true)
}

// numbered returns the transcript with the ranks of transactions and sessions in place of their ids.
func (b *band) numbered() []string {
	mark := regexp.MustCompile(`zxid(\d+)`)
	var all []int
	for _, line := range b.record {
		for _, m := range mark.FindAllStringSubmatch(line, -1) {
			id, err := strconv.Atoi(m[1])
			b.must(err)
			all = append(all, id)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	for i, line := range b.record {
		b.record[i] = mark.ReplaceAllStringFunc(line, func(m string) string {
			id, _ := strconv.Atoi(strings.TrimPrefix(m, "zxid"))
			rank, _ := slices.BinarySearch(all, id)
			return "t" + strconv.Itoa(rank)
		})
	}
	return b.record
}

// stat describes a stat, but for its times.
func (b *band) stat(s *zk.Stat) string {
	if s == nil {
		return "no stat"
	}
	owner := strconv.Itoa(slices.Index(b.sessions, s.EphemeralOwner))
	if s.EphemeralOwner == 0 {
		owner = "nobody"
	}
	return fmt.Sprintf("zxid%d zxid%d zxid%d versions %d %d %d owner %s length %d children %d", s.Czxid, s.Mzxid, s.Pzxid,
		s.Version, s.Cversion, s.Aversion, owner, s.DataLength, s.NumChildren)
}
