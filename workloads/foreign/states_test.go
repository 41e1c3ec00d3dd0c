package foreign_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"locklab/ensembles/labtest/curatortest"
	"locklab/ensembles/labtest/suite"
	"locklab/recipes"
	"locklab/recipes/zksession"
	"locklab/recipes/zktest"
)

var update = flag.Bool("update", false, "rewrite what the document says was seen")

// standstill is a clock by which no time passes, so that a session ends when the test says so. Real servers do as much
// after an election: each session has its whole timeout again.
type standstill struct{}

func (standstill) Now() time.Time { return time.Unix(1_750_000_000, 0) }

func (standstill) AfterFunc(time.Duration, func()) func() { return func() {} }

// An actor is a client of some library, which says in lines what happens to it and what it is asked.
type actor struct {
	t    *testing.T
	do   func(what string)
	mu   sync.Mutex
	more *sync.Cond
	said []string // not taken yet

	states []string // taken, but not by taken
}

func newActor(t *testing.T) *actor {
	a := &actor{t: t}
	a.more = sync.NewCond(&a.mu)
	return a
}

func (a *actor) say(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	line := fmt.Sprintf(format, args...)
	if !strings.HasPrefix(line, "held ") {
		a.t.Log(line)
	}
	a.said = append(a.said, line)
	a.more.Broadcast()
}

// next takes the first line that begins with a word, and returns the rest of it; empty if there is none in time.
func (a *actor) next(word string, within time.Duration) string {
	deadline := time.Now().Add(within)
	wake := time.AfterFunc(within, a.more.Broadcast)
	defer wake.Stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		for i, line := range a.said {
			if rest, ok := strings.CutPrefix(line, word+" "); ok {
				a.said = append(a.said[:i:i], a.said[i+1:]...)
				return rest
			}
		}
		if !time.Now().Before(deadline) {
			return ""
		}
		a.more.Wait()
	}
}

const patience = 60 * time.Second

// ask says what an actor answers.
func (a *actor) ask(what string) string {
	a.t.Helper()
	a.do(what)
	answer := a.next(what, patience)
	if answer == "" {
		a.t.Fatalf("no answer to %s", what)
	}
	return answer
}

// awaits waits until a state was said.
func (a *actor) awaits(state string) {
	a.t.Helper()
	for end := time.Now().Add(patience); ; {
		s := a.next("state", time.Until(end))
		if s == "" {
			a.t.Fatalf("never %s", state)
		}
		a.states = append(a.states, s)
		if s == state {
			return
		}
	}
}

// awaitsAnswer waits until an acquire under way has succeeded.
func (a *actor) awaitsAnswer() {
	a.t.Helper()
	if got := a.next("acquire", patience); got != "ok" {
		a.t.Fatalf("acquire: %q", got)
	}
}

// interrupted is what a LeaderSelector's actor says beside the states.
const interrupted = "takeLeadership interrupted"

// taken returns the states, each once, that were said since it was last called.
func (a *actor) taken() string {
	for s := a.next("state", 0); s != ""; s = a.next("state", 0) {
		a.states = append(a.states, s)
	}
	var once []string
	for _, s := range a.states {
		if !slices.Contains(once, s) {
			once = append(once, s)
		}
	}
	if i := slices.Index(once, interrupted); i >= 0 { // another thread says it
		once = append(slices.Delete(once, i, i+1), interrupted)
	}
	a.states = nil
	return strings.Join(once, ", ")
}

// A stage is a service with two servers, one for the actor and one for its rival.
type stage struct {
	t    *testing.T
	svc  *zktest.Service
	path string
}

// A library starts actors.
type library struct {
	name                string
	actor               func(t *testing.T, server, path string, timeout time.Duration) *actor
	gone, back, expired string // its last state when it is disconnected, connected again, and when its session has expired
	own                 string // its last state after a silence of the session timeout; empty if it says nothing
	election            bool   // it has no release, and one acquire
	requeues            bool   // its term is interrupted, and it takes part again only when it is told to
}

