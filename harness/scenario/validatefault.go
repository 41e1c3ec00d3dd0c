package scenario

import (
	"fmt"
	"slices"
	"time"
)

// faults checks each fault against the lab, the run and the other faults.
func (v *validator) faults() {
	for i, f := range v.Faults {
		v.fault(f, func(name string) string { return faultOrigin(i, name) })
	}
	for i, f := range v.Faults {
		for j, g := range v.Faults[:i] {
			v.overlap(i, f, j, g)
		}
	}
	v.drawing()
}

// fault checks a fault against the lab and the run.
func (v *validator) fault(f Fault, key func(string) string) {
	if !v.target(f, key) {
		return // the rest would speak of a host that is not there
	}
	v.kind(f, key)
	v.trigger(f, key)
	if v.repeats(f, key) {
		v.times(f, key)
	}
}

// repeats reports whether a fault can be done as often as it says.
func (v *validator) repeats(f Fault, key func(string) string) bool {
	if f.Every == 0 && f.Repeat == 0 {
		return true
	}
	had := len(v.errs)
	switch lasts := v.lasts(f); {
	case f.Trigger != "":
		v.refuse(by(key("every"), key("repeat"), key("trigger")), "at instead of trigger, or another fault for each time", "a trigger fires once, so %s cannot be repeated", f.Kind)
	case f.Every <= 0:
		v.refuse(by(key("repeat"), key("every")), "every: 5s beside it", "repeat without every")
	case f.Repeat < 0 || f.Repeat > maxFaults:
		v.refuse(by(key("repeat")), fmt.Sprintf("from 1 to %d", maxFaults), "repeat of %d is out of range", f.Repeat)
	case f.Every <= lasts:
		v.refuse(by(key("every"), key("for")), "every: "+roundUp(lasts+time.Millisecond)+" or more", "every %s begins anew before %s is over", formatDuration(f.Every), formatDuration(lasts))
	case f.Repeat == 0 && v.Duration == 0:
		v.refuse(by(key("every"), "iterations"), "repeat: 3, or a duration", "every %s without repeat needs to know when the run ends", formatDuration(f.Every))
	case f.Repeat == 0 && v.Duration/f.Every > maxFaults:
		v.refuse(by(key("every"), "duration"), "a longer time, or repeat", "every %s is more than %d times in a run of %s", formatDuration(f.Every), maxFaults, formatDuration(v.Duration))
	}
	return len(v.errs) == had
}

