package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/ensembles/labtest"
	"locklab/harness/history"
)

// A rig is a lab with an ensemble, two client hosts that run something, and a third host that stands for the
// resource.
type rig struct {
	lab      *ensembles.Lab
	ensemble *ensembles.Ensemble
	zk       []*ensembles.Host
	c1, c2   *ensembles.Host
	// resource is an address at which a host listens.
	resource netip.AddrPort
}

func newLab(t *testing.T) *ensembles.Lab {
	t.Helper()
	if testing.Short() {
		t.Skip("starts containers")
	}
	return labtest.Start(t, ensembles.HostSpec{Name: "zk1"}, ensembles.HostSpec{Name: "zk2"},
		ensembles.HostSpec{Name: "zk3"}, ensembles.HostSpec{Name: "c1", Role: ensembles.Client},
		ensembles.HostSpec{Name: "c2", Role: ensembles.Client},
		ensembles.HostSpec{Name: "r1", Role: ensembles.Resource})
}

func newRig(t *testing.T, lab *ensembles.Lab) *rig {
	t.Helper()
	r := &rig{
		lab:      lab,
		ensemble: labtest.StartEnsemble(t, lab),
		zk:       lab.Hosts(ensembles.Server),
		c1:       lab.Host("c1"),
		c2:       lab.Host("c2"),
		resource: netip.AddrPortFrom(lab.Host("r1").Address, agent.Port),
	}
	for _, h := range []*ensembles.Host{r.c1, r.c2} {
		// The resource is the simplest process that the program has.
		spec := agent.Spec{
			Argv:  []string{"locklab", "resource", "config.json"},
			Dir:   "p",
			Files: map[string]string{"config.json": fmt.Sprintf(`{"host":%q,"address":%q}`, h.Name, h.Address)},
		}
		if _, err := h.Agent.Start(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// clients returns the first client hosts.
func (r *rig) clients(n int) []*ensembles.Host { return []*ensembles.Host{r.c1, r.c2}[:n] }

// cut returns a cut of links of the lab.
func (r *rig) cut(id string, links []hostLink) cut {
	return cut{id: id, links: links, ensemble: r.ensemble}
}

// ends returns a host of the lab and its peers, for a fault with that id.
func (r *rig) ends(id string, h *ensembles.Host, peers ...*ensembles.Host) ends {
	return ends{id, h, peers, r.ensemble}
}

func (r *rig) names(hosts ...*ensembles.Host) []string {
	var all []string
	for _, h := range hosts {
		all = append(all, h.Name)
	}
	return all
}

// leader returns the leader and the others.
func (r *rig) leader(t *testing.T) (*ensembles.Host, []*ensembles.Host) {
	t.Helper()
	l, err := r.ensemble.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var others []*ensembles.Host
	for _, h := range r.zk {
		if h != l {
			others = append(others, h)
		}
	}
	return l, others
}

// within bounds the time of a look that is expected to fail.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// inject injects a fault, which must take effect and stay in force for as long as a look may take. Meanwhile, inject
// calls some functions that must not change it.
func inject(t *testing.T, f Injector, meanwhile ...func() error) *Harm {
	t.Helper()
	before := history.NewClock().Now()
	h, err := f.Inject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const slack = int64(time.Microsecond) // two calibrations of one clock
	if now := history.NewClock().Now(); h.At < before-slack || h.At > now+slack {
		t.Errorf("injected at %d, between %d and %d", h.At, before, now)
	}
	if err := h.Verify(within(t, verifyCap)); err != nil {
		t.Errorf("the harm is not there: %v", err)
	}
	looks := []func() error{func() error {
		if h.VerifyHealed(within(t, 700*time.Millisecond)) == nil {
			return errors.New("the harm is over before it was healed")
		}
		return nil
	}}
	if err := allOf(append(looks, meanwhile...)...); err != nil {
		t.Error(err)
	}
	return h
}

// heal undoes the harm. The effect must then be gone, and undoing it again must change nothing.
func heal(t *testing.T, h *Harm) {
	t.Helper()
	begun := time.Now()
	at, err := h.Heal(t.Context())
	if err != nil || at <= h.At {
		t.Errorf("healed at %d, harmed at %d: %v", at, h.At, err)
	}
	if err := h.VerifyHealed(within(t, healedCap)); err != nil {
		t.Errorf("the harm is not over: %v", err)
	}
	t.Logf("healed after %v", time.Since(begun))
	if h.Verify(within(t, time.Second)) == nil { // some look for the effect as long as they may
		t.Error("the harm is still there, or its verification cannot fail")
	}
	if _, err := h.Heal(t.Context()); err != nil {
		t.Errorf("healed again: %v", err)
	}
	if err := h.VerifyHealed(within(t, healedCap)); err != nil {
		t.Errorf("healed again, the harm is back: %v", err)
	}
}

// reaches returns the addresses that a host can reach.
func reaches(t *testing.T, from *ensembles.Host, to ...netip.AddrPort) string {
	t.Helper()
	errs, err := from.Agent.Probe(t.Context(), probeTimeout, to...)
	if err != nil {
		t.Fatal(err)
	}
	var s strings.Builder
	for _, e := range errs {
		switch {
		case e == "":
			s.WriteByte('+')
		case strings.Contains(e, "timeout"):
			s.WriteByte('-')
		default:
			s.WriteString("?" + e)
		}
	}
	return s.String()
}

// eventually waits for a condition. Its cap allows for a very busy machine.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	err := ensembles.Poll(within(t, 30*time.Second), pollEvery, what, func() error {
		if !ok() {
			return errFake
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