func process(t *testing.T, argv ...string) *actor {
	t.Helper()
	a := newActor(t)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Stderr = io.Discard
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			a.say("%s", lines.Text())
		}
	}()
	a.do = func(what string) {
		if _, err := fmt.Fprintln(in, what); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait()
	})
	return a
}

// owner returns a function that lets another goroutine carry out what it is told, in order.
func owner(t *testing.T, do func(what string)) func(what string) {
	work := make(chan string, 16)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for what := range work {
			do(what)
		}
	}()
	t.Cleanup(func() { close(work); <-done })
	return func(what string) { work <- what }
}

func curatorActor(version, kind string) func(t *testing.T, server, path string, timeout time.Duration) *actor {
	return func(t *testing.T, server, path string, timeout time.Duration) *actor {
		classes := compiled(t, version)
		return process(t, "java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
			strings.Join(append(curatorJars(t, version), classes), ":"), "States", kind, server, path,
			fmt.Sprint(timeout.Milliseconds()), "1000")
	}
}

func curatorJars(t *testing.T, version string) []string {
	return append(curatortest.Require(t, version), "/usr/share/java/zookeeper.jar", "/usr/share/java/zookeeper-jute.jar")
}

func compiled(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "javac", "-nowarn", "-proc:none", "--release", "11", "-cp",
		strings.Join(curatorJars(t, version), ":"), "-d", dir, filepath.Join("testdata", "States.java")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

func kazooActor(t *testing.T, server, path string, timeout time.Duration) *actor {
	return process(t, "/usr/bin/python3", filepath.Join("testdata", "states.py"), server, path,
		fmt.Sprint(timeout.Milliseconds()))
}

func ourActor(t *testing.T, server, path string, timeout time.Duration) *actor {
	a := newActor(t)
	s, err := recipes.Connect(t.Context(), recipes.SessionConfig{Config: zksession.Config{
		Servers: []string{server}, Timeout: timeout,
		OnState: func(c zksession.StateChange) { a.say("state %s", c.State) },
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	m, err := recipes.NewMutex(recipes.MutexConfig{Session: s, Path: path})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var mu sync.Mutex
	var hold *recipes.Hold
	queued := owner(t, func(what string) {
		var err error
		if what == "acquire" {
			var h *recipes.Hold
			if h, err = m.Acquire(ctx); err == nil {
				mu.Lock()
				hold = h
				mu.Unlock()
				context.AfterFunc(h.Context(), func() { a.say("hold ended: %v", context.Cause(h.Context())) })
			}
		} else {
			err = hold.Release(ctx)
		}
		if err != nil {
			text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "acquire "+path+": "), "release: ")
			a.say("%s %s", what, text)
			return
		}
		a.say("%s ok", what)
	})
	t.Cleanup(cancel)
	a.do = func(what string) {
		if what != "held" {
			queued(what)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		a.say("held %v", hold != nil && hold.Context().Err() == nil)
	}
	return a
}

func zkActor(t *testing.T, server, path string, timeout time.Duration) *actor {
	a := newActor(t)
	conn, events, err := zk.Connect([]string{server}, timeout, zk.WithLogger(log.New(io.Discard, "", 0)))
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for e := range events {
			// The others are about connections, whether or not there is a session.
			if e.Type == zk.EventSession &&
				slices.Contains([]zk.State{zk.StateDisconnected, zk.StateHasSession, zk.StateExpired}, e.State) {
				a.say("state %s", e.State)
			}
		}
	}()
	lock := zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))
	queued := owner(t, func(what string) {
		var err error
		if what == "acquire" {
			err = lock.Lock()
		} else {
			err = lock.Unlock()
		}
		if err == zk.ErrSessionExpired || err == zk.ErrNoServer { // whichever comes first
			a.say("%s zk.ErrSessionExpired or zk.ErrNoServer", what)
			return
		}
		if err != nil {
			a.say("%s %v", what, err)
			return
		}
		a.say("%s ok", what)
	})
	t.Cleanup(func() { conn.Close(); <-read })
	a.do = func(what string) {
		if what == "held" {
			a.say("held n/a")
			return
		}
		queued(what)
	}
	return a
}