// drawing checks what faults are to be drawn from.
func (v *validator) drawing() {
	if !v.Drawn() {
		return
	}
	from, to := v.Resolve(v.FaultLength.From), v.Resolve(v.FaultLength.To)
	room := v.Duration - v.Recovery()
	switch {
	case v.Duration == 0:
		v.refuse(by("schedule", "iterations"), "a duration instead of iterations", "a schedule that is drawn needs to know when the run ends")
	case from <= 0 || to > time.Duration(day):
		v.refuse(by("fault-length"), "such as 0.5T..expiry+1s", "fault-length of %s: a fault must last, and at most a day", spanRangeValue{&v.FaultLength})
	case from > to:
		v.refuse(by("fault-length", "session-timeout", "tick"), "the shorter one first", "fault-length of %s, which is %s to %s", spanRangeValue{&v.FaultLength}, formatDuration(from), formatDuration(to))
	case from >= room:
		v.refuse(by("fault-length", "duration", "session-timeout"), "duration: "+roundUp(from+v.Recovery()+time.Second)+" or more",
			"no fault of %s fits into a run of %s that leaves %s for recovery", formatDuration(from), formatDuration(v.Duration), formatDuration(v.Recovery()))
	case v.Duration/v.FaultInterval > maxFaults:
		v.refuse(by("fault-interval", "duration"), "a longer interval", "a fault every %s is more than %d in a run of %s", formatDuration(v.FaultInterval), maxFaults, formatDuration(v.Duration))
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
	if f.needsCompany() && v.Servers == 1 {
		v.refuse(by(key("target"), "servers"), "servers: 3, or target: zk1",
			"a single server is neither leader nor follower")
		return false
	}
	return true
}

// kind checks the fault against what is known of its kind.
func (v *validator) kind(f Fault, key func(string) string) {
	k, _ := findFaultKind(f.Kind)
	if is := targetsOf(f.Target); k.Targets&is == 0 {
		hint := "target: " + k.Targets.choices()
		if others := faultKindNames(func(o FaultKind) bool { return o.Targets&is != 0 }); others != nil {
			hint += "; or kind: " + others[0]
		}
		v.refuse(by(key("target"), key("kind")), hint, "%s is for %s, and %s is %s", k.Name, k.Targets, f.Target, is.only())
	}
	if f.Target == TargetHolder && k.Alive {
		v.refuse(by(key("target"), key("kind")), "target: any-client or c1…cN", "%s is done by a client that runs, and a holder is hit when it has stopped itself", k.Name)
	}
	for _, name := range k.Needs {
		if fk := findFaultKey(name); !fk.present(&f) {
			v.refuse(by(key("kind")), name+": "+fk.values(), "%s without %s", article(k.Name), name)
		}
	}
	for _, fk := range faultKeys {
		if fk.present(&f) && !k.Takes(fk.name) {
			others := faultKindNames(func(o FaultKind) bool { return o.Takes(fk.name) })
			if slices.Contains(lastingKeys, fk.name) {
				v.refuse(by(key(fk.name), key("kind")), "drop it", "%s is for faults that last, and %s is over at once", fk.name, article(k.Name))
				continue
			}
			v.refuse(by(key(fk.name)), "drop it, or kind: "+oneOfWords(others), "%s is for %s, not for %s", fk.name, plurals(others), f.Kind)
		}
	}
	if f.Expect == ExpectExpiry && !f.HitsClient() {
		v.refuse(by(key("expect"), key("target")), "drop it: clients move to another server",
			"only a client's session can expire, and %s is %s", f.Target, targetsOf(f.Target).only())
	}
	if k.check != nil {
		k.check(v, f, key)
	}
}

// trigger checks the faults that a victim brings upon itself.
func (v *validator) trigger(f Fault, key func(string) string) {
	if f.Target == TargetHolder && v.Section == SectionNone {
		v.refuse(by(key("target"), "section"), "section: counter", "section none comes to no point at which a holder could be hit")
	}
	if f.Trigger == "" && f.Target == TargetHolder {
		v.superseded(f, key)
		return
	}
	if f.Trigger == "" {
		if f.Until != "" {
			v.refuse(by(key("until"), key("at")), "trigger: "+v.Points()[0]+" instead of at, or for instead of until",
				"until %s needs a victim that holds a lock", f.Until)
		}
		return
	}
	if k, _ := findFaultKind(f.Kind); !k.Triggers || !f.HitsClient() {
		kinds := oneOfWords(faultKindNames(func(o FaultKind) bool { return o.Triggers }))
		v.refuse(by(key("trigger"), key("kind"), key("target")), "kind: "+kinds+" and target: c1…cN, or at instead of trigger",
			"a trigger is for the %s of a client process, not for %s %s", kinds, f.Kind, f.Target)
		return
	}
	if !f.HitsHost() && f.Target != TargetHolder {
		v.refuse(by(key("trigger"), key("target")), "target: c1…cN or holder, or at instead of trigger",
			"a trigger is for a client process by name, or for the holder, and not for %s", f.Target)
		return
	}
	if !slices.Contains(v.Points(), f.Trigger) {
		v.refuse(by(key("trigger"), "workload"), "trigger: "+v.Points()[0], "no critical section of workload %s comes to %s", v.Workload, f.Trigger)
		return
	}
	if f.Target == TargetHolder {
		v.superseded(f, key)
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
	v.superseded(f, key)
}

// superseded checks a fault that lasts until somebody else has held the lock.
func (v *validator) superseded(f Fault, key func(string) string) {
	if f.Until != UntilSuperseded {
		return
	}
	if !v.HasTokens() {
		v.refuse(by(key("until"), "recipe"), "for instead of until, or a recipe with tokens, such as "+defaultRecipe(v.Workload),
			"until superseded needs tokens, and recipe %s gives none", v.Recipe)
	}
	if v.Clients == 1 {
		v.refuse(by(key("until"), "clients"), "clients: 2 or more", "nobody can supersede the only client")
	} else if v.ClientProcesses == 1 {
		v.refuse(by(key("until"), "client-processes"), "client-processes: 2 or more", "nobody can supersede the only client process")
	}
}

// Points are those of critical sections at which a victim can be stopped, the usual one first.
func (s *Scenario) Points() []string {
	switch s.Workload {
	case WorkloadReadWrite:
		return []string{TriggerReadWrite, TriggerWrite, TriggerReads}
	case WorkloadSemaphore:
		return []string{TriggerReads}
	}
	return []string{TriggerReadWrite, TriggerWrite}
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
	lasts := v.lasts(f)
	switch {
	case f.Momentary():
	case lasts <= 0:
		v.refuse(by(key("for"), key("kind")), "for: 3s", "a fault must last")
		return
	case f.Until == "" && f.Expect == ExpectExpiry && lasts < v.Expiry():
		v.refuse(by(key("for"), key("expect"), "session-timeout", "tick"), "for: expiry, or longer",
			"%s is too short for the session to expire, which takes up to %s", formatDuration(lasts), formatDuration(v.Expiry()))
	}
	start := f.At + time.Duration(max(f.Repeat-1, 0))*f.Every
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

// lasts returns the least that the fault lasts.
func (s *Scenario) lasts(f Fault) time.Duration {
	switch {
	case f.Momentary():
		return 0
	case f.Until != "":
		return s.Expiry() + f.Linger
	}
	return s.Resolve(f.For)
}

// overlap refuses two faults that may hit the same host at the same time and do not compose.
func (v *validator) overlap(i int, f Fault, j int, g Fault) {
	if composes(f, g) || !v.meet(f, g) {
		return
	}
	target := f.Target
	if f.Target != g.Target {
		target = f.Target + ", which may be " + g.Target
	}
	v.refuse(by(faultOrigin(i, "at"), faultOrigin(i, "trigger"), faultOrigin(i, "target")), "let one be healed before the next",
		"%s overlaps with %s on %s", f, g, target)
}

// composes reports whether the faults can be in force on one host together, so that healing one
// keeps the other.
func composes(f, g Fault) bool {
	a, _ := findFaultKind(f.Kind)
	b, _ := findFaultKind(g.Kind)
	if f.HitsHolder() && g.HitsHolder() && mayBeSame(f.Target, g.Target) {
		return false // the one would take the other's trigger
	}
	return a.Slot == "" || a.Slot != b.Slot || a.Name == b.Name && a.Shared || !mayBeSame(f.Target, g.Target)
}

// meet reports whether the faults may be in force at the same time. One that is triggered may be
// at any.
func (v *validator) meet(f, g Fault) bool {
	if f.Trigger != "" || g.Trigger != "" {
		return true
	}
	takes := func(f Fault) time.Duration {
		k, _ := findFaultKind(f.Kind)
		return v.lasts(f) + k.Room
	}
	return slices.ContainsFunc(v.begins(f), func(a time.Duration) bool {
		return slices.ContainsFunc(v.begins(g), func(b time.Duration) bool {
			return a <= b+takes(g) && b <= a+takes(f)
		})
	})
}

// begins returns when the fault begins, each time.
func (v *validator) begins(f Fault) []time.Duration {
	var all []time.Duration
	for n := range min(v.Scenario.times(f), maxFaults) {
		all = append(all, f.At+time.Duration(n)*f.Every)
	}
	return all
}

// roundUp writes a duration rounded up to a second.
func roundUp(d time.Duration) string {
	return formatDuration((d + time.Second - 1) / time.Second * time.Second)
}
