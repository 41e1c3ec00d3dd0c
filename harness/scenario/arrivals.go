package scenario

import (
	"fmt"
	"math"
	"time"

	"locklab/harness/settings"
	"locklab/workloads"
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

// CheckRate refuses a load that may be higher than the ensemble of connect bears without a user's confirmation.
func (s *Scenario) CheckRate() error {
	most := s.MostRate()
	if s.Connect == "" || most <= s.MaxRate {
		return nil
	}
	load := fmt.Sprintf("the load may reach %s acquisitions per second", settings.FormatNumber(math.Ceil(most)))
	if math.IsInf(most, 1) {
		load = fmt.Sprintf("%d clients ask again at once, so that nothing but the servers bounds the load", s.Clients)
	}
	key, hint := "think", fmt.Sprintf("such as --think %s, or --yes to run it all the same",
		settings.FormatDuration(s.pace()))
	if s.Open() {
		key, hint = "rate", "a lower rate, or --yes to run it all the same"
	}
	return s.at(fmt.Sprintf("%s, and max-rate on the ensemble of connect is %s", load, settings.FormatNumber(s.MaxRate)),
		hint, "max-rate", key)
}

// pace returns the time between acquisitions of a client with which all clients keep to MaxRate.
func (s *Scenario) pace() time.Duration {
	const step = 10 * time.Millisecond
	each := time.Duration(float64(s.Clients*s.locksEach()) / s.MaxRate * float64(time.Second))
	return (max(each-s.held(), 0) + step - 1).Truncate(step)
}

// locksEach returns how many locks an acquisition takes.
func (s *Scenario) locksEach() int {
	if s.Workload == workloads.MultiLock {
		return s.LocksAtOnce
	}
	return 1
}

// MostRate returns an upper bound of the acquisitions per second, on average, over all clients. An acquisition of
// several locks counts as often, because it costs the servers as much. The bound is infinite if only the servers limit
// how often clients ask.
func (s *Scenario) MostRate() float64 {
	most := math.Inf(1)
	if s.Open() {
		most = 0
		for _, r := range s.Rate.Rates {
			most = max(most, r)
		}
	} else if each := (s.held() + s.Think.Mean()).Seconds(); each > 0 {
		most = float64(s.Clients) / each
	}
	waits := !s.Try && s.Wait == 0 // a client that gives up asks again
	if hold := s.held().Seconds(); hold > 0 && waits && s.Workload == workloads.Mutex && s.Mix().Exclusive {
		most = min(most, float64(s.Locks)/hold)
	}
	most *= float64(s.locksEach())
	if s.Iterations > 0 {
		most = min(most, float64(s.acquisitions()*int64(s.locksEach()))) // all of them in one second
	}
	return most
}
