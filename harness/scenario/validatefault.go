package scenario

import (
	"fmt"
	"time"
)

// faults checks each fault against the lab, the run and the other faults.
func (v *validator) faults() {
	for i, f := range v.Faults {
		key := func(name string) string { return faultKey(i, name) }
		if !v.target(f, key) {
			continue // the rest would speak of a host that is not there
		}
		v.kind(f, key)
		v.trigger(f, key)
		v.times(f, key)
	}
	for i, f := range v.Faults {
		for j, g := range v.Faults[:i] {
			v.overlap(i, f, j, g)
		}
	}
}

// target reports whether the lab has the fault's target.
func (v *validator) target(f Fault, key func(string) string) bool {
	if n := hostNumber(f.Target, "c"); n > v.ClientProcesses {
		v.refuse(by(key("target"), "client-processes"), fmt.Sprintf("c1 to c%d, or more client-processes", v.ClientProcesses),
			"there is no client process %s: the lab has %d", f.Target, v.ClientProcesses)
		return false
	}
	if n := hostNumber(f.Target, "zk"); n > v.Servers {
		v.refuse(by(key("target"), "servers"), fmt.Sprintf("zk1 to zk%d, leader or follower, or more servers", v.Servers),
			"there is no server %s: the ensemble has %d", f.Target, v.Servers)
		return false
	}
	if f.HitsRole() && v.Servers == 1 {
		v.refuse(by(key("target"), "servers"), "servers: 3, or target: zk1",
			"a single server is neither leader nor follower")
		return false
	}
	return true
}

func (v *validator) kind(f Fault, key func(string) string) {
	switch f.Kind {
	case FaultKill:
		if f.HitsClient() {
			v.refuse(by(key("target"), key("kind")), "target: zk1…zkN, leader or follower; or kind: pause",
				"kill is for servers, and %s is a client process", f.Target)
		}
	case FaultPartition:
		if f.From == "" {
			v.refuse(by(key("kind")), "from: servers", "a partition without from")
		}
		if f.HitsServer() && v.Servers == 1 {
			v.refuse(by(key("target"), "servers"), "servers: 3 or 5", "a single server has no other servers to be cut off from")
		}
	}
	if f.From != "" && f.Kind != FaultPartition {
		v.refuse(by(key("from")), "drop it, or kind: partition", "from is for partitions, not for %s", f.Kind)
	}
	if f.Expect == ExpectExpiry && !f.HitsClient() {
		v.refuse(by(key("expect"), key("target")), "drop it: clients move to another server",
			"only a client's session can expire, and %s is a server", f.Target)
	}
}

// trigger checks the faults that a victim brings upon itself.
func (v *validator) trigger(f Fault, key func(string) string) {
	if f.Trigger == "" {
		if f.Until != "" {
			v.refuse(by(key("until"), key("at")), "trigger: "+TriggerReadWrite+" instead of at, or for instead of until",
				"until %s needs a victim that holds a lock", f.Until)
		}
		return
	}
	if f.Kind != FaultPause || !f.HitsClient() {
		v.refuse(by(key("trigger"), key("kind"), key("target")), "kind: pause and target: c1…cN, or at instead of trigger",
			"a trigger is for the pause of a client process, not for %s %s", f.Kind, f.Target)
		return
	}
	if n := v.ClientsPerProcess()[hostNumber(f.Target, "c")-1]; n != 1 {
		hint := "victim-alone: true"
		if f.Target != "c1" {
			hint = "victim-alone: true and target: c1"
		}
		v.refuse(by(key("trigger"), "victim-alone", "clients", "client-processes"), hint+"; a pause stops the whole process",
			"the victim must be alone in its process, and %s runs %d clients", f.Target, n)
	}
	if f.Until != UntilSuperseded {
		return
	}
	if !v.HasTokens() {
		v.refuse(by(key("until"), "recipe"), "for instead of until, or a recipe with tokens: mutex, naive-mutex",
			"until superseded needs tokens, and recipe %s gives none", v.Recipe)
	}
	if v.Clients == 1 {
		v.refuse(by(key("until"), "clients"), "clients: 2 or more", "nobody can supersede the only client")
	}
}

