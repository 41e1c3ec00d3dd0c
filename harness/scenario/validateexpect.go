package scenario

import (
	"locklab/harness/check"
)

// expectations checks that the outcomes that the scenario expects are possible.
func (v *validator) expectations() {
	for _, name := range sortedKeys(v.Shown) {
		v.shown(name)
	}
	v.conditions()
	if v.readsOnly() {
		v.harmless()
	}
}

// countedBy returns the check that counts a counter; empty for a number that is not a counter.
func countedBy(counter string) string {
	for _, c := range check.Counters() {
		if c.Name == counter {
			return c.Check
		}
	}
	return ""
}

// shown checks that a counter can reach the number that it must reach.
func (v *validator) shown(counter string) {
	key := "shown." + counter
	if countedBy(counter) == check.Effect && v.Section == SectionNone {
		v.refuse(by(key, "section"), "section: counter",
			"section none leaves the resource alone, so there are no %s to show", counter)
	}
	ofTokens := counter == check.CountStaleAccepted || counter == check.CountStaleRejected
	if ofTokens && !v.HasTokens() {
		v.refuse(by(key, "recipe"), v.withTokens(),
			"%s cannot be counted without tokens, and recipe %s gives none", counter, v.Recipe)
		return
	}
	if counter == check.CountStaleRejected {
		if !v.Protection().RefusesStale() {
			v.refuse(by(key, "guard"), "guard: fencing", "guard %s rejects nothing", v.Guard)
		}
		return
	}
	if workload := metricsOfWorkload[counter]; workload != "" && workload != v.Workload {
		v.refuse(by(key, "workload"), "workload: "+workload, "workload %s has no %s to show", v.Workload, counter)
		return
	}
	damaged := countedBy(counter)
	if damaged == check.Effect && v.Protection().RefusesStale() {
		v.refuse(by(key, "guard"), "guard: none, or drop it from shown",
			"guard %s leaves no %s to show", v.Guard, counter)
	}
	if v.Expect[damaged] == ExpectPass {
		v.refuse(by("expect."+damaged, key), damaged+": fail", "%s must pass, but %s must be shown", damaged, counter)
	}
}

// harmless refuses to expect damage of clients that only read.
func (v *validator) harmless() {
	const msg, hint = "%s must %s, but no client writes with a read-share of 1", "read-share: 0.9"
	for _, name := range [...]string{check.ServiceExclusion, check.BeliefExclusion, check.Effect} {
		if v.Expect[name] == ExpectFail {
			v.refuse(by("expect."+name, "read-share"), hint, msg, name, "fail")
		}
	}
	for _, name := range sortedKeys(v.Shown) {
		v.refuse(by("shown."+name, "read-share"), hint, msg, name, "be shown")
	}
}
