package scenario

import (
	"strings"
	"time"
)

// The kinds of faults.
const (
	FaultPause     = "pause"     // SIGSTOP of any client process or server, SIGCONT to heal
	FaultKill      = "kill"      // SIGKILL of a server, a restart to heal
	FaultPartition = "partition" // network rules, cleared to heal
)

// The targets that are roles, found when the fault strikes. The others are
// hosts: c1…cN and zk1…zkN.
const (
	TargetLeader   = "leader"
	TargetFollower = "follower"
)

// FromServers is what a partition cuts its target off from: for a server, all
// other servers (clients still reach it); for a client process, all servers (it
// still reaches the resource).
const FromServers = "servers"

// TriggerReadWrite is the point in a client's critical section between its
// read of the resource and its write.
const TriggerReadWrite = "between-read-and-write"

// UntilSuperseded is when the resource has served a later token than the
// victim's.
const UntilSuperseded = "superseded"

// ExpectExpiry says that a fault is meant to outlast its victim's session.
const ExpectExpiry = "expiry"

var (
	faultKinds = []string{FaultPause, FaultKill, FaultPartition}
	triggers   = []string{TriggerReadWrite}
	untils     = []string{UntilSuperseded}
	froms      = []string{FromServers}
	fates      = []string{ExpectExpiry}
)

// A Fault is one thing that breaks and is healed again. It begins At or at its
// Trigger, and is healed after For or at Until.
type Fault struct {
	Kind   string // FaultPause, FaultKill or FaultPartition
	Target string // a host, TargetLeader or TargetFollower
	From   string // FromServers for a partition, empty otherwise

	At      time.Duration // after the start of the measured window; meaningless with a Trigger
	Trigger string        // TriggerReadWrite: the victim's first such point in the measured window; or empty

	For   Span   // until it is healed; zero with Until
	Until string // UntilSuperseded, or empty
	// Linger is how much longer it lasts once Until has come; 0 without Until.
	Linger time.Duration

	Expect string // ExpectExpiry, or empty
}

// String describes the fault in one line, for plots and progress.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.Kind + " " + f.Target)
	if f.From != "" {
		b.WriteString(" from " + f.From)
	}
	if f.Trigger != "" {
		b.WriteString(" " + strings.ReplaceAll(f.Trigger, "-", " "))
	} else {
		b.WriteString(" at " + formatDuration(f.At))
	}
	if f.Until != "" {
		b.WriteString(" until " + f.Until)
		if f.Linger != 0 {
			b.WriteString(" and " + formatDuration(f.Linger))
		}
	} else {
		b.WriteString(" for " + f.For.String())
	}
	return b.String()
}

// HitsClient reports whether the target is a client process.
func (f Fault) HitsClient() bool { return hostNumber(f.Target, "c") > 0 }

// HitsServer reports whether the target is a server, by name or by role.
func (f Fault) HitsServer() bool { return f.HitsRole() || hostNumber(f.Target, "zk") > 0 }

// HitsRole reports whether the target is found by role when the fault strikes.
func (f Fault) HitsRole() bool { return f.Target == TargetLeader || f.Target == TargetFollower }

// hostNumber returns the N of prefixN, 0 if that is not what name is.
func hostNumber(name, prefix string) int {
	digits, ok := strings.CutPrefix(name, prefix)
	if !ok || digits == "" || len(digits) > 6 || digits[0] == '0' {
		return 0
	}
	n := 0
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0
		}
		n = 10*n + int(c-'0')
	}
	return n
}
