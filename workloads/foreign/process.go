package foreign

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"locklab/ensembles/txnlog/nodes"
)

// ErrBroken says that a command violates the lock protocol, or has ended. The error that wraps it says how.
var ErrBroken = errors.New("the lock's command is broken")

// How long a command may take, in ticks of a second: see the protocol. Waiting is counted in ticks instead of by a
// clock, so that the time in which this process is stopped, and the command with it, is not held against the command.
const (
	greetTicks  = 30
	answerTicks = 10
	endTicks    = 3
)

// maxLine is the longest line that is accepted.
const maxLine = 64 << 10

// process is one running command.
type process struct {
	cfg      Config
	cmd      *exec.Cmd
	in, out  *os.File
	said     tail          // of its standard error
	scope    string        // perClient or perProcess
	declares string        // the rest of its greeting
	layout   nodes.Layout  // that it has declared; empty = none
	pings    bool          // it answers pings
	pinged   atomic.Bool   // the answer to a ping is due
	pongs    chan struct{} // the answers
	greeted  chan struct{} // closed when it has greeted
	ends     sync.Once
	ending   chan struct{} // closed when it is told to end
	exited   chan struct{} // closed when it has been waited for
	done     chan struct{} // closed when it can no longer be used; err says why
	running  sync.WaitGroup

	writing sync.Mutex

	mu       sync.Mutex
	err      error
	lastID   int64
	calls    map[int64]*call
	sessions map[int64]*Session
	late     map[int64]bool // requests (false: holds) of sessions that are over: answers may still come
}

// startProcess starts a command and waits for its greeting.
func startProcess(ctx context.Context, cfg Config) (*process, error) {
	p := &process{cfg: cfg, greeted: make(chan struct{}), exited: make(chan struct{}), done: make(chan struct{}),
		pongs: make(chan struct{}, 1), ending: make(chan struct{}),
		calls: map[int64]*call{}, sessions: map[int64]*Session{}, late: map[int64]bool{}}
	p.cmd = exec.Command(cfg.Argv[0], cfg.Argv[1:]...)
	p.cmd.Dir, p.cmd.Env = cfg.Dir, append(os.Environ(), cfg.Env...)
	p.cmd.Stderr = io.MultiWriter(cfg.Stderr, &p.said)
	p.cmd.WaitDelay = cfg.tick // for what the command started, and which still has its standard error
	theirIn, ourIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	ourOut, theirOut, err := os.Pipe()
	if err != nil {
		ourIn.Close()
		return nil, err
	}
	defer theirOut.Close()
	p.in, p.out, p.cmd.Stdin, p.cmd.Stdout = ourIn, ourOut, theirIn, theirOut
	if err := p.cmd.Start(); err != nil {
		ourIn.Close()
		ourOut.Close()
		return nil, fmt.Errorf("%w: start: %w", ErrBroken, err)
	}
	p.running.Go(func() {
		_ = p.cmd.Wait() // ProcessState has it
		close(p.exited)
		// What it started may still have its standard output.
		_ = p.out.SetReadDeadline(time.Now().Add(p.cfg.tick))
	})
	p.running.Go(p.read)
	var dead error
	waited := make(chan struct{})
	defer close(waited)
	select {
	case <-p.greeted:
		if cfg.Greeted != nil {
			cfg.Greeted(p.scope, p.declares)
		}
		if p.pings && cfg.Answered != nil {
			p.running.Go(p.watch)
		}
		return p, nil
	case <-p.done:
		dead = p.failure()
	case <-ctx.Done():
		dead = context.Cause(ctx)
	case <-p.after(waited, greetTicks):
		dead = p.broken(fmt.Errorf("it has not greeted within %d s", greetTicks))
	}
	p.fail(dead)
	p.wait()
	return nil, dead
}

// after returns a channel that is closed after so many ticks, or once stop is.
func (p *process) after(stop <-chan struct{}, ticks int) <-chan struct{} {
	c := make(chan struct{})
	go func() {
		defer close(c)
		t := time.NewTicker(p.cfg.tick)
		defer t.Stop()
		for range ticks {
			select {
			case <-t.C:
			case <-stop:
				return
			}
		}
	}()
	return c
}

// broken returns an error that says why a command is broken, which command it is, and what it wrote to its standard
// error.
func (p *process) broken(why error) error {
	err := fmt.Errorf("%w (%s): %w", ErrBroken, strings.Join(p.cfg.Argv, " "), why)
	if s := p.said.String(); s != "" {
		err = fmt.Errorf("%w; it said: %s", err, s)
	}
	return err
}

// fail ends the use of the command for the given reason. The first reason stays.
func (p *process) fail(why error) {
	p.mu.Lock()
	if p.err != nil {
		p.mu.Unlock()
		return
	}
	p.err = why
	sessions := p.sessions
	p.sessions = map[int64]*Session{}
	p.mu.Unlock()
	for _, s := range sessions {
		s.end(why)
	}
	close(p.done)
	_ = p.cmd.Process.Kill() // it may have exited already
	p.in.Close()
	_ = p.out.SetReadDeadline(time.Now())
}

func (p *process) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// wait waits for all that serves a failed process.
func (p *process) wait() {
	p.running.Wait()
	p.out.Close()
}

