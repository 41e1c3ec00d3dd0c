package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/scenario"
)

// A Diagnosis is what a machine can do, found by trying.
type Diagnosis struct {
	// Findings are in the order in which they were looked for. What could not be looked at, because
	// something before it is lacking, is not among them.
	Findings []Finding `json:"findings"`
	// Faults is every kind of the catalogue; nil if no lab could be made.
	Faults []FaultAbility `json:"faults"`
}

// A Finding is one thing that was looked at.
type Finding struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Needed says that no run can do without it.
	Needed bool   `json:"needed"`
	Detail string `json:"detail"`
	// Cure is the one command that helps where it is lacking; empty if there is none.
	Cure string `json:"cure,omitempty"`
}

// A FaultAbility says whether a kind of fault can be done.
type FaultAbility struct {
	Kind   string `json:"kind"`
	Family string `json:"family"`
	Can    bool   `json:"can"`
	// Lacks is the capability that is missing, and why; empty if it can be done. Of a fault that can be done it is
	// what some of its targets take.
	Lacks string `json:"lacks,omitempty"`
}

// Well reports whether runs are possible: nothing that is needed is lacking.
func (d Diagnosis) Well() bool {
	return !slices.ContainsFunc(d.Findings, func(f Finding) bool { return f.Needed && !f.OK })
}

// Lacking is [Options].Lacking: the reason by capability.
func (d Diagnosis) Lacking() map[string]string {
	lacking := map[string]string{}
	for _, name := range []string{scenario.CapabilityPtrace, scenario.CapabilityFaketime, scenario.CapabilityNetem} {
		i := slices.IndexFunc(d.Findings, func(f Finding) bool { return f.Name == name && !f.OK })
		if i < 0 {
			continue
		}
		reason := d.Findings[i].Detail
		if cure := d.Findings[i].Cure; cure != "" {
			reason += "; " + cure
		}
		lacking[name] = reason
	}
	return lacking
}

// Diagnose looks at this machine: at what it has, and in a lab of one server at what can be done there. An error
// is of ctx, or of an agent; what is lacking is a finding.
func Diagnose(ctx context.Context, opts Options) (Diagnosis, error) {
	return diagnose(ctx, thisMachine(opts))
}

func diagnose(ctx context.Context, m patient) (Diagnosis, error) {
	d := &Diagnosis{}
	d.machine(m)
	err := d.lab(ctx, m)
	return *d, err
}

func (d *Diagnosis) add(f Finding) { d.Findings = append(d.Findings, f) }

// The least with which runs say anything.
const (
	leastCores  = 2
	leastMemory = 2 << 30 // a default run's servers and clients
	leastDisk   = 1 << 30
	slowestSync = 50 * time.Millisecond // p99; above it most of a result is the disk's
)

// machine looks at what can be seen without a lab.
func (d *Diagnosis) machine(m patient) {
	d.add(Finding{Name: "cores", OK: m.cores >= leastCores, Detail: fmt.Sprintf("%d; servers and clients share them", m.cores)})
	if m.memory > 0 {
		d.add(Finding{Name: "memory", OK: m.available >= leastMemory, Detail: fmt.Sprintf("%d MiB of %d MiB available", m.available>>20, m.memory>>20)})
	}
	// The others are read by a system call each time, or worse: a stamp costs microseconds.
	d.add(Finding{Name: "clock source", OK: slices.Contains([]string{"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"}, m.clock), Detail: m.clock})
}

// lab makes a lab of one server, and tries there.
func (d *Diagnosis) lab(ctx context.Context, m patient) error {
	image, err := m.image(ctx)
	d.add(Finding{Name: "Docker engine", OK: !errors.Is(err, ensembles.ErrNoEngine), Needed: true, Detail: said(err, ensembles.ErrNoEngine, "answers"),
		Cure: cure(errors.Is(err, ensembles.ErrNoEngine), "apt-get install docker.io")})
	if errors.Is(err, ensembles.ErrNoEngine) {
		return ctx.Err()
	}
	d.add(Finding{Name: "image", OK: err == nil, Needed: true, Detail: said(err, err, image), Cure: cure(err != nil, "make image")})
	if err != nil {
		return ctx.Err()
	}
	w, err := m.open(ctx)
	d.add(Finding{Name: "containers", OK: err == nil, Needed: true, Detail: said(err, err, "start, with no capability but NET_ADMIN")})
	if err != nil {
		return ctx.Err()
	}
	defer w.close(ctx)
	d.disk(ctx, w)
	lacks, err := w.capabilities(ctx)
	if err != nil {
		return errors.Join(ctx.Err(), err)
	}
	begun := time.Now()
	err = w.serve(ctx)
	d.add(Finding{Name: "Java and ZooKeeper", OK: err == nil, Needed: true, Detail: said(err, err, fmt.Sprintf("a server works %v after its start", time.Since(begun).Round(10*time.Millisecond)))})
	if err == nil {
		err = w.hold(ctx)
		lacks[agent.CapPtrace] = said(err, err, "")
	}
	d.abilities(lacks)
	return ctx.Err()
}

// disk measures the storage on which servers keep their logs.
func (d *Diagnosis) disk(ctx context.Context, w ward) {
	disk, err := w.disk(ctx)
	if err != nil {
		d.add(Finding{Name: "disk", Needed: true, Detail: err.Error()})
		return
	}
	d.add(Finding{Name: "disk", OK: disk.FreeBytes >= leastDisk, Detail: fmt.Sprintf("%d MiB free where containers keep their data", disk.FreeBytes>>20)})
	d.add(Finding{Name: "fsync", OK: disk.P99 <= slowestSync, Detail: fmt.Sprintf("p50 %v, p99 %v, longest %v of %d there", disk.P50.Round(time.Microsecond), disk.P99.Round(time.Microsecond), disk.Max.Round(time.Microsecond), disk.Syncs),
		Cure: cure(disk.P99 > slowestSync, "locklab run --storage tmpfs")})
}

// cures are the commands by which a machine gets a capability, by its name.
var cures = map[string]string{
	agent.CapNetem:    "modprobe sch_netem",
	agent.CapPtrace:   "sysctl kernel.yama.ptrace_scope=1",
	agent.CapFaketime: "docker rmi " + ensembles.DebianImage + " && make image",
}

// abilities notes what a host can do, and which faults can be done then.
func (d *Diagnosis) abilities(lacks map[string]string) {
	names := make([]string, 0, len(lacks))
	for name := range lacks {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		why := lacks[name]
		detail := why
		if why == "" {
			detail = "can be used"
		}
		d.add(Finding{Name: name, OK: why == "", Needed: name == agent.CapNetAdmin, Detail: detail, Cure: cure(why != "", cures[name])})
	}
	for _, k := range scenario.FaultKinds() {
		a := FaultAbility{Kind: k.Name, Family: k.Family, Can: true}
		if why := lacks[k.Capability]; k.Capability != "" && why != "" {
			a.Can, a.Lacks = false, k.Capability+": "+why
		}
		if why := lacks[scenario.CapabilityNetem]; k.Name == scenario.FaultLatency && why != "" {
			a.Lacks = "between servers: " + scenario.CapabilityNetem + ": " + why
		}
		d.Faults = append(d.Faults, a)
	}
}

// said is an error's text if it is of that kind, and otherwise what is there.
func said(err, kind error, there string) string {
	if err != nil && errors.Is(err, kind) {
		return err.Error()
	}
	return there
}

// cure is the command if it is needed.
func cure(needed bool, command string) string {
	if needed {
		return command
	}
	return ""
}
