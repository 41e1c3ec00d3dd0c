package scenario

import "locklab/workloads"

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

// Queues returns how many arrivals may wait in each client process, c1 first: its share of Queue, in proportion to its
// clients.
func (s *Scenario) Queues() []int {
	var all []int
	before, given := 0, 0
	for _, n := range s.ClientsPerProcess() {
		before += n
		upTo := s.Queue * before / s.Clients
		all = append(all, upTo-given)
		given = upTo
	}
	return all
}

// overload returns the highest planned rate, and the most acquisitions per second that are possible if only holds take
// time. It returns 0, 0 if the locks can keep up with the rate or if that is not known.
func (s *Scenario) overload() (rate, most float64) {
	hold := s.held().Seconds()
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
