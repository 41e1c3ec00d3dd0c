package foreign

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/recipes"
	"locklab/recipes/zksession"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// within returns a context for something that must happen in time.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// driver drives a shell script.
func driver(t *testing.T, script string, tick time.Duration) *Driver {
	t.Helper()
	d, err := NewDriver(Config{Argv: []string{"sh", "-c", script}, tick: tick})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// session opens a session, which is closed after the test.
func session(t *testing.T, d *Driver, states *[]string) *Session {
	t.Helper()
	cfg := SessionConfig{
		Servers: []string{"127.0.0.1:2181", "127.0.0.1:2182"},
		Timeout: 2 * time.Second,
		Paths:   []string{"/l", "/m"},
	}
	if states != nil {
		cfg.OnState = func(c zksession.StateChange) { *states = append(*states, c.State.String()+" "+c.Server) }
	}
	s, err := d.Open(within(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.WithoutCancel(t.Context())) })
	return s
}

func acquire(t *testing.T, s *Session) *recipes.Hold {
	t.Helper()
	h, err := s.Lock(LockConfig{Paths: []string{"/l"}}).Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The example in the documentation works as described, for two clients, each with a command of its own.
func TestTheDocumentedExample(t *testing.T) {
	src, err := os.ReadFile("PROTOCOL.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(src), "\n```\n")
	script, _, _ := strings.Cut(rest, "```\n")
	d := driver(t, script, 0)
	a, b := session(t, d, nil), session(t, d, nil)
	if a.p == b.p {
		t.Error("both clients share a command that wants one each")
	}
	ha, hb := acquire(t, a), acquire(t, b)
	for _, h := range []*recipes.Hold{ha, hb} {
		if h.Context().Err() != nil || h.Token() != 0 || h.Session() != 0 {
			t.Errorf("hold: %v, token %d, session %d", h.Context().Err(), h.Token(), h.Session())
		}
		if err := h.Release(within(t)); err != nil {
			t.Error(err)
		}
	}
	if err := a.Close(within(t)); err != nil {
		t.Error(err)
	}
	if how := a.p.cmd.ProcessState; how == nil || !how.Success() {
		t.Errorf("the command ended: %v", how)
	}
	if _, err := a.Lock(LockConfig{Paths: []string{"/l"}}).Acquire(within(t)); !errors.Is(
		err,
		zksession.ErrSessionClosed,
	) {
		t.Errorf("acquire on a closed session: %v", err)
	}
}

// A command may declare its layout of znodes when it greets.
func TestDeclaredLayout(t *testing.T) {
	d := driver(t, `echo "locklab-lock 1 per-client layout=__lock__#"
		while read -r verb id rest; do case $verb in
		open) echo "opened $id" ;;
		close) echo "closed $id" ;;
		end) exit ;;
		esac; done`, 0)
	if l := d.Layout(); l != "" {
		t.Errorf("layout %q before there is a greeting", l)
	}
	session(t, d, nil)
	if l := d.Layout(); l != "__lock__#" {
		t.Errorf("layout %q", l)
	}
}

// queue is a fair lock for all clients of one process. It uses everything that the protocol has, and its tokens count
// from 100.
const queue = `
echo locklab-lock 1 per-process
holder= waiting= token=100
next() {
  holder= ; set -- $waiting
  [ $# -gt 0 ] || return
  holder=$1 ; shift ; waiting="$*"
  token=$((token+1))
  echo "granted $holder $token 0xffffffffffffffff 5"
}
drop() { kept= ; for w in $waiting; do [ $w = $1 ] || kept="$kept $w"; done; waiting=$kept; }
while read -r verb id session path mode wait; do
  case $verb in
  open) echo "opened $id 0x1a 1500 $session"; echo "disconnected $id a cable"; echo "connected $id far:1" ;;
  acquire)
    set -- $holder $waiting ; echo "queued $id $#"
    waiting="$waiting $id" ; [ -n "$holder" ] || next ;;
  cancel) [ "$holder" = $id ] || { drop $id ; echo "timeout $id"; } ;;
  release) echo "released $id" ; next ;;
  close) echo "closed $id" ;;
  end) exit ;;
  esac
done`

// A command that declares pings is asked again and again, and a standstill shows in how long an answer takes. Its first
// answer is late.
func TestPings(t *testing.T) {
	const script = `echo locklab-lock 1 per-client pings
	while read -r verb id rest; do
	  case $verb in
	  ping) if [ -z "$late" ]; then late=1; sleep 0.2; fi; echo pong ;;
	  open) echo "opened $id" ;;
	  close) echo "closed $id" ;;
	  end) exit ;;
	  esac
	done`
	took := make(chan time.Duration, 1000)
	d, err := NewDriver(Config{Argv: []string{"sh", "-c", script}, Answered: func(d time.Duration) { took <- d }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	session(t, d, nil)
	if first := <-took; first < 200*time.Millisecond {
		t.Errorf("the first answer took %v", first)
	}
	<-took // and it goes on
}

// A command that stands still until it is killed has not answered its last ping by then.
func TestStandstillUntilTheEnd(t *testing.T) {
	const script = `echo locklab-lock 1 per-client pings
	while read -r verb id rest; do
	  case $verb in
	  ping) echo pong ;;
	  open) echo "opened $id"; kill -STOP $$ ;;
	  esac
	done`
	var took []time.Duration // those after the open are recorded before its end has returned
	var greeting string
	opened := make(chan struct{})
	d, err := NewDriver(Config{
		Argv:    []string{"sh", "-c", script},
		Greeted: func(scope, declares string) { greeting = scope + "; " + declares },
		Answered: func(d time.Duration) {
			select {
			case <-opened:
				took = append(took, d)
			default:
			}
		},
		tick: 200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Open(within(t), SessionConfig{Servers: []string{"zk1:2181"}, Paths: []string{"/l"}})
	if err != nil {
		t.Fatal(err)
	}
	close(opened)
	for ctx := within(t); !s.p.pinged.Load(); {
		if ctx.Err() != nil {
			t.Fatal("it is not pinged")
		}
		runtime.Gosched()
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(ended); err == nil {
		t.Error("a command that stands still has confirmed a close")
	}
	if len(took) != 1 || took[0] <= 0 || greeting != "per-client; pings" {
		t.Errorf("the pings after the open took %v; greeting %q", took, greeting)
	}
}

func TestClientsOfOneProcess(t *testing.T) {
	d := driver(t, queue, 0)
	var states []string // the states reported before the first acquire returns
	a, b := session(t, d, &states), session(t, d, nil)
	if a.p != b.p {
		t.Fatal("a command for the whole process was started twice")
	}
	first := acquire(t, a)
	if first.Token() != 101 || first.Session() != -1 || GrantOf(first).At != 5 {
		t.Errorf("granted token %d, session %x, at %d", first.Token(), first.Session(), GrantOf(first).At)
	}

	// One client waits and gives up, and another waits and gets the lock.
	ahead := make(chan int, 1)
	lock := b.Lock(LockConfig{Paths: []string{"/l"}, OnQueued: func(n int) { ahead <- n }})
	ctx, cancel := context.WithCancel(within(t))
	gaveUp := make(chan error, 1)
	go func() {
		_, err := lock.Acquire(ctx)
		gaveUp <- err
	}()
	if n := <-ahead; n != 1 {
		t.Errorf("queued behind %d, want 1", n)
	}
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled acquire: %v", err)
	}
	second := make(chan *recipes.Hold, 1)
	go func() {
		h, err := lock.Acquire(within(t))
		if err != nil {
			t.Error(err)
		}
		second <- h
	}()
	<-ahead
	if err := first.Release(within(t)); err != nil {
		t.Error(err)
	}
	h := <-second
	if h.Token() != 102 {
		t.Errorf("token %d, want 102", h.Token())
	}
	if err := h.Release(within(t)); err != nil {
		t.Error(err)
	}
	for _, s := range []*Session{a, b} {
		if err := s.Close(within(t)); err != nil {
			t.Error(err)
		}
	}
	want := "connected 127.0.0.1:2181,127.0.0.1:2182; disconnected 127.0.0.1:2181,127.0.0.1:2182; connected far:1"
	if strings.Join(states, "; ") != want {
		t.Errorf("states %q", states)
	}
}

// What a command says about the end of holds reaches every caller that relies on them.
func TestLosses(t *testing.T) {
	for _, tt := range []struct {
		name, onSecond string // what the command prints when the second acquire comes
		held, waiting  error
		text           string
	}{
		{"lost", `echo "lost $first gone with the wind"; echo "granted $id"`, recipes.ErrLockLost, nil, "gone with the wind"},
		{"expired", `echo "expired 1 too late"; echo "granted $id"; echo "lost $first"`, zksession.ErrSessionExpired,
			zksession.ErrSessionExpired, "too late"},
		{"died", `echo oops >&2; exit 3`, ErrBroken, ErrBroken, "exit status 3; it said: oops"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := driver(t, `echo locklab-lock 1 per-client
				first=
				while read -r verb id rest; do case $verb in
				open) echo "opened $id 7" ;;
				acquire) if [ -z "$first" ]; then first=$id; echo "granted $id"; else `+tt.onSecond+`; fi ;;
				release) echo "released $id" ;;
				close) echo "closed $id" ;;
				esac; done`, 0)
			s := session(t, d, nil)
			h := acquire(t, s)
			second, err := s.Lock(LockConfig{Paths: []string{"/l"}}).Acquire(within(t))
			if !errors.Is(err, tt.waiting) {
				t.Errorf("second acquire: %v, want %v", err, tt.waiting)
			}
			<-h.Context().Done()
			cause := context.Cause(h.Context())
			if !errors.Is(cause, recipes.ErrLockLost) || !errors.Is(cause, tt.held) ||
				!strings.Contains(cause.Error(), tt.text) {
				t.Errorf("cause of the end: %v", cause)
			}
			if err := h.Release(within(t)); !errors.Is(err, recipes.ErrLockLost) {
				t.Errorf("release of a lost hold: %v", err)
			}
			if tt.waiting == nil {
				if err := second.Release(within(t)); err != nil {
					t.Error(err)
				}
				return
			}
			<-s.Done()
			if !errors.Is(s.Err(), tt.waiting) {
				t.Errorf("session ended with %v", s.Err())
			}
		})
	}
}

// downgrading is a command whose writer becomes a reader, once. Its second downgrade fails, and its third is answered
// only when it is cancelled.
const downgrading = `echo locklab-lock 1 per-client
n=0
while read -r verb id rest; do
  case $verb in
  open) echo "opened $id 0x7" ;;
  acquire) echo "granted $id 5" ;;
  downgrade)
    n=$((n+1))
    case $n in
    1) [ "$rest" = 2 ] && echo "granted $id 5" || echo "error not of 2 but $rest" ;;
    2) echo "failed $id the write lock is gone" ;;
    esac ;;
  cancel) echo "timeout $id" ;;
  release) echo "released $id" ;;
  close) echo "closed $id" ;;
  end) exit ;;
  esac
done`

// A downgrade makes a hold of its own beside the write hold.
func TestDowngrade(t *testing.T) {
	s := session(t, driver(t, downgrading, 10*time.Millisecond), nil)
	write, err := s.Lock(LockConfig{Paths: []string{"/l"}, Mode: Write}).Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	read, err := s.Downgrade(within(t), write)
	if err != nil || read.Token() != 5 || read.Session() != 7 {
		t.Fatalf("downgraded to %+v, %v", read, err)
	}
	if err := write.Context().Err(); err != nil {
		t.Errorf("the write hold is over: %v", err)
	}
	if _, err := s.Downgrade(within(t), write); err == nil || !strings.Contains(err.Error(), "the write lock is gone") {
		t.Errorf("a failed downgrade returns %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.Downgrade(ctx, write); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a downgrade without an answer returns %v", err)
	}
	if err := write.Release(within(t)); err != nil {
		t.Errorf("release of the write hold: %v", err)
	}
	if err := read.Context().Err(); err != nil {
		t.Errorf("the read hold went with the write hold: %v", err)
	}
	if err := read.Release(within(t)); err != nil {
		t.Errorf("release of the read hold: %v", err)
	}
	if _, err := s.Downgrade(within(t), write); !errors.Is(err, recipes.ErrReleased) {
		t.Errorf("downgrade of a released hold: %v", err)
	}
}