// libraries are the locks and elections in the order of the document.
var libraries = slices.Concat(
	[]library{{name: "ours: `Mutex`", actor: ourActor, gone: "disconnected", back: "connected", expired: "expired"}},
	ofCurator("5.4.0"),
	ofCurator("5.7.1"),
	[]library{
		{name: "kazoo 2.8.0: `Lock`", actor: kazooActor, gone: "SUSPENDED", back: "CONNECTED", expired: "CONNECTED"},
		{name: "go-zookeeper 1.0.4: `zk.Lock`", actor: zkActor, gone: "StateDisconnected", back: "StateHasSession",
			expired: "StateHasSession"},
	})

// ofCurator are the locks and elections of one version.
func ofCurator(version string) (all []library) {
	for _, l := range []library{{name: "InterProcessMutex"}, {name: "LeaderLatch", election: true},
		{name: "LeaderSelector", election: true, requeues: true}} {
		l.actor = curatorActor(version, l.name)
		l.name = fmt.Sprintf("Curator %s: `%s`", version, l.name)
		l.gone, l.back, l.expired, l.own = "SUSPENDED", "RECONNECTED", "RECONNECTED", "LOST"
		all = append(all, l)
	}
	return all
}

func newStage(t *testing.T) *stage {
	svc := zktest.StartWith(t, zktest.Config{Servers: 2, Clock: standstill{}})
	return &stage{t, svc, "/lock"}
}

// A contender is a znode of the queue.
type contender struct {
	name  string
	owner int64
}

// queue is in the order of the sequence numbers.
func (s *stage) queue() (all []contender) {
	n, _ := s.svc.Node(s.path)
	for _, name := range n.Children {
		if n, ok := s.svc.Node(s.path + "/" + name); ok {
			all = append(all, contender{name, n.Stat.EphemeralOwner})
		}
	}
	number := func(c contender) string { return c.name[max(0, len(c.name)-10):] }
	slices.SortFunc(all, func(a, b contender) int { return strings.Compare(number(a), number(b)) })
	return all
}

// atServer are the sessions that were opened at a server.
func (s *stage) atServer(server int64) (ids []int64) {
	for _, id := range s.svc.Sessions() {
		if id>>56 == server {
			ids = append(ids, id)
		}
	}
	return ids
}

// shown says in words what is in the queue. Own is the first session of the actor, which is at server 0.
func (s *stage) shown(own int64) string {
	var all []string
	for _, c := range s.queue() {
		switch {
		case c.owner == own:
			all = append(all, "its znode")
		case c.owner>>56 == 0:
			all = append(all, "a znode of its next session")
		default:
			all = append(all, "the rival's")
		}
	}
	if len(all) == 0 {
		return "no znode"
	}
	return strings.Join(all, ", then ")
}

func (s *stage) until(what string, cond func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("never: %s; queue %v, sessions %x", what, s.queue(), s.svc.Sessions())
		}
	}
}

// still is for how long nothing may change before what is seen counts as what the library does.
const still = time.Second

// A fact is what was seen of a library in some state.
type fact struct{ state, says, believes, servers, then string }

// observe waits until nothing changes any more, and says what is to be seen.
func (s *stage) observe(state string, a *actor, own int64) fact {
	s.t.Helper()
	look := func() fact { return fact{state: state, believes: a.ask("held"), servers: s.shown(own)} }
	f := look()
	for since := time.Now(); time.Since(since) < still; time.Sleep(50 * time.Millisecond) {
		if now := look(); now != f {
			f, since = now, time.Now()
		}
	}
	f.says = a.taken()
	return f
}

