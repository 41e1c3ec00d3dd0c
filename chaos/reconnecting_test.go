package chaos

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A crowd is a set of clients, some of which are away.
type crowd struct {
	mu   sync.Mutex
	away []string
}

func (c *crowd) set(away ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = away
}

func (c *crowd) list() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.away)
}

// An episode is harm that follows its script.
type episode struct {
	momentary bool
	unhealed  error
}

func (e episode) Inject(context.Context) (*Harm, error) {
	nothing := func(context.Context) error { return nil }
	h := &Harm{At: 1, Verify: nothing, VerifyHealed: nothing}
	if !e.momentary {
		h.Heal = func(context.Context) (int64, error) { return 2, e.unhealed }
	}
	return h, nil
}

func TestReconnecting(t *testing.T) {
	ctx := t.Context()
	c := &crowd{}
	among := &reconnects{}
	inject := func(e episode) *Harm {
		t.Helper()
		h, err := reconnecting{Injector: e, among: among, away: c.list}.Inject(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	heal := func(h *Harm) {
		t.Helper()
		if at, err := h.Heal(ctx); at != 2 || err != nil {
			t.Fatal(at, err)
		}
	}
	// This bounds a look that is expected to fail. A look that is expected to succeed may take as long as it needs.
	look := func(h *Harm) error {
		ctx, cancel := context.WithTimeout(ctx, 10*pollEvery)
		defer cancel()
		return h.VerifyHealed(ctx)
	}
	missing := func(h *Harm, name string) {
		t.Helper()
		if err := look(h); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("verified to be healed while %s is away: %v", name, err)
		}
	}
	passes := func(h *Harm) {
		t.Helper()
		if err := h.VerifyHealed(ctx); err != nil {
			t.Error(err)
		}
	}

	a, b := inject(episode{}), inject(episode{})
	c.set("c1/0", "c2/0")
	heal(a)
	passes(a) // b may keep them away
	heal(b)
	missing(b, "c1/0")
	missing(a, "c1/0") // neither is in force now
	c.set("c2/0")
	missing(b, "c2/0")
	time.AfterFunc(3*pollEvery, func() { c.set("c3/0") }) // a client that leaves later has another reason
	passes(b)

	momentary := inject(episode{momentary: true})
	if momentary.Heal != nil {
		t.Error("harm that needs no healing can be healed")
	}
	missing(momentary, "c3/0")
	c.set()
	passes(momentary)

	stuck := inject(episode{unhealed: errors.New("no answer")})
	if _, err := stuck.Heal(ctx); err == nil {
		t.Error("healed")
	}
	c.set("c1/0")
	later := inject(episode{})
	heal(later)
	passes(later) // the fault that is still in force may keep clients away
}
