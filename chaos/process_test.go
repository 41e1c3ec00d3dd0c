package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// An agency stands for one host's agent, with a process that consists of its state only.
type agency struct {
	mu     sync.Mutex
	status agent.Status
	told   int  // the start whose process was told what to do
	deaf   bool // it does not take the next order to resume
	// srvr returns what the server of a start answers to srvr.
	srvr func(starts int) string
}

// newAgency returns an agency and its host. The host's process runs and has its instructions. It stops when it reads
// a line of input.
func newAgency(t *testing.T) (*agency, *ensembles.Host) {
	t.Helper()
	a := &agency{status: agent.Status{State: history.ProcessStarted, Starts: 1}, told: 1}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		switch r.URL.Path {
		case "/kill", "/stop":
			a.status.State = history.ProcessExited
		case "/start":
			a.startLocked()
		case "/zookeeper/srvr":
			io.WriteString(w, a.srvr(a.status.Starts))
			return
		case "/input":
			a.status.State = history.ProcessStopped
		case "/resume":
			if a.deaf {
				a.deaf = false
				http.Error(w, "deaf", http.StatusInternalServerError)
				return
			}
			a.status.State = history.ProcessContinued
		}
		json.NewEncoder(w).Encode(a.status)
	}))
	t.Cleanup(s.Close)
	c := agent.NewClient("c1", strings.TrimPrefix(s.URL, "http://"), "")
	t.Cleanup(c.Close)
	return a, &ensembles.Host{Name: "c1", Agent: c}
}

func (a *agency) start() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.startLocked()
}

func (a *agency) startLocked() {
	a.status.State = history.ProcessStarted
	a.status.Starts++
	a.status.PID = a.status.Starts
}

func (a *agency) tell() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told = a.status.Starts
}

func (a *agency) untold() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.status.State == history.ProcessExited || a.told != a.status.Starts {
		return errors.New("it does not work")
	}
	return nil
}

// A crash loop that is healed while it starts the process leaves a process that has its instructions.
func TestHealingACrashLoopInTheMiddleOfAStart(t *testing.T) {
	a, h := newAgency(t)
	started, goOn := make(chan struct{}), make(chan struct{})
	p := Process{
		Host: h,
		Up:   func(context.Context) error { return a.untold() },
		Restart: func(ctx context.Context) (int64, error) {
			a.start()
			close(started)
			<-goOn
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			a.tell()
			return 1, nil
		},
	}
	harm, err := p.crashLoop(t.Context(), mostCrashes)
	if err != nil {
		t.Fatal(err)
	}
	<-started
	healed := make(chan error, 1)
	go func() { _, err := harm.Heal(t.Context()); healed <- err }()
	ended := func() bool { return !strings.Contains(harm.VerifyHealed(within(t, pollEvery)).Error(), "goes on") }
	eventually(t, "the healing to have begun", ended)
	close(goOn)
	if err := errors.Join(<-healed, harm.VerifyHealed(within(t, time.Second))); err != nil {
		t.Error(err)
	}
}

// A heal that was interrupted between the start and the instructions is completed by the next one.
func TestHealingAgainFinishesAStart(t *testing.T) {
	a, h := newAgency(t)
	p := Process{Host: h, Up: func(context.Context) error { return a.untold() },
		Finish:  func(context.Context) error { a.tell(); return nil },
		Restart: func(context.Context) (int64, error) { a.start(); return 0, errFake }}
	harm, err := p.kill(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := harm.Heal(t.Context()); !errors.Is(err, errFake) {
		t.Errorf("the first heal: %v", err)
	}
	if err := harm.VerifyHealed(within(t, 2*pollEvery)); err == nil {
		t.Error("it is healed though the process was told nothing")
	}
	if _, err := harm.Heal(t.Context()); err != nil {
		t.Error(err)
	}
	if err := harm.VerifyHealed(within(t, time.Second)); err != nil {
		t.Error(err)
	}
}

// A client that stopped itself for a fault, and could not be resumed, is resumed when the fault is healed.
func TestAStoppedClientIsNotForgotten(t *testing.T) {
	a, h := newAgency(t)
	a.deaf = true
	healed := false
	fault := injectorFunc(func(context.Context) (*Harm, error) {
		return &Harm{
			At:           7,
			Hosts:        []string{"zk1"},
			Heal:         func(context.Context) (int64, error) { healed = true; return 8, nil },
			VerifyHealed: func(context.Context) error { return nil },
		}, nil
	})
	f := atTrigger{
		pauseAtTrigger: pauseAtTrigger{byClient{id: "f1", host: h, witness: watcher{host: h}}, "a point"},
		injector:       fault,
	}
	harm, err := f.Inject(t.Context())
	if err == nil || harm == nil || !slices.Equal(harm.Hosts, []string{"zk1", "c1"}) {
		t.Fatalf("%+v, %v", harm, err)
	}
	if harm.VerifyHealed(within(t, 2*pollEvery)) == nil {
		t.Error("it is over though the client is stopped")
	}
	if _, err := harm.Heal(t.Context()); err != nil || !healed {
		t.Errorf("the fault is healed: %v, %v", healed, err)
	}
	if err := harm.VerifyHealed(within(t, time.Second)); err != nil {
		t.Error(err)
	}
}
