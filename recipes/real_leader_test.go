package recipes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
)

// realRenewer returns a renewer on the real ensemble, whose connections w makes.
func realRenewer(t *testing.T, w *wire.Wire) *Renewer {
	t.Helper()
	cfg := SessionConfig{Config: zksession.Config{Servers: servers(t), Dial: w.Dial}}
	r, err := NewRenewer(within(t), RenewerConfig{SessionConfig: cfg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

// running runs a candidate until the test ends, and returns a channel of its terms.
func running(t *testing.T, l *Leader) <-chan *Hold {
	ctx, cancel := context.WithCancel(within(t))
	terms, result := make(chan *Hold, 10), make(chan error)
	go func() {
		result <- l.Run(ctx, func(ctx context.Context, term *Hold) error {
			terms <- term
			<-ctx.Done()
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
	})
	return terms
}

// next waits for the next term.
func next(t *testing.T, terms <-chan *Hold) *Hold {
	t.Helper()
	select {
	case term := <-terms:
		return term
	case <-within(t).Done():
		t.Fatal("does not lead")
		return nil
	}
}

// A leader whose session is killed is followed by the next candidate, with a higher token, and campaigns again in a new
// session. One that resigns hands over. An observer, whose own session is killed too, sees each of them.
func TestLeaderFailsOver(t *testing.T) {
	skipUnderRace(t)
	path, all := lockPath(t), servers(t)
	wires := []*wire.Wire{wire.New(), wire.New(), wire.New()}
	queued := make(chan string, 10)
	candidate := func(i int, id string) *Leader {
		return newLeaderOf(t, LeaderConfig{Renewer: realRenewer(t, wires[i]), Path: path, ID: id,
			OnQueued: func(int) { queued <- id }})
	}
	seen := newLeaderOf(t, LeaderConfig{Renewer: realRenewer(t, wires[2]), Path: path}).Observe(within(t))
	told(t, seen, "", 0)
	a, b := candidate(0, "a"), candidate(1, "b")
	as := running(t, a)
	<-queued
	first := next(t, as)
	told(t, seen, "a", first.Token())
	bs := running(t, b)
	<-queued

	kill(t, wires[0], all[0])
	second := next(t, bs)
	if second.Token() <= first.Token() {
		t.Errorf("token %d after %d", second.Token(), first.Token())
	}
	if cause := causeOf(t, first); !errors.Is(cause, ErrLockLost) || !errors.Is(cause, zksession.ErrSessionExpired) {
		t.Errorf("the first term ended with: %v", cause)
	}
	told(t, seen, "b", second.Token())
	if id := <-queued; id != "a" {
		t.Errorf("%s queued, want a in its next session", id)
	}

	kill(t, wires[2], all[1])
	if err := b.Resign(within(t)); err != nil {
		t.Fatal(err)
	}
	third := next(t, as)
	if third.Token() <= second.Token() || third.Session() == first.Session() {
		t.Errorf("token %d after %d, session %x after %x", third.Token(), second.Token(), third.Session(), first.Session())
	}
	told(t, seen, "a", third.Token())
	if id := <-queued; id != "b" {
		t.Errorf("%s queued, want b, which has resigned", id)
	}
	if err := a.Resign(within(t)); err != nil {
		t.Fatal(err)
	}
	told(t, seen, "b", next(t, bs).Token())
}

// stoppedCandidate tells a child process of this test's binary which servers and which election to use.
const stoppedCandidate = "RECIPES_STOPPED_CANDIDATE"

// A leader that is stopped for longer than its session finds its term ended when it goes on: the next one leads.
func TestStoppedLeader(t *testing.T) {
	onRealServers(t)
	if where := os.Getenv(stoppedCandidate); where != "" {
		leadAndSay(t, where)
		return
	}
	skipUnderRace(t) // the child reconnects
	path, all := lockPath(t), servers(t)
	child := exec.Command(os.Args[0], "-test.run=^TestStoppedLeader$")
	child.Env = append(os.Environ(), stoppedCandidate+"="+strings.Join(all, ",")+" "+path)
	child.Stderr = os.Stderr
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string)
	t.Cleanup(func() {
		_ = child.Process.Kill() // it may have ended
		for range lines {        // until the end of its output
		}
		_ = child.Wait() // its status says no more than its output
	})
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			lines <- s.Text()
		}
	}()
	said := func(prefix string) string {
		t.Helper()
		for {
			select {
			case line, ok := <-lines:
				if !ok {
					t.Fatalf("the child ended before it said %q", prefix)
				}
				if rest, ok := strings.CutPrefix(line, prefix); ok {
					return rest
				}
			case <-within(t).Done():
				t.Fatalf("the child did not say %q", prefix)
			}
		}
	}
	token, err := strconv.ParseInt(said("leads "), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	l := newLeaderOf(t, LeaderConfig{Session: connected(t, SessionConfig{}), Path: path, ID: "parent"})
	if now, err := l.Current(within(t)); err != nil || now.ID != "child" || now.Token != token {
		t.Errorf("the child leads with token %d, but: %+v, %v", token, now, err)
	}
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if term := leads(t, l); term.Token() <= token {
		t.Errorf("token %d after %d", term.Token(), token)
	}
	if err := child.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if cause := said("over: "); !strings.Contains(cause, ErrLockLost.Error()) {
		t.Errorf("the stopped leader's term ended with: %s", cause)
	}
	if err := said("run: "); !strings.Contains(err, zksession.ErrSessionExpired.Error()) {
		t.Errorf("the stopped leader went on until: %s", err)
	}
}

// leadAndSay is the child: it leads in a session that is not renewed, and says what becomes of that.
func leadAndSay(t *testing.T, where string) {
	all, path, _ := strings.Cut(where, " ")
	cfg := SessionConfig{Config: zksession.Config{Servers: strings.Split(all, ","), Timeout: 4 * time.Second}}
	l := newLeaderOf(t, LeaderConfig{Session: connected(t, cfg), Path: path, ID: "child"})
	err := l.Run(t.Context(), func(ctx context.Context, term *Hold) error {
		fmt.Println("leads", term.Token())
		<-ctx.Done()
		fmt.Println("over:", context.Cause(ctx))
		return nil
	})
	fmt.Println("run:", err)
}
