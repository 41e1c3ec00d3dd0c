package scenario

import (
	"time"
)

// The kinds of faults that do harm to disks and clocks.
const (
	FaultSlowDisk  = "slow-disk"  // a server's fsync does not come back
	FaultClockStep = "clock-step" // a server's wall clock is set off
)

// What a machine must be able to do for faults of disks and clocks.
const (
	CapabilityPtrace   = "ptrace"      // hold a thread of a process that one has started
	CapabilityFaketime = "libfaketime" // in the servers' image: set one process's wall clock
	smallestStep       = 2 * time.Second
	largestStep        = 10 * 365 * 24 * time.Hour
)

func storageFaults() []FaultKind {
	return []FaultKind{
		{Name: FaultSlowDisk, Family: FamilyStorage, Targets: OnServer | OnAll, Outage: true, Slot: slotProcess, Capability: CapabilityPtrace,
			Does:     "a server whose disk does not come back from fsync: the one thread that writes its log is held by ptrace, all others run",
			Verified: "it does not sync a write that is made meanwhile; after healing it does, and the ensemble is whole"},
		{Name: FaultClockStep, Family: FamilyStorage, Targets: OnServer | OnAll, Needs: []string{"by"}, Slot: slotProcess, Capability: CapabilityFaketime,
			NotDrawn: true, // the leader's clock places the servers' transactions: with it off, what they granted is not known
			Does:     "a server's wall clock set off by so much, forward or back, and set right to heal; never the clock that only counts (CLOCK_MONOTONIC)",
			Verified: "the server's own log has the other time; after healing the right one",
			check:    stepsClock},
	}
}

// The keys that only faults of disks and clocks have.
var storageKeys = []faultKey{
	{name: "by", help: "what its target's wall clock is set off by: 1h, or -30s to set it back", field: func(f *Fault) value { return stepValue{durationValue{&f.By}} },
		absent: func(f *Fault) bool { return f.By == 0 }},
}

// stepsClock refuses a step that nobody could tell from none, and one beyond all clocks.
func stepsClock(v *validator, f Fault, key func(string) string) {
	if step := f.By.Abs(); f.By != 0 && (step <= smallestStep || step > largestStep) {
		v.refuse(by(key("by")), "by: 1h", "a clock-step of %s: it must be more than %s and at most %s", formatDuration(f.By), formatDuration(smallestStep), formatDuration(largestStep))
	}
}

// A stepValue is a duration that may be below 0.
type stepValue struct{ durationValue }

func (stepValue) schema(Key) object { return text(`^-?` + durationPattern + `$`) }
