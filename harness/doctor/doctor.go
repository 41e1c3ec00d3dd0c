package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"locklab/chaos"
	"locklab/ensembles/agent"
	"locklab/ensembles/debian"
	"locklab/ensembles/docker"
	"locklab/ensembles/process"
	"locklab/harness/run"
	"locklab/reports/words"
)

// A Diagnosis is what a machine can do, found by trying.
type Diagnosis struct {
	// Findings has what was looked at, in that order. It leaves out what could not be looked at because something else
	// is lacking.
	Findings []Finding `json:"findings"`
	// Faults has every kind of the catalogue; nil if no lab could be made.
	Faults []FaultAbility `json:"faults"`
}

// A Finding is one thing that was looked at.
type Finding struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Needed says that no run is possible without it.
	Needed bool   `json:"needed"`
	Detail string `json:"detail"`
	// Cure is the command that provides what is lacking; empty if nothing is lacking or no command helps.
	Cure string `json:"cure,omitempty"`
}

// A FaultAbility says whether a kind of fault can be done.
type FaultAbility struct {
	Kind   string `json:"kind"`
	Family string `json:"family"`
	Can    bool   `json:"can"`
	// Lacks names the missing capability and says why it is missing; empty if none is. A fault that can be done may
	// still lack a capability that some of its targets need.
	Lacks string `json:"lacks,omitempty"`
}

// CanRun reports whether runs are possible, because nothing that is needed is lacking.
func (d Diagnosis) CanRun() bool {
	return !slices.ContainsFunc(d.Findings, func(f Finding) bool { return f.Needed && !f.OK })
}

