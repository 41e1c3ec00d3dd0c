package scenario

import "time"

// The kinds of faults that do harm to a process.
const (
	FaultPause          = "pause"           // SIGSTOP, SIGCONT to heal
	FaultKill           = "kill"            // SIGKILL, started again to heal
	FaultStop           = "stop"            // SIGTERM and a grace, started again to heal
	FaultRestart        = "restart"         // a stop, and started again at once
	FaultCrashLoop      = "crash-loop"      // killed each time that it has come up; let live to heal
	FaultRollingRestart = "rolling-restart" // a restart of one server after the other
)

// slotProcess is the slot of whoever stops or ends a host's process.
const slotProcess = "process"

func processFaults() []FaultKind {
	const any = OnServer | OnClient | OnResource
	const back = "after healing it works again: the ensemble is whole and commits writes through each server, a client process contends with new sessions, the resource has its state"
	return []FaultKind{
		{Name: FaultPause, Family: FamilyProcess, Targets: any, Outage: true, Triggers: true, Slot: slotProcess, Shared: true,
			Does:     "SIGSTOP of a client process, a server or the resource, SIGCONT to heal; at a time, or by a trigger inside the critical section (`between-read-and-write`, `before-write`, `between-reads`)",
			Verified: "every thread is stopped; after healing it runs"},
		{Name: FaultKill, Family: FamilyProcess, Targets: any, Outage: true, Slot: slotProcess, Shared: true,
			Does:     "SIGKILL of a client process, a server or the resource, started again to heal",
			Verified: "it is gone and does not answer; " + back},
		{Name: FaultStop, Family: FamilyProcess, Targets: any, Outage: true, Slot: slotProcess,
			Does:     "an orderly end (SIGTERM, and SIGKILL after a grace) of a client process, a server or the resource, started again to heal",
			Verified: "as of a kill"},
		{Name: FaultRestart, Family: FamilyProcess, Targets: any, Outage: true, Momentary: true, Slot: slotProcess, Room: 5 * time.Second,
			Does:     "an orderly end, and started again at once",
			Verified: "another process runs; after that as of a kill"},
		{Name: FaultCrashLoop, Family: FamilyProcess, Targets: any, Outage: true, Slot: slotProcess,
			Does:     "killed, started again, and killed again each time that it has come up, 20 times at most; let live to heal",
			Verified: "it has crashed more than once; after healing as of a kill"},
		{Name: FaultRollingRestart, Family: FamilyProcess, Targets: OnAll, Momentary: true, Slot: slotProcess, Room: 15 * time.Second,
			Does:     "a restart of every server, one after the other: each is back in the ensemble before the next one ends",
			Verified: "each runs another process; after that the ensemble is whole and commits writes through each server",
			check:    rollsInTime},
	}
}

// rollPerServer is what the restart of one server of several takes at least.
const rollPerServer = 2 * time.Second

// rollsInTime refuses a rolling restart that the run does not see the end of, and one of one server.
func rollsInTime(v *validator, f Fault, key func(string) string) {
	if v.Servers == 1 {
		v.refuse(by(key("kind"), "servers"), "servers: 3 or 5; or kind: restart and target: zk1", "a single server is not restarted one after the other")
		return
	}
	if least := f.At + time.Duration(v.Servers)*rollPerServer; v.Duration > 0 && least > v.Duration {
		v.refuse(by(key("at"), "duration"), "duration: "+roundUp(least)+" or more", "the restart of %d servers one after the other takes %s at least", v.Servers, formatDuration(least-f.At))
	}
}
