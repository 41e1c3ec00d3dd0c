package scenario

import (
	"slices"

	"locklab/harness/check"
	"locklab/harness/settings"
	"locklab/workloads"
	"locklab/workloads/guard"
)

// Open reports whether the load is open: acquisitions become due at a rate, even if no client is free.
func (s *Scenario) Open() bool { return s.Arrivals != workloads.Closed }

// InFlight returns how many acquisitions each client process, c1 first, may have in flight: its share of the whole, in
// proportion to its clients. In a closed loop it returns nil.
func (s *Scenario) InFlight() []int {
	if !s.Open() {
		return nil
	}
	clients := s.ClientsPerProcess()
	most := s.MaxInFlight
	if most == 0 {
		most = s.Clients
	}
	var all []int
	before, given := 0, 0
	for _, n := range clients {
		before += n
		upTo := max(most*before/s.Clients, given+1) // each process gets at least one
		all = append(all, min(upTo-given, n))
		given = upTo
	}
	return all
}

// arrivals checks the rate of acquisitions against the clients that make them.
func (v *validator) arrivals() {
	if !v.Open() {
		if len(v.Rate.Rates) > 0 {
			v.refuse(by("rate", "arrivals"), "arrivals: poisson, or think: a pause between acquisitions",
				"in a closed loop a client asks again when it is done, so there is no rate")
		}
		if v.MaxInFlight > 0 {
			v.refuse(by("max-in-flight", "arrivals"), "arrivals: poisson, or clients: fewer",
				"in a closed loop as many acquisitions are in flight as there are clients")
		}
		return
	}
	if len(v.Rate.Rates) == 0 {
		v.refuse(by("arrivals", "rate"), "rate: 100 a second, over all clients", "%s arrivals need a rate", v.Arrivals)
	}
	if v.Think != (workloads.Distribution{}) {
		v.refuse(by("think", "arrivals"), "drop it, or arrivals: closed",
			"%s arrivals do not wait for clients to think", v.Arrivals)
	}
	if v.Iterations > 0 {
		v.refuse(by("iterations", "arrivals"), "duration: 20s",
			"%s arrivals come as long as the run lasts, not a number of times", v.Arrivals)
	}
	if v.MaxInFlight > v.Clients {
		v.refuse(by("max-in-flight", "clients"), "at most as many as there are clients",
			"%d acquisitions cannot be in flight with %d clients", v.MaxInFlight, v.Clients)
	}
	if v.MaxInFlight > 0 && v.MaxInFlight < v.ClientProcesses {
		v.refuse(by("max-in-flight", "client-processes"), "at least one in each client process",
			"max-in-flight of %d is too small for %d client processes", v.MaxInFlight, v.ClientProcesses)
	}
}

// sessions checks which clients share a session, and which server they connect to.
func (v *validator) sessions() {
	if v.ClientsPerSession > 1 && v.Foreign() {
		v.refuse(by("clients-per-session", "recipe"), "drop it",
			"clients of recipe %s, which is a command, have a session each", v.Recipe)
	}
	if v.Try && v.Wait > 0 {
		v.refuse(by("try", "wait"), "give one of the two", "a try does not wait for %s", settings.FormatDuration(v.Wait))
	}
	if v.Try && v.Workload == workloads.MultiLock && v.Foreign() {
		v.refuse(by("try", "recipe"), "recipe: multi, or wait: a time",
			"recipe %s, which is a command, does not say whether it waits for one of several locks", v.Recipe)
	}
	if v.ClientsPerSession > v.Clients {
		v.refuse(by("clients-per-session", "clients"), "at most as many as there are clients",
			"%d clients should share a session, but there are %d clients", v.ClientsPerSession, v.Clients)
	}
	// Only clients of one process can share a session.
	most := slices.Max(append(v.ClientsPerProcess(), 1))
	if v.ClientsPerSession > most && v.ClientsPerSession <= v.Clients && v.Clients >= v.ClientProcesses {
		v.refuse(by("clients-per-session", "client-processes"),
			"client-processes: fewer, or at most as many as a process has clients",
			"%d clients should share a session, but no client process has more than %d clients", v.ClientsPerSession, most)
	}
	if v.Placement == PlacementFollowers && v.Servers == 1 {
		v.refuse(by("placement", "servers"), "placement: spread, or servers: 3", "a single server has no followers")
	}
}

// section checks what holders do with the resource, and refuses what holders that leave it alone cannot do.
func (v *validator) section() {
	if v.Section == SectionAppend {
		v.appends()
	}
	if v.Section != SectionNone {
		return
	}
	if v.Guard != guard.None {
		v.refuse(by("guard", "section"), "guard: none, or section: counter",
			"guard %s has nothing to guard: section none leaves the resource alone", v.Guard)
	}
	for _, name := range sortedKeys(v.Shown) {
		if name != check.CountOverlaps {
			v.refuse(by("shown."+name, "section"), "section: counter",
				"section none leaves the resource alone, so there are no %s to show", name)
		}
	}
	for i, f := range v.Faults {
		if f.Trigger != "" {
			v.refuse(by(faultOrigin(i, "trigger"), "section"), "section: counter, or at: a time",
				"with section none, no client comes to %s", f.Trigger)
		}
	}
}

// appends checks that clients write, and that the list has room for what they append.
func (v *validator) appends() {
	if v.Workload == workloads.Semaphore {
		v.refuse(by("section", "workload"), "section: counter", "no client writes under permits, so nothing is appended")
	}
	if v.Guard == guard.ZKMulti {
		v.refuse(by("guard", "section"), "section: counter, or guard: fencing",
			"guard zk-multi keeps counters: a list in a znode would be written as a whole each time, and a znode holds 1 MiB")
	}
	most := float64(v.Clients) * float64(v.Iterations)
	if v.Open() {
		for _, r := range v.Rate.Rates {
			most = max(most, r*(v.Warmup+v.Duration).Seconds())
		}
	}
	perAcquire := 1.0
	if v.Workload == workloads.MultiLock {
		perAcquire = float64(v.LocksAtOnce)
	}
	if most *= perAcquire; most > workloads.MaxElements {
		v.refuse(by("section", "iterations", "rate"), "section: counter, or a shorter run",
			"up to %s elements would be appended, and the resource's lists hold %d", settings.FormatNumber(most),
			workloads.MaxElements)
	}
}

// overload returns the highest planned rate, and the most acquisitions per second that are possible if only holds take
// time. It returns 0, 0 if the locks can keep up with the rate or if that is not known.
func (s *Scenario) overload() (rate, most float64) {
	hold := s.Hold.Mean().Seconds()
	if !s.Open() || s.Workload != workloads.Mutex || hold == 0 {
		return 0, 0
	}
	for _, r := range s.Rate.Rates {
		rate = max(rate, r)
	}
	if most = float64(s.Locks) / hold; rate < most {
		return 0, 0
	}
	return rate, most
}
