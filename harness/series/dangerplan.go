package series

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/harness/fail"
	"locklab/harness/records"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/settings"
	"locklab/harness/simulate"
	"locklab/reports/danger"
	"locklab/workloads"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
)

// Names in the directory of a danger measurement, besides the folder of its runs.
const (
	dangerPlanFile   = "danger-plan.json" // raw: the plan, which is written first
	dangerFile       = "danger.json"      // derived
	dangerRuns       = "runs"             // a folder for each curve, with its run directories
	dangerPlanSchema = 1
)

// ErrNoDanger says that a directory holds no danger measurement.
var ErrNoDanger = fail.Input.New("no danger measurement")

// A DangerPlan is what is measured, and the content of danger-plan.json. The same plan makes the same rounds: which
// victim is struck for how long, in which order, and at which instant of its hold.
type DangerPlan struct {
	SchemaVersion int           `json:"schema_version"`
	Seed          uint64        `json:"seed"`
	Timeout       time.Duration `json:"session_timeout_ns"`
	Tick          time.Duration `json:"tick_ns"`
	Hold          time.Duration `json:"hold_ns"`
	// Victims are processes with one client each. Each has a lock of its own, which one rival in another process wants
	// too.
	Victims int       `json:"victims"`
	Servers int       `json:"servers"`
	Lab     string    `json:"lab"`
	Panels  []string  `json:"panels"`
	Doses   []float64 `json:"doses"` // lengths in session timeouts, the shortest first
	// Guards protect this library's mutex. Recipes are other locks, each without a guard.
	Guards  []string `json:"guards"`
	Recipes []string `json:"recipes"`

	_ struct{}
}

// A dangerCurve is one curve of a plan.
type dangerCurve struct{ panel, recipe, guard string }

func (c dangerCurve) String() string { return c.panel + ", " + danger.CurveName(c.recipe, c.guard) }

