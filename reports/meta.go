package reports

import "time"

// Meta is what the run directory says of a run besides its history.
type Meta struct {
	Scenario string // name
	About    string // what the scenario sets out to show, in a sentence or two
	Lab      string
	Workload string
	Recipe   string
	Guard    string
	Seed     uint64

	// Partial says that the run was interrupted or broke off.
	Partial bool
	// Interrupted says that a person or a signal ended it.
	Interrupted bool

	Clients   int
	Processes int // client processes
	Locks     int
	Permits   int // of each lock, if it is a semaphore whose number of them stays; else 0

	SessionTimeout time.Duration // negotiated; 0 = not known
	Tick           time.Duration
	Hold, Think    time.Duration // planned; 0 = none, or not one number
	Load           [][2]string   // what else is planned of the load, by name
	Storage        string
	ZooKeeper      string // version
	Servers        int

	// ServerStart and ServerEnd are the servers' counters, by server and name
	// as mntr gives them, at the first and the last snapshot; nil if absent.
	ServerStart, ServerEnd map[string]map[string]float64

	// FinalValues is each lock's counter at the resource after the run.
	FinalValues map[string]int64

	// Drain is the policy for those who still wait at the window's end.
	Drain string
	// Arrivals says how work arrives: closed, or the name of a process.
	Arrivals string
	// ClosedLoop says that a client asks again only after its last operation
	// is over, so that a slow lock slows the load down.
	ClosedLoop bool

	// Thresholds are the limits that the result must keep to.
	Thresholds []Threshold

	// Environment is shown as it is, by name: kernel, limits, machine noise.
	Environment map[string]string

	Warnings []string

	_ struct{}
}
