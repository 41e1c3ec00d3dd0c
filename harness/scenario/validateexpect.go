package scenario

import (
	"slices"

	"locklab/harness/check"
	"locklab/workloads"
	"locklab/workloads/lock"
)

// expectations checks that what the scenario expects can happen.
func (v *validator) expectations() {
	for _, name := range sortedKeys(v.Shown) {
		v.shown(name)
	}
	if v.Expect[check.Tokens] == ExpectFail && !v.HasTokens() {
		v.refuse(by("expect.tokens", "recipe"), "tokens: any", "recipe %s gives no tokens that could fail", v.Recipe)
	}
	v.harmless()
	decides := func(name string) bool { return v.Expected(name) != ExpectAny }
	if !slices.ContainsFunc(check.Expectable(), decides) && len(v.Shown) == 0 && len(v.Thresholds) == 0 {
		v.refuse(by("expect"), "drop one, or give thresholds",
			"any outcome of every check is accepted, no counter must be shown, and there are no thresholds, "+
				"so there is no verdict")
	}
	if v.Clients == 1 {
		v.alone()
	}
}

// shown checks a counter that must reach a number.
func (v *validator) shown(counter string) {
	key := "shown." + counter
	ofTokens := counter == check.CountStaleAccepted || counter == check.CountStaleRejected
	if ofTokens && !v.HasTokens() {
		v.refuse(by(key, "recipe"), "a recipe with tokens, such as "+lock.Default(v.Workload),
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
	if counter == check.CountLostUpdates && v.Workload == workloads.Semaphore {
		v.refuse(by(key, "workload"), "shown: crowded", "no client writes under permits, so no updates are lost")
	}
	damaged := check.Effect
	if counter == check.CountOverlaps {
		damaged = check.BeliefExclusion
	} else if v.Protection().RefusesStale() {
		v.refuse(by(key, "guard"), "guard: none, or drop it from shown",
			"guard %s leaves no %s to show", v.Guard, counter)
	}
	if v.Expect[damaged] == ExpectPass {
		v.refuse(by("expect."+damaged, key), damaged+": fail", "%s must pass, but %s must be shown", damaged, counter)
	}
}

// alone refuses expectations that take two clients.
func (v *validator) alone() {
	for _, name := range [...]string{check.ServiceExclusion, check.BeliefExclusion} {
		if v.Expect[name] == ExpectFail {
			v.refuse(by("expect."+name, "clients"), "clients: 2 or more",
				"%s must fail, but one client cannot overlap", name)
		}
	}
	if v.Shown[check.CountOverlaps] > 0 {
		v.refuse(by("shown.overlaps", "clients"), "clients: 2 or more",
			"overlaps must be shown, but one client cannot overlap")
	}
}

// harmless refuses expected damage that no client can do.
func (v *validator) harmless() {
	if v.Expect[check.Effect] == ExpectFail && v.Section == SectionNone {
		v.refuse(by("expect."+check.Effect, "section"), "section: counter",
			"%s must fail, but section none leaves the resource alone", check.Effect)
	}
	if v.Workload != workloads.ReadWrite || v.ReadShare != 1 {
		return
	}
	const why = "no client writes with a read-share of 1"
	for _, name := range [...]string{check.ServiceExclusion, check.BeliefExclusion, check.Effect} {
		if v.Expect[name] == ExpectFail {
			v.refuse(by("expect."+name, "read-share"), "read-share: 0.9", "%s must fail, but %s", name, why)
		}
	}
	for _, name := range sortedKeys(v.Shown) {
		v.refuse(by("shown."+name, "read-share"), "read-share: 0.9", "%s must be shown, but %s", name, why)
	}
}
