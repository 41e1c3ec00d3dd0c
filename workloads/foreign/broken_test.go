package foreign

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// hello greets and opens a session; the rest of the script is the case's own.
const hello = `echo locklab-lock 1 per-client; read -r _ s _; echo "opened $s"; `

// grantNext grants the next request.
const grantNext = `read -r _ id _; echo "granted $id"; `

// Whatever a command does wrong, an error says what, and no caller hangs.
func TestBrokenCommands(t *testing.T) {
	const long, short = time.Second, 50 * time.Millisecond
	for _, tt := range []struct {
		name, script string
		tick         time.Duration
		path         string
		want         string
	}{
		{"ends at once", `echo why >&2; exit 4`, long, "/l",
			"it has ended before it greeted with locklab-lock 1 per-client: exit status 4; it said: why"},
		{"is killed", hello + `kill -9 $$`, long, "/l", "it has ended: signal: killed"},
		{"ends and leaves a child with its output", hello + `sleep 10 & exit 5`, short, "/l",
			"it has ended: exit status 5"},
		{"greets wrongly", `echo hello; cat`, long, "/l",
			`line 1 of its output, "hello": expected "locklab-lock 1 per-client"`},
		{"declares a layout that is none", `echo locklab-lock 1 per-client layout=kazoo; cat`, long, "/l",
			`"kazoo" is not a layout; a layout is queue, read-write`},
		{"declares something else", `echo locklab-lock 1 per-client colour=red; cat`, long, "/l",
			`"colour=red" is not known in a greeting; expected layout=LAYOUT, pings or nothing`},
		{"greets in another version", `echo locklab-lock 2 per-client; cat`, long, "/l", `line 1 of its output`},
		{"does not greet", `exec sleep 300`, short, "/l", "it has not greeted within 30 s"},
		{"prints garbage", hello + `echo; echo 'Segmentation fault'; cat`, long, "/l",
			`line 4 of its output, "Segmentation fault": not an answer of the lock protocol`},
		{"answers a ping that was not sent", hello + `echo pong; cat`, long, "/l", "no ping waits for an answer"},
		{"prints bad ids", hello + `echo granted x; cat`, long, "/l", `granted names "x", which is not an ID`},
		{"prints bad tokens", hello + `read -r _ id _; echo "granted $id -5"; cat`, long, "/l", `"-5" is not a token`},
		{"prints two tokens for one lock", hello + `read -r _ id _; echo "granted $id 5,6"; cat`, long, "/l",
			`2 tokens for 1 paths`},
		{"prints too much", hello + `read -r _ id _; echo "granted $id 5 0x6 7 8"; cat`, long, "/l",
			`"8" is more than the answer can have`},
		{"prints without end", hello + `while :; do printf 0123456789; done`, long, "/l", "longer than 65536 bytes"},
		{"grants twice", hello + grantNext + `echo "granted $id"; cat`, long, "/l",
			"acquire 2 was granted twice"},
		{"grants what was not asked for", hello + `echo "granted 77"; cat`, long, "/l",
			"granted names 77, which no request waits for"},
		{"releases unasked", hello + grantNext + `echo "released $id"; cat`, long, "/l", "released answers a hold"},
		{"expires what it has not opened", hello + `echo "expired 78"; cat`, long, "/l",
			"expired names session 78, which was never opened"},
		{"says that it cannot go on", hello + `echo 'error no more memory'; cat`, long, "/l", "no more memory"},
		{"closes its output", hello + `exec 1>&-; exec sleep 300`, short, "/l", "it has closed its output"},
		{"closes its input", `echo locklab-lock 1 per-client; read -r _ s _; exec 0<&-; echo "opened $s"; exec sleep 300`,
			short, "/l", "write to its input"},
		{"does not read", hello + `exec sleep 300`, short, "/" + strings.Repeat("l", 200_000),
			"it has not read its input for 10 s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := driver(t, tt.script, tt.tick)
			err := use(within(t), d, tt.path)
			if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %.500v\nwant %s", err, tt.want)
			}
		})
	}
}

// use opens a session, acquires a lock, and waits for the end of the session.
func use(ctx context.Context, d *Driver, path string) error {
	s, err := d.Open(
		ctx,
		SessionConfig{Servers: []string{"127.0.0.1:2181"}, Timeout: time.Second, Paths: []string{"/l"}},
	)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close(context.WithoutCancel(ctx)) }()
	if _, err := s.Lock(LockConfig{Paths: []string{path}}).Acquire(ctx); err != nil {
		return err
	}
	select {
	case <-s.Done():
		return s.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A command that reads its requests but does not answer even a cancel is broken.
func TestACancelIsAnswered(t *testing.T) {
	d := driver(t, hello+`while read -r line; do :; done`, 50*time.Millisecond)
	s := session(t, d, nil)
	ctx, cancel := context.WithCancel(within(t))
	cancelled := make(chan error, 1)
	go func() {
		_, err := s.Lock(LockConfig{Paths: []string{"/l"}}).Acquire(ctx)
		cancelled <- err
	}()
	cancel()
	if err := <-cancelled; !errors.Is(err, ErrBroken) && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	ctx, cancel = context.WithTimeout(within(t), time.Millisecond)
	defer cancel()
	_, err := s.Lock(LockConfig{Paths: []string{"/l"}}).Acquire(ctx)
	if want := "it has not answered the cancel of acquire"; !errors.Is(err, ErrBroken) ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// A command that does not end when it is asked to is killed.
func TestTheEndIsEnforced(t *testing.T) {
	d := driver(
		t,
		hello+`trap '' TERM; while :; do read -r verb id || exec sleep 300; [ "$verb" = close ] && echo "closed $id"; done`,
		50*time.Millisecond,
	)
	s := session(t, d, nil)
	if err := s.Close(within(t)); err != nil {
		t.Error(err)
	}
	if how := s.p.cmd.ProcessState; how == nil || how.Success() {
		t.Errorf("the command ended: %v", how)
	}
}

// An open that is given up leaves the command usable for other sessions.
func TestAnOpenIsGivenUp(t *testing.T) {
	d := driver(t, `echo locklab-lock 1 per-process
		slow=1
		while read -r verb id rest; do case $verb in
		open) [ -n "$slow" ] || echo "opened $id"; slow= ;;
		acquire) echo "granted $id" ;;
		release) echo "released $id" ;;
		close) echo "opened $id"; echo "closed $id" ;;
		end) exit ;;
		esac; done`, 0)
	ctx, cancel := context.WithTimeout(within(t), 10*time.Millisecond)
	defer cancel()
	_, err := d.Open(ctx, SessionConfig{Servers: []string{"127.0.0.1:2181"}, Paths: []string{"/l"}})
	for err != nil && d.shared == nil { // it had not even greeted
		again, cancel := context.WithTimeout(within(t), 500*time.Millisecond)
		_, err = d.Open(again, SessionConfig{Servers: []string{"127.0.0.1:2181"}, Paths: []string{"/l"}})
		cancel()
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("an open without an answer: %v", err)
	}
	s := session(t, d, nil)
	if err := acquire(t, s).Release(within(t)); err != nil {
		t.Error(err)
	}
}