// times checks that a fault lasts as long as it must, and that the run sees
// its end and what comes after it.
func (v *validator) times(f Fault, key func(string) string) {
	if f.Until != "" && !f.For.IsZero() {
		v.refuse(by(key("until"), key("for")), "give one of the two", "a fault with both for and until")
		return
	}
	if f.Linger < 0 || f.Linger > 0 && f.Until == "" {
		v.refuse(by(key("linger"), key("for")), "drop it, or use it with until: "+UntilSuperseded,
			"linger of %s: it is how much longer a fault lasts once its until has come", formatDuration(f.Linger))
		return
	}
	lasts := v.least(f)
	switch {
	case lasts <= 0:
		v.refuse(by(key("for"), key("kind")), "for: 3s", "a fault must last")
		return
	case f.Until == "" && f.Expect == ExpectExpiry && lasts < v.Expiry():
		v.refuse(by(key("for"), key("expect"), "session-timeout", "tick"), "for: expiry, or longer",
			"%s is too short for the session to expire, which takes up to %s", formatDuration(lasts), formatDuration(v.Expiry()))
	}
	start := f.At
	if f.Trigger != "" {
		start = 0
	}
	if start < 0 {
		v.refuse(by(key("at")), "0 is the start of the measured window", "at of %s is before the measured window", formatDuration(start))
		return
	}
	if lasts > time.Duration(day) || start > time.Duration(day) {
		v.refuse(by(key("for"), key("at")), "at most 24h", "a fault of %s at %s is beyond any run", formatDuration(lasts), formatDuration(start))
		return
	}
	if v.Duration == 0 {
		return // it ends when it ends; see Warnings
	}
	last := by(key("for"), key("at"), "duration", "session-timeout")
	if f.Until != "" {
		last = by(key("until"), "duration", "session-timeout")
	}
	switch end := start + lasts; {
	case end >= v.Duration:
		v.refuse(last, "duration: "+roundUp(end+v.Recovery())+" or more",
			"%s does not fit: it ends after %s or later, the run after %s", f, formatDuration(end), formatDuration(v.Duration))
	case end+v.Recovery() > v.Duration:
		v.refuse(last, "duration: "+roundUp(end+v.Recovery())+" or more",
			"%s ends after %s, and leaves no %s for recovery in a run of %s", f, formatDuration(end), formatDuration(v.Recovery()), formatDuration(v.Duration))
	}
}

// Recovery returns how much of the run must be left after a fault: one session
// timeout, since what a dead session holds is freed no sooner.
func (s *Scenario) Recovery() time.Duration { return s.Negotiated() }

// least returns the least that the fault lasts.
func (v *validator) least(f Fault) time.Duration {
	if f.Until != "" {
		return v.Expiry() + f.Linger
	}
	return v.Resolve(f.For)
}

// overlap refuses two faults that may hit the same host at the same time: the
// heal of one would heal the other.
func (v *validator) overlap(i int, f Fault, j int, g Fault) {
	same := f.Target == g.Target || f.HitsRole() && g.HitsServer() && !g.HitsRole() || g.HitsRole() && f.HitsServer() && !f.HitsRole()
	if !same || !v.together(f, g) {
		return
	}
	target := f.Target
	if f.Target != g.Target {
		target = f.Target + ", which may be " + g.Target
	}
	v.refuse(by(faultKey(i, "at"), faultKey(i, "trigger"), faultKey(i, "target")), "let one be healed before the next",
		"%s overlaps with %s on %s", f, g, target)
}

// together reports whether the faults may be in force at the same time. One
// that is triggered may be at any.
func (v *validator) together(f, g Fault) bool {
	if f.Trigger != "" || g.Trigger != "" {
		return true
	}
	return f.At < g.At+v.least(g) && g.At < f.At+v.least(f)
}

// roundUp writes a duration rounded up to a second.
func roundUp(d time.Duration) string {
	return formatDuration((d + time.Second - 1) / time.Second * time.Second)
}
