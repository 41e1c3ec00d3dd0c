package series

import (
	"maps"
	"math"
	"slices"
	"time"

	"locklab/chaos"
	"locklab/harness/settings"
)

// The panels: what happens to a holder.
const (
	PanelPause = "pause" // its process stops at any instant of its hold
	PanelWorst = "worst" // its process stops directly before its write
	PanelCut   = "cut"   // it is cut off from all servers, and still reaches the resource
	PanelSlow  = "slow"  // its packets to and from the servers are late
	// PanelIsolated has holders whose server is cut off from the others.
	PanelIsolated = "isolated"
)

// A dangerPanel is one panel: which fault strikes its victims, and what a dose of it is.
type dangerPanel struct {
	name  string
	title string // what the holders are
	// faults names the faults, and axis what their doses measure, in session timeouts.
	faults, axis string
	// trigger is the point of a hold at which the fault strikes its victim; empty if it strikes a server, at any time, and
	// so everybody who holds a lock and is connected to it. The keys are the fault's own.
	trigger string
	keys    map[string]string
	// delays says that a dose is the time that the fault adds to a round trip. Otherwise it is how long the fault lasts.
	delays bool
	// hold is how long clients hold the lock, in session timeouts; 0 = as long as the plan says.
	hold float64
}

// farHold is how long clients hold a lock in session timeouts where only their way to the servers is struck. They go on
// working then, so a hold must be longer than a session lives for its holder to act beside another one.
const farHold = 3

// dangerPanels are the panels in the order of a picture.
var dangerPanels = []dangerPanel{
	{name: PanelPause, title: "paused at any instant of the hold", faults: "pauses", axis: "length of the pause",
		trigger: chaos.TriggerHold, keys: map[string]string{"kind": "pause"}},
	{name: PanelWorst, title: "paused directly before the write", faults: "pauses", axis: "length of the pause",
		trigger: chaos.TriggerWrite, keys: map[string]string{"kind": "pause"}},
	{name: PanelCut, title: "cut off from the servers", faults: "cuts", axis: "length of the cut",
		trigger: chaos.TriggerHold, keys: map[string]string{"kind": "partition", "from": chaos.FromServers}, hold: farHold},
	{name: PanelSlow, title: "on a slow link to the servers", faults: "delays", axis: "delay of a round trip",
		trigger: chaos.TriggerHold, keys: map[string]string{"kind": "latency", "from": chaos.FromServers}, hold: farHold,
		delays: true},
	{name: PanelIsolated, title: "on a server that is cut off from the others", faults: "cuts", axis: "length of the cut",
		keys: map[string]string{"kind": "partition", "from": chaos.FromServers}, hold: farHold},
}

// isolatedServes is how long a server that is cut off from the others goes on serving its clients, in session timeouts.
// With ZooKeeper's sample configuration, in which that takes ten seconds, it is so for a session timeout of five.
const isolatedServes = 2

// DangerPanels lists the names of the panels.
func DangerPanels() (names []string) {
	for _, p := range dangerPanels {
		names = append(names, p.name)
	}
	return names
}

// panelOf returns the panel with a name.
func panelOf(name string) *dangerPanel {
	i := slices.IndexFunc(dangerPanels, func(p dangerPanel) bool { return p.name == name })
	return &dangerPanels[i]
}

// holds is how long clients of the panel hold a lock.
func (d *dangerPanel) holds(p *DangerPlan) time.Duration {
	if d.hold > 0 {
		return time.Duration(d.hold * float64(p.Timeout))
	}
	return p.Hold
}

// strikesServers reports whether the faults strike servers instead of victims.
func (d *dangerPanel) strikesServers() bool { return d.trigger == "" }

// fault is the panel's fault of a victim.
func (d *dangerPanel) fault(victim string, timeout time.Duration, dose float64) (chaos.Fault, error) {
	keys := maps.Clone(d.keys)
	keys["target"] = victim
	if !d.strikesServers() {
		keys["trigger"] = d.trigger
	}
	if d.delays {
		keys["latency"] = settings.FormatDuration(time.Duration(math.Round(dose * float64(timeout) / 2)))
	}
	f, err := chaos.ParseFault(keys)
	f.For = chaos.Span{Timeouts: d.lasts(dose)}
	return f, err
}

// lasts is how long a fault with a dose lasts, in session timeouts.
func (d *dangerPanel) lasts(dose float64) float64 {
	if d.delays {
		return d.hold
	}
	return dose
}

// between is about how long it takes from the end of a victim's fault to its next one: a connection, perhaps to a new
// session, then the rival's hold and part of its own.
func (d *dangerPanel) between(p *DangerPlan) time.Duration {
	switch {
	case d.strikesServers(): // half of it until the earliest next one, so that each of the two has held the lock
		return 2 * d.holds(p)
	case d.hold > 0: // the fault and the rest of the victim's hold pass together
		return 5 * d.holds(p) / 2
	}
	return 3*p.Hold + 300*time.Millisecond
}

// doseOf returns the one of the doses that a fault has; NaN if it has none of them.
func (d *dangerPanel) doseOf(f chaos.Fault, timeout time.Duration, doses []float64) float64 {
	for _, dose := range doses {
		like, err := d.fault(string(f.Target), timeout, dose)
		if like.At = f.At; err == nil && like.String() == f.String() {
			return dose
		}
	}
	return math.NaN()
}

// expires is the predicted band of doses in which the victim's session expires.
//
// The service last heard of a client up to a third of the timeout before it was struck, and notices up to 1.5 ticks
// late. On a slow link, a client goes to another server when no answer has come for two thirds of the timeout, and its
// session lives if its request to go on there arrives in time: a third of the timeout later, or up to 1.5 ticks after
// that. The request takes half of the round trip. A follower tells the leader of its clients every half tick.
func (d *dangerPanel) expires(p *DangerPlan) [2]float64 {
	tick := float64(p.Tick) / float64(p.Timeout)
	late := 1.5 * tick
	switch {
	case d.strikesServers():
		return [2]float64{2./3 - tick/2, 1 + late}
	case d.delays:
		return [2]float64{2. / 3, 2 * (1./3 + late)}
	}
	return [2]float64{0.67, 1 + late}
}