// Lacking returns the reason for each capability that the machine lacks, as [run.Options] takes it.
func (d Diagnosis) Lacking() map[string]string {
	lacking := map[string]string{}
	for _, name := range []string{agent.CapPtrace, agent.CapFaketime, agent.CapNetem} {
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

// Diagnose looks at what this machine has, and tries in a lab of one server, of the kind of that name, what can be done
// there. Something that is lacking is a finding. An error comes from ctx or from an agent.
func Diagnose(ctx context.Context, kind string, opts run.Options) (Diagnosis, error) {
	return diagnose(ctx, thisMachine(kind, opts))
}

func diagnose(ctx context.Context, m machine) (Diagnosis, error) {
	d := &Diagnosis{}
	d.inspect(m)
	perS, err := m.ceiling(ctx)
	d.want("load generator", err, fmt.Sprintf("asks for at most %s acquisitions a second", words.Digits3(perS)), "")
	err = d.tryLab(ctx, m)
	return *d, err
}

func (d *Diagnosis) add(f Finding) { d.Findings = append(d.Findings, f) }

// The least that a machine must have for runs to give useful results.
const (
	leastCores  = 2
	leastMemory = 2 << 30 // for the servers and clients of a default run
	leastDisk   = 1 << 30
	slowestSync = 50 * time.Millisecond // p99; above it, results show mostly the disk
)

// fastClocks are the clock sources that are read without a system call. A time stamp of the others costs microseconds.
var fastClocks = []string{"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"}

// inspect looks at what can be seen without a lab.
func (d *Diagnosis) inspect(m machine) {
	d.add(Finding{Name: "cores", OK: m.cores >= leastCores,
		Detail: fmt.Sprintf("%d; servers and clients share them", m.cores)})
	if m.memory > 0 {
		d.add(Finding{Name: "memory", OK: m.available >= leastMemory,
			Detail: fmt.Sprintf("%d MiB of %d MiB available", m.available>>20, m.memory>>20)})
	}
	d.add(Finding{Name: "clock source", OK: slices.Contains(fastClocks, m.clock), Detail: m.clock})
}

// need adds a finding about something that no run can do without, which is lacking if err is not nil.
func (d *Diagnosis) need(name string, err error, detail, cure string) {
	d.want(name, err, detail, cure)
	d.Findings[len(d.Findings)-1].Needed = true
}

// want adds a finding about something that some kinds of lab need, which is lacking if err is not nil.
func (d *Diagnosis) want(name string, err error, detail, cure string) {
	f := Finding{Name: name, OK: err == nil, Detail: detail}
	if err != nil {
		f.Detail, f.Cure = err.Error(), cure
	}
	d.add(f)
}

// tryLab makes a lab of one server and tries there what can be done.
func (d *Diagnosis) tryLab(ctx context.Context, m machine) error {
	image, err := m.findImage(ctx)
	if errors.Is(err, docker.ErrNoEngine) {
		d.want("Docker engine", err, "", "apt-get install docker.io")
	} else {
		d.want("Docker engine", nil, "answers", "")
		d.want("image", err, image, "make image")
	}
	lab, err := m.openLab(ctx)
	d.need("lab", err, fmt.Sprintf("hosts of kind %s start", lab.kind), "")
	if err != nil {
		return ctx.Err()
	}
	defer lab.close(ctx)
	d.tryDisk(ctx, lab)
	lacks, err := lab.capabilities(ctx)
	if err != nil {
		return errors.Join(ctx.Err(), err)
	}
	begun := time.Now()
	err = lab.startServer(ctx)
	d.need("Java and ZooKeeper", err, fmt.Sprintf("a server works %s after its start",
		words.Duration(int64(time.Since(begun)))), "")
	if err == nil {
		lacks[agent.CapPtrace] = ""
		if err := lab.stallDisk(ctx); err != nil {
			lacks[agent.CapPtrace] = err.Error()
		}
	}
	d.abilities(lacks, lab.kind != process.Kind{}.Name())
	return ctx.Err()
}

// tryDisk measures the storage where servers keep their logs.
func (d *Diagnosis) tryDisk(ctx context.Context, lab testLab) {
	disk, err := lab.measureDisk(ctx)
	if err != nil {
		d.need("disk", err, "", "")
		return
	}
	d.add(Finding{Name: "disk", OK: disk.FreeBytes >= leastDisk,
		Detail: fmt.Sprintf("%d MiB free where containers keep their data", disk.FreeBytes>>20)})
	sync := Finding{
		Name: "fsync",
		OK:   disk.P99 <= slowestSync,
		Detail: fmt.Sprintf("p50 %s, p99 %s, longest %s of %d there", words.Duration(int64(disk.P50)),
			words.Duration(int64(disk.P99)), words.Duration(int64(disk.Max)), disk.Syncs),
	}
	if !sync.OK {
		sync.Cure = "locklab run --storage tmpfs"
	}
	d.add(sync)
}

// cures are the commands that give a machine a capability, by the name of the capability.
var cures = map[string]string{
	agent.CapNetem:    "modprobe sch_netem",
	agent.CapPtrace:   "sysctl kernel.yama.ptrace_scope=1",
	agent.CapFaketime: "docker rmi " + debian.Default.Image() + " && make image",
}

// abilities adds what a host can do, and which faults are possible for that reason. isolated says that a host has a
// network of its own, whose rules no run can do without.
func (d *Diagnosis) abilities(lacks map[string]string, isolated bool) {
	for _, name := range slices.Sorted(maps.Keys(lacks)) {
		why := lacks[name]
		f := Finding{Name: name, OK: why == "", Needed: isolated && name == agent.CapNetAdmin, Detail: "can be used"}
		if why != "" {
			f.Detail, f.Cure = why, cures[name]
		}
		d.add(f)
	}
	for _, k := range chaos.Kinds() {
		a := FaultAbility{Kind: k.Name, Family: k.Family, Can: true}
		if why := lacks[k.Capability]; k.Capability != "" && why != "" {
			a.Can, a.Lacks = false, k.Capability+": "+why
		}
		if why := lacks[k.Some.Capability]; why != "" {
			a.Lacks = k.Some.Which + ": " + k.Some.Capability + ": " + why
		}
		d.Faults = append(d.Faults, a)
	}
}