// Check says what is wrong with the plan before anything starts.
func (p *DangerPlan) Check() error {
	if err := p.settings(); err != nil {
		return err
	}
	for i, name := range p.Panels {
		if !slices.Contains(DangerPanels(), name) {
			return scenario.Refuse("--panels", strings.Join(DangerPanels(), ", "), "there is no panel %s", name)
		}
		if slices.Contains(p.Panels[:i], name) {
			return scenario.Refuse("--panels", "each panel once", "%s is given twice", name)
		}
	}
	for i, g := range p.Guards {
		if _, known := guard.Find(g); !known {
			return scenario.Refuse("--guards", strings.Join(guard.Names(), ", "), "there is no guard %s", g)
		}
		if slices.Contains(p.Guards[:i], g) {
			return scenario.Refuse("--guards", "each guard once", "%s is given twice", g)
		}
	}
	for i, d := range p.Doses {
		if !(d >= 0.05 && d <= 20) {
			return scenario.Refuse("--doses", "from 0.05 to 20 session timeouts", "a pause of %v session timeouts", d)
		}
		if slices.Contains(p.Doses[:i], d) {
			return scenario.Refuse("--doses", "each length once", "%v is given twice", d)
		}
	}
	switch {
	case len(p.Doses) == 0 || len(p.Panels) == 0 || len(p.Guards)+len(p.Recipes) == 0:
		return scenario.Refuse("--guards", "at least one panel, dose, and guard or recipe", "there is nothing to measure")
	case p.Victims < 1 || p.Victims > 60:
		return scenario.Refuse("--victims", "from 1 to 60", "%d victims", p.Victims)
	case p.Victims*len(p.Doses) > chaos.MaxFaults:
		return scenario.Refuse("--victims", "fewer victims or doses",
			"%d victims with %d doses make more than %d faults", p.Victims, len(p.Doses), chaos.MaxFaults)
	case p.Hold <= 0 || p.Hold > p.Timeout:
		return scenario.Refuse("--hold", "more than 0s and at most the session timeout",
			"a hold of %s with a session timeout of %s", p.Hold, p.Timeout)
	}
	slices.Sort(p.Doses)
	for _, c := range p.curves() {
		sc, err := p.round(c, 1, p.Doses)
		if err == nil && p.Lab == ensembles.LabSim {
			err = simulate.Refuse(sc)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
		if got := sc.Negotiated(); got != p.Timeout {
			return scenario.Refuse("--session-timeout", "from 2 to 20 ticks",
				"servers with a tick of %s grant %s instead of %s", p.Tick, got, p.Timeout)
		}
	}
	return nil
}

// settings refuses what the scenario's flags of the same names would refuse.
func (p *DangerPlan) settings() error {
	sc := scenario.Defaults()
	for _, given := range [][2]string{{"lab", p.Lab}, {"servers", strconv.Itoa(p.Servers)}, {"tick", p.Tick.String()},
		{"session-timeout", p.Timeout.String()}} {
		if err := sc.Set(given[0], given[1]); err != nil {
			return err
		}
	}
	if err := sc.Validate(); err != nil {
		return err
	}
	for _, recipe := range p.Recipes {
		if err := sc.Set("recipe", recipe); err != nil {
			return err
		}
	}
	return nil
}

// curves are the curves of all panels, those of one lab beside one another.
func (p *DangerPlan) curves() (all []dangerCurve) {
	add := func(recipe, guard string) {
		for _, panel := range dangerPanels {
			if slices.Contains(p.Panels, panel.name) {
				all = append(all, dangerCurve{panel.name, recipe, guard})
			}
		}
	}
	for _, g := range p.Guards {
		add(lock.Mutex, g)
	}
	for _, r := range p.Recipes {
		add(r, guard.None)
	}
	return all
}

// leastFaults is how many faults a victim has at least in a round, so that the beginning and the end of a run are worth
// their time.
const leastFaults = 6

// round returns the scenario of a curve's n-th run, from 1, with some of the doses. Each victim is struck by each of
// them, in an order of its own.
func (p *DangerPlan) round(c dangerCurve, n int, doses []float64) (*scenario.Scenario, error) {
	panel := panelOf(c.panel)
	sc := scenario.Defaults()
	sc.Name = "danger-" + c.panel
	sc.About = "How often is the lock unsafe for a holder that is " + panel.title + "?"
	sc.Lab, sc.Servers, sc.Storage = p.Lab, p.Servers, scenario.StorageTmpfs
	sc.SessionTimeout, sc.Tick = p.Timeout, p.Tick
	sc.Recipe, sc.Guard = c.recipe, c.guard
	sc.VictimAlone, sc.Victims, sc.ClientProcesses, sc.Clients = true, p.Victims, p.Victims+1, 2*p.Victims
	sc.Locks, sc.LockChoice = p.Victims, workloads.Choice{Dealt: true}
	sc.Hold.Centre = panel.holds(p)
	sc.Think.Centre = p.Hold / 4
	sc.Expect = map[string]string{"belief-exclusion": "any", "effect": "any", "fairness": "any"}
	if g, _ := guard.Find(c.guard); g.RefusesStale() {
		sc.Expect["effect"] = "pass"
	}
	draw := rand.New(rand.NewPCG(p.Seed, dangerStream(c, n)))
	sc.Seed = 1 + draw.Uint64N(1<<32)
	victims := make([]string, p.Victims)
	for v := range victims {
		victims[v] = fmt.Sprintf("c%d", v+1)
	}
	if panel.strikesServers() {
		victims = []string{string(chaos.TargetFollower)}
		sc.SyncLimit = max(1, int(isolatedServes*p.Timeout/p.Tick))
		// Holders must be at different instants of their holds, because one fault strikes many.
		sc.Hold.Kind, sc.Hold.Sigma = workloads.LogNormal, 0.3
	}
	times := max(1, leastFaults/len(doses))
	var longest time.Duration
	for _, victim := range victims {
		// The order is drawn from all doses, so that it does not depend on which of them are still open.
		var lasts time.Duration
		for range times {
			for _, i := range draw.Perm(len(p.Doses)) {
				dose := p.Doses[i]
				if !slices.Contains(doses, dose) {
					continue
				}
				f, err := panel.fault(victim, p.Timeout, dose)
				if err != nil {
					return nil, err
				}
				if panel.strikesServers() {
					f.At = lasts + time.Duration((1+draw.Float64())*float64(panel.holds(p))) // from the first holds on
				}
				sc.Faults = append(sc.Faults, f)
				lasts += time.Duration(panel.lasts(dose)*float64(p.Timeout)) + panel.between(p)
			}
		}
		longest = max(longest, lasts)
	}
	sc.Warmup = 2 * time.Second
	sc.Duration = (longest + 2*panel.holds(p) + 2*p.Timeout + 2*time.Second).Round(time.Second)
	return sc, sc.Validate()
}

// dangerStream is the stream of random numbers of a round.
func dangerStream(c dangerCurve, n int) uint64 {
	s := uint64(n)
	for _, b := range []byte(c.String()) {
		s = s*1_099_511_628_211 + uint64(b)
	}
	return s
}

// dir is the directory of a curve's n-th run.
func (p *DangerPlan) dir(dir string, c dangerCurve, n int) string {
	return filepath.Join(dir, dangerRuns, folderName([]string{c.panel, c.recipe, c.guard}, ""), fmt.Sprintf("%02d", n))
}

var dangerPlans = rundir.PlanDir[DangerPlan]{What: "danger measurement", File: dangerPlanFile,
	None: ErrNoDanger, Check: (*DangerPlan).check}

// Begin makes the directory and writes the plan. A directory that has the same plan already goes on there.
func (p *DangerPlan) Begin(dir string) error { return dangerPlans.Begin(dir, p) }

// ReadDangerPlan reads the plan in a directory.
func ReadDangerPlan(dir string) (*DangerPlan, error) { return dangerPlans.Read(dir) }

// IsDanger reports whether a directory holds a danger measurement.
func IsDanger(dir string) bool { return dangerPlans.Has(dir) }

// check says what is wrong with a plan that was read from a file.
func (p *DangerPlan) check() error {
	if err := records.CheckVersion(p.SchemaVersion, dangerPlanSchema); err != nil {
		return err
	}
	return p.Check()
}

// NewDangerPlan returns a plan of the present version.
func NewDangerPlan(p DangerPlan) *DangerPlan {
	p.SchemaVersion = dangerPlanSchema
	return &p
}

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