// read reads the command's answers until there are no more.
func (p *process) read() {
	in := bufio.NewScanner(p.out)
	in.Buffer(nil, maxLine)
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		if line == "" {
			continue
		}
		if err := p.take(line); err != nil {
			p.fail(p.broken(fmt.Errorf("line %d of its output, %.200q: %w", n, line, err)))
			return
		}
		if p.failure() != nil {
			return
		}
	}
	p.fail(p.over(in.Err()))
}

// over returns why there is nothing more to read.
func (p *process) over(err error) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return p.broken(fmt.Errorf("a line of its output is longer than %d bytes", maxLine))
	}
	select {
	case <-p.exited:
	case <-p.after(p.exited, 1):
	}
	select {
	case <-p.exited:
		select {
		case <-p.ending:
			return errEnded
		default:
			return p.broken(fmt.Errorf("it has ended%s: %s", p.before(), p.cmd.ProcessState))
		}
	default:
	}
	if err != nil {
		return p.broken(fmt.Errorf("read its output: %w", err))
	}
	return p.broken(fmt.Errorf("it has closed its output%s", p.before()))
}

// before says if the command has not greeted yet.
func (p *process) before() string {
	select {
	case <-p.greeted:
		return ""
	default:
		return " before it greeted with " + greeting + "per-client"
	}
}

// errEnded is the end of a command that was told to end.
var errEnded = errors.New("the lock's command has been ended")

// take handles one line.
func (p *process) take(line string) error {
	select {
	case <-p.greeted:
	default:
		if err := p.greet(line); err != nil {
			return err
		}
		close(p.greeted)
		return nil
	}
	if line == pong {
		if !p.pinged.CompareAndSwap(true, false) {
			return errors.New("no ping waits for an answer")
		}
		p.pongs <- struct{}{}
		return nil
	}
	a, err := parse(line)
	if err != nil {
		return err
	}
	if a.verb == fatal {
		p.fail(p.broken(errors.New(a.text)))
		return nil
	}
	return p.dispatch(a)
}

// greet reads the greeting.
func (p *process) greet(line string) error {
	rest, greets := strings.CutPrefix(line, greeting)
	p.scope, p.declares, _ = strings.Cut(rest, " ")
	if !greets || p.scope != perClient && p.scope != perProcess {
		return fmt.Errorf("expected %q or %q", greeting+perClient, greeting+perProcess)
	}
	for declares := range strings.FieldsSeq(p.declares) {
		text, is := strings.CutPrefix(declares, declaresLayout)
		switch {
		case declares == declaresPings:
			p.pings = true
			continue
		case !is:
			return fmt.Errorf("%q is not known in a greeting; expected %sLAYOUT, %s or nothing", declares, declaresLayout,
				declaresPings)
		}
		var err error
		if p.layout, err = nodes.ParseLayout(text); err != nil {
			return fmt.Errorf("%w; a layout is %s", err, nodes.LayoutForms)
		}
	}
	return nil
}

// pingEvery is how often a command is pinged that answers pings.
const pingEvery = 100 * time.Millisecond

// watch pings the command until it can no longer be used.
func (p *process) watch() {
	t := time.NewTicker(pingEvery)
	defer t.Stop()
	for over := false; !over; {
		select {
		case <-t.C:
		case <-p.ending:
			return
		case <-p.done:
			return
		}
		sent, pongs := time.Now(), p.pongs
		p.pinged.Store(true)
		if p.write([]byte(ping+"\n")) != nil {
			pongs = nil // whoever has a request finds out why
		}
		over = true
		select {
		case <-pongs:
			over = false
		case <-p.ending: // it may be slow to exit
		case <-p.done:
		}
		p.cfg.Answered(time.Since(sent)) // or it stood still until then
	}
}

// send writes a request.
func (p *process) send(format string, args ...any) error {
	if err := p.write([]byte(fmt.Sprintf(format, args...) + "\n")); err != nil {
		return p.notSent(err)
	}
	return nil
}

// write writes a line.
func (p *process) write(line []byte) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	for range answerTicks {
		if err := p.in.SetWriteDeadline(time.Now().Add(p.cfg.tick)); err != nil {
			return err
		}
		n, err := p.in.Write(line)
		if err == nil {
			return nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		line = line[n:]
	}
	return fmt.Errorf("it has not read its input for %d s", answerTicks)
}

// notSent ends a command that does not accept requests. If it has already ended, the reason for that says more.
func (p *process) notSent(err error) error {
	select {
	case <-p.done:
	case <-p.after(p.done, 3):
		p.fail(p.broken(fmt.Errorf("write to its input: %w", err)))
	}
	return p.failure()
}

// end tells the command to exit, and kills it if it does not.
func (p *process) end() {
	p.ends.Do(func() { close(p.ending) })
	if p.failure() == nil {
		_ = p.send("end")
		p.in.Close()
		select {
		case <-p.exited:
		case <-p.after(p.exited, endTicks):
		}
	}
	p.fail(errEnded)
	p.wait()
}

// tail keeps the end of the text that is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const tailBytes = 500

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	t.b = t.b[max(0, len(t.b)-tailBytes):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.b))
}
