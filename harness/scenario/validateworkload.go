package scenario

import (
	"slices"
	"strings"
)

// workload checks that the recipes can do what the workload wants of them, alone and
// together, and that its keys go together.
func (v *validator) workload() {
	for _, k := range keys {
		switch _, given := v.origins[k.Name]; {
		case !given || k.of(v.Scenario):
		case k.drawn:
			v.refuse(by(k.Name, "schedule"), "schedule: random or swarm, or drop it", "%s is of faults that are drawn, and schedule %s draws none", k.Name, v.Schedule)
		default:
			v.refuse(by(k.Name, "workload"), "workload: "+k.workload+", or drop it", "%s is of workload %s, not of %s", k.Name, k.workload, v.Workload)
		}
	}
	if v.Workload == WorkloadSemaphore && v.Units > v.Permits {
		v.refuse(by("units", "permits"), "at most as many as there are permits", "an acquisition of %d units, of %d permits", v.Units, v.Permits)
	}
	if v.Workload == WorkloadSemaphore && v.Resize.Every > 0 {
		if v.Foreign() || v.Recipe == RecipeNone || slices.ContainsFunc(v.Recipes(), func(r Recipe) bool { return r.Control }) {
			v.refuse(by("resize", "recipe"), "recipe: semaphore, or drop it", "the permits of recipe %s are as many as there are", v.Recipe)
		}
		if v.Units > v.Resize.To {
			v.refuse(by("resize", "units"), "at least as many permits as units", "an acquisition of %d units, of %d permits at times", v.Units, v.Resize.To)
		}
	}
	v.recurring()
	if v.Workload == WorkloadMultiLock && v.LocksPerAcquire > v.Locks {
		v.refuse(by("locks-per-acquire", "locks"), "locks: more, such as 4", "%d locks-per-acquire, of %d locks", v.LocksPerAcquire, v.Locks)
	}
	if v.LockChoice.Zipf != 0 && v.Locks == 1 {
		v.refuse(by("lock-choice", "locks"), "locks: more, such as 16", "a choice of one lock, by %s", lockChoiceValue{&v.LockChoice})
	}
	if v.ClientImage != "" && !v.Foreign() {
		v.refuse(by("client-image", "recipe"), "recipe: exec:FILE", "client-image is for a recipe that is a command, and %s is none", v.Recipe)
	}
	if v.fits() {
		v.mixed()
		v.fencing()
		v.leaseClock()
		v.zkMulti()
		v.zkLock()
		v.connection()
	}
	if m := v.Mix(); v.SequenceLeft > 0 && (!m.Queue || m.Seen != SeenQueue) {
		v.refuse(by("sequence-left", "recipe"), "recipe: mutex, or drop it", "sequence-left is of the directory in which contenders queue, and recipe %s has none at the lock's path", v.Recipe)
	}
	if v.Observer && v.Mix().Seen == SeenNot {
		v.refuse(by("observer", "recipe"), "drop it", "an observer sees who is first, and the holders of recipe %s have no order", v.Recipe)
	}
}

// recurring checks that what is to change during the run does.
func (v *validator) recurring() {
	run := v.Warmup + v.Duration
	if v.Workload == WorkloadSemaphore && v.Resize.Every > 0 {
		if v.Resize.To == v.Permits {
			v.refuse(by("resize", "permits"), "another number of permits", "a change from %d permits to %d", v.Permits, v.Resize.To)
		}
		if v.Iterations == 0 && v.Resize.Every >= run {
			v.refuse(by("resize", "duration"), "every 2s, or a longer duration", "a resize every %s never comes in a run of %s with its warm-up", formatDuration(v.Resize.Every), formatDuration(run))
		}
	}
	if v.Workload != WorkloadReadWrite || v.ReadShare != 1 {
		return
	}
	if v.DowngradeShare > 0 {
		v.refuse(by("downgrade-share", "read-share"), "read-share: 0.9, or drop it", "nobody writes with a read-share of 1, so no writer goes on as a reader")
	}
	if v.ReadBurst.Every > 0 {
		v.refuse(by("read-burst", "read-share"), "read-share: 0.9, or drop it", "everybody reads all the time with a read-share of 1, so a burst changes nothing")
	}
}

// fits reports whether each recipe serves the workload.
func (v *validator) fits() bool {
	fits := true
	for _, r := range v.Recipes() {
		if !r.Serves(v.Workload) {
			fits = false
			v.refuse(by("recipe", "workload"), "one of "+strings.Join(offered(v.Workload), ", ")+"; or workload: "+r.Workloads[0],
				"recipe %s does not serve workload %s", r.Name, v.Workload)
		}
		if v.DowngradeShare > 0 && v.Workload == WorkloadReadWrite && !r.Downgrade {
			v.refuse(by("downgrade-share", "recipe"), "recipe: rw, or downgrade-share: 0", "a writer of recipe %s cannot become a reader", r.Name)
		}
	}
	if fits && v.Workload == WorkloadMultiLock && !v.Mix().Several {
		v.refuse(by("recipe", "workload"), "multi or curator-multi, alone or mixed with it", "recipe %s takes one lock at a time, and nobody takes several", v.Recipe)
	}
	return fits
}

// mixed checks that recipes on one path see each other.
func (v *validator) mixed() {
	all := v.Recipes()
	if len(all) < 2 {
		return
	}
	for _, r := range all[1:] {
		if first := all[0]; r.Layout == "" || r.Layout != first.Layout {
			v.refuse(by("recipe"), v.companions(first), "recipes %s and %s do not share a layout of znodes, so they would not see each other", first.Name, r.Name)
		}
	}
	if v.ClientProcesses < len(all) {
		v.refuse(by("client-processes", "recipe"), "a client process or more for each recipe", "%d client processes for %d recipes", v.ClientProcesses, len(all))
	}
}

// companions names the recipes that a recipe can be mixed with.
func (v *validator) companions(r Recipe) string {
	var names []string
	for _, o := range recipeTable {
		if !o.Control && o.Name != r.Name && o.Layout != "" && o.Layout == r.Layout && o.Serves(v.Workload) {
			names = append(names, o.Name)
		}
	}
	if len(names) == 0 {
		return r.Name + " goes with no other"
	}
	return r.Name + " goes with " + strings.Join(names, ", ")
}

// fencing checks that tokens tell legal holders from stale ones.
func (v *validator) fencing() {
	if v.Guard != GuardFencing {
		return
	}
	all := v.Recipes()
	switch i := slices.IndexFunc(all, func(r Recipe) bool { return !r.Tokens && !r.MayToken }); {
	case i >= 0:
		v.refuse(by("guard", "recipe"), "guard: none, or a recipe with tokens, such as "+defaultRecipe(v.Workload),
			"guard fencing needs tokens, and recipe %s gives none", all[i].Name)
	case v.Workload == WorkloadSemaphore && !v.Mix().Slots:
		v.refuse(by("guard", "recipe"), "guard: none, or recipe: semaphore",
			"guard fencing tells permits apart by their slots, and recipe %s has none", v.Recipe)
	case v.Workload == WorkloadSemaphore && v.Units > 1:
		v.refuse(by("guard", "units"), "guard: none, or units: 1",
			"guard fencing goes by one slot of a hold, and a hold of %d units has %d", v.Units, v.Units)
	}
}
