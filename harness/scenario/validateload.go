package scenario

import (
	"slices"

	"locklab/workloads"
)

// Open reports whether work arrives whether or not a client is free.
func (s *Scenario) Open() bool { return s.Arrivals != workloads.Closed }

// InFlight returns the most acquisitions that there are at once in each client process, c1 first:
// each has its share, by its clients. In a closed loop it is nil.
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
		upTo := max(most*before/s.Clients, given+1) // nobody goes without
		all = append(all, min(upTo-given, n))
		given = upTo
	}
	return all
}

// arrivals checks how work arrives against who is there to do it.
func (v *validator) arrivals() {
	if !v.Open() {
		if len(v.Rate.Rates) > 0 {
			v.refuse(by("rate", "arrivals"), "arrivals: poisson, or think: a pause between acquisitions", "in a closed loop clients ask when they are done, at no rate of their own")
		}
		if v.MaxInFlight > 0 {
			v.refuse(by("max-in-flight", "arrivals"), "arrivals: poisson, or clients: fewer", "in a closed loop as many acquisitions are in flight as there are clients")
		}
		return
	}
	if len(v.Rate.Rates) == 0 {
		v.refuse(by("arrivals", "rate"), "rate: 100 a second, over all clients", "%s arrivals need a rate", v.Arrivals)
	}
	if v.Think != (workloads.Distribution{}) {
		v.refuse(by("think", "arrivals"), "drop it, or arrivals: closed", "%s arrivals do not wait for clients to think", v.Arrivals)
	}
	if v.Iterations > 0 {
		v.refuse(by("iterations", "arrivals"), "duration: 20s", "%s arrivals are for as long as the run lasts, not for so many", v.Arrivals)
	}
	if v.MaxInFlight > v.Clients {
		v.refuse(by("max-in-flight", "clients"), "at most as many as there are clients", "%d acquisitions in flight, of %d clients", v.MaxInFlight, v.Clients)
	}
	if v.MaxInFlight > 0 && v.MaxInFlight < v.ClientProcesses {
		v.refuse(by("max-in-flight", "client-processes"), "at least one in each client process", "%d acquisitions in flight in %d client processes", v.MaxInFlight, v.ClientProcesses)
	}
}

// sessions checks who shares a session, and with which server it is made.
func (v *validator) sessions() {
	if v.ClientsPerSession > 1 && v.Foreign() {
		v.refuse(by("clients-per-session", "recipe"), "drop it", "clients of recipe %s, which is a command, have a session each", v.Recipe)
	}
	if v.Try && v.Wait > 0 {
		v.refuse(by("try", "wait"), "give one of the two", "a try does not wait for %s", formatDuration(v.Wait))
	}
	if v.Try && v.Workload == WorkloadMultiLock && v.Foreign() {
		v.refuse(by("try", "recipe"), "recipe: multi, or wait: a time", "recipe %s, which is a command, does not say whether it waits for one of several locks", v.Recipe)
	}
	if v.ClientsPerSession > v.Clients {
		v.refuse(by("clients-per-session", "clients"), "at most as many as there are clients", "%d clients-per-session, of %d clients", v.ClientsPerSession, v.Clients)
	}
	// A session is its process's, so no more clients than one process has can share it.
	if most := slices.Max(append(v.ClientsPerProcess(), 1)); v.ClientsPerSession > most && v.ClientsPerSession <= v.Clients && v.Clients >= v.ClientProcesses {
		v.refuse(by("clients-per-session", "client-processes"), "client-processes: fewer, or at most as many as a process has clients",
			"%d clients-per-session, of %d clients in a process at most", v.ClientsPerSession, most)
	}
	if v.Placement == PlacementFollowers && v.Servers == 1 {
		v.refuse(by("placement", "servers"), "placement: spread, or servers: 3", "a single server has no followers")
	}
}

// section checks what is asked of those who hold a lock and do nothing.
func (v *validator) section() {
	if v.Section == SectionAppend {
		v.appends()
	}
	if v.Section != SectionNone {
		return
	}
	if v.Guard != GuardNone {
		v.refuse(by("guard", "section"), "guard: none, or section: counter", "guard %s has nothing to guard: section none leaves the resource alone", v.Guard)
	}
	for _, name := range sortedKeys(v.Shown) {
		if name != ShownOverlaps {
			v.refuse(by("shown."+name, "section"), "section: counter", "section none leaves the resource alone, so no %s are to be shown", name)
		}
	}
	for i, f := range v.Faults {
		if f.Trigger != "" {
			v.refuse(by(faultOrigin(i, "trigger"), "section"), "section: counter, or at: a time", "section none does not come to %s", f.Trigger)
		}
	}
}

// appends checks that somebody writes, to a list that has room for it.
func (v *validator) appends() {
	if v.Workload == WorkloadSemaphore {
		v.refuse(by("section", "workload"), "section: counter", "nobody writes under permits, so nothing is appended")
	}
	if v.Guard == GuardZKMulti {
		v.refuse(by("guard", "section"), "section: counter, or guard: fencing", "guard zk-multi keeps counters: a list in a znode would be written as a whole each time, and a znode holds 1 MiB")
	}
	most := float64(v.Clients) * float64(v.Iterations)
	if v.Open() {
		for _, r := range v.Rate.Rates {
			most = max(most, r*(v.Warmup+v.Duration).Seconds())
		}
	}
	perAcquire := 1.0
	if v.Workload == WorkloadMultiLock {
		perAcquire = float64(v.LocksPerAcquire)
	}
	if most *= perAcquire; most > workloads.MaxElements {
		v.refuse(by("section", "iterations", "rate"), "section: counter, or a shorter run", "%s elements to append, and the resource's lists hold %d", formatNumber(most), workloads.MaxElements)
	}
}

// overload returns the highest planned rate and the most acquisitions a second that there can be if
// holds are all that takes time; 0, 0 if that is not known or enough.
func (s *Scenario) overload() (rate, most float64) {
	hold := s.Hold.Mean().Seconds()
	if !s.Open() || s.Workload != WorkloadMutex || hold == 0 {
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