// contended lets an actor hold the lock and a rival wait for it.
func (s *stage) contended(l library, timeout time.Duration) (a, rival *actor, own int64) {
	s.t.Helper()
	a = l.actor(s.t, s.svc.Addrs()[0], s.path, timeout)
	if got := a.ask("acquire"); got != "ok" {
		s.t.Fatalf("acquire: %s", got)
	}
	own = s.queue()[0].owner
	rival = l.actor(s.t, s.svc.Addrs()[1], s.path, time.Minute)
	rival.do("acquire")
	s.until("the rival waits", func() bool { return len(s.queue()) == 2 })
	return a, rival, own
}

// The states, in the order of the document.
const (
	stateConnected = "Connected"
	stateGone      = "Disconnected"
	stateBack      = "Connected again in time"
	stateSilent    = "Silence for longer than the session timeout"
	stateLate      = "Connected again after that"
	stateEnded     = "The servers end the session that the client has given up"
	stateUntold    = "Expired, and not told yet"
	stateTold      = "Expired, and told"
	stateWaited    = "Expired while it waited"
)

var stateOrder = []string{stateConnected, stateGone, stateBack, stateSilent, stateLate, stateEnded, stateUntold,
	stateTold, stateWaited}

// silence is the session timeout of clients that are cut off for longer. The others have one that does not matter.
const silence = 4 * time.Second

// play brings each state about, and says what was seen.
func (l library) play(t *testing.T) (facts []fact) {
	l.playReconnect(t, func(f fact) { facts = append(facts, f) })
	l.playSilence(t, func(f fact) { facts = append(facts, f) })
	l.playExpiry(t, func(f fact) { facts = append(facts, f) })
	l.playExpiryOfAWaiter(t, func(f fact) { facts = append(facts, f) })
	return facts
}

// cutOff stops the server of an actor that holds, and waits until the actor has said all that it says at once.
func (l library) cutOff(s *stage, a *actor) {
	s.svc.Stop(0)
	a.awaits(l.gone)
	if l.requeues && !slices.Contains(a.states, interrupted) { // it may have come first
		a.awaits(interrupted)
	}
}

// released says what a release does, of a lock.
func (l library) released(s *stage, a *actor, own int64) string {
	if l.election {
		return ""
	}
	return fmt.Sprintf("release: %s; %s", a.ask("release"), s.shown(own))
}

func (l library) playReconnect(t *testing.T, keep func(fact)) {
	s := newStage(t)
	a, _, own := s.contended(l, time.Minute)
	keep(s.observe(stateConnected, a, own))
	l.cutOff(s, a)
	keep(s.observe(stateGone, a, own))
	s.svc.Resume(0)
	a.awaits(l.back)
	f := s.observe(stateBack, a, own)
	f.then = l.released(s, a, own)
	if l.requeues {
		f.then = "requeue: " + a.ask("requeue")
		s.until("it queues again", func() bool { return len(s.queue()) == 2 })
		f.then += "; " + s.shown(own)
	}
	keep(f)
}

func (l library) playSilence(t *testing.T, keep func(fact)) {
	s := newStage(t)
	a, rival, own := s.contended(l, silence)
	l.cutOff(s, a)
	a.taken()
	since := time.Now()
	if l.own != "" {
		a.awaits(l.own)
		if took := time.Since(since); took < silence/2 { // the connection timeout is a second
			t.Errorf("%s after %v, of a session timeout of %v", l.own, took, silence)
		}
	} else {
		time.Sleep(silence * 3 / 2) // to see that nothing is said
	}
	keep(s.observe(stateSilent, a, own))
	s.svc.Resume(0)
	a.awaits(l.back)
	f := s.observe(stateLate, a, own)
	if slices.ContainsFunc(s.atServer(0), func(id int64) bool { return id != own }) {
		keep(f)
		s.svc.Expire(own)
		if l.election || len(s.queue()) > 0 {
			rival.awaitsAnswer()
		}
		f = s.observe(stateEnded, a, own)
	}
	f.then = l.released(s, a, own)
	keep(f)
}

func (l library) playExpiry(t *testing.T, keep func(fact)) {
	s := newStage(t)
	a, rival, own := s.contended(l, time.Minute)
	l.cutOff(s, a)
	a.taken()
	s.svc.Expire(own)
	rival.awaitsAnswer()
	keep(s.observe(stateUntold, a, own))
	s.svc.Resume(0)
	a.awaits(l.expired)
	f := s.observe(stateTold, a, own)
	if !l.election {
		a.do("acquire")
		f.then = fmt.Sprintf("acquire: %s; %s", a.answer(), s.shown(own))
	}
	keep(f)
}

func (l library) playExpiryOfAWaiter(t *testing.T, keep func(fact)) {
	s := newStage(t)
	rival := l.actor(t, s.svc.Addrs()[1], s.path, time.Minute)
	if got := rival.ask("acquire"); got != "ok" {
		t.Fatalf("acquire: %s", got)
	}
	a := l.actor(t, s.svc.Addrs()[0], s.path, time.Minute)
	a.do("acquire")
	s.until("it waits", func() bool { return len(s.queue()) == 2 })
	own := s.queue()[1].owner
	s.svc.Stop(0)
	a.awaits(l.gone)
	a.taken()
	s.svc.Expire(own)
	s.svc.Resume(0)
	a.awaits(l.expired)
	f := s.observe(stateWaited, a, own)
	f.then = "acquire: " + a.answer()
	if !l.election && f.then == "acquire: "+waits {
		rival.ask("release")
		f.then += "; after the rival's release: " + a.answer() + ", " + s.shown(own)
	}
	keep(f)
}

// waits stands for an acquire that has no answer although nothing happens any more.
const waits = "goes on waiting"

// answer is that of an acquire under way. It leaves out which request failed: that is the next one after the loss,
// and its path may have a random name.
func (a *actor) answer() string {
	if said, _, _ := strings.Cut(a.next("acquire", 2*still), " for /lock"); said != "" {
		return said
	}
	return waits
}

// document has the tables of what was seen.
const document = "../../recipes/STATES.md"

const begins, ends = "<!-- seen: generated by LOCKLAB_TEST_ALL=1 go test ./workloads/foreign -run TestClientStates " +
	"-update -->\n", "<!-- end -->\n"

// What each library says and does in each state of its connection, as is to be seen against servers that do what the
// test says, is what the document has.
func TestClientStates(t *testing.T) {
	suite.Nightly(t, "starts JVMs, and waits until nothing happens; drivercheck's tests end sessions of drivers")
	suite.Tool(t, "javac", "curator")
	if _, err := os.Stat("/usr/lib/python3/dist-packages/kazoo"); err != nil {
		suite.Missing(t, "kazoo", "setup-readers", err)
	}
	all := make([][]fact, len(libraries))
	for i, l := range libraries {
		t.Run(l.name, func(t *testing.T) { all[i] = l.play(t) })
	}
	var tables strings.Builder
	for _, state := range stateOrder {
		fmt.Fprintf(&tables, "\n### %s\n\n| library | it says | its lock says that it is held | at the servers | "+
			"and then |\n|---|---|---|---|---|\n", state)
		for i, l := range libraries {
			for _, f := range all[i] {
				if f.state == state {
					fmt.Fprintf(&tables, "| %s | %s | %s | %s | %s |\n", l.name, f.says, f.believes, f.servers, f.then)
				}
			}
		}
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begins)
	was, after, closed := strings.Cut(rest, ends)
	if !found || !closed {
		t.Fatalf("%s has no generated part", document)
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(document, []byte(before+begins+tables.String()+"\n"+ends+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(was, tables.String()+"\n"); diff != "" {
		t.Errorf("%s differs from what was seen (-document +seen):\n%s", document, diff)
	}
}
