package scenario

import (
	"slices"

	"locklab/harness/settings"
	"locklab/workloads"
	"locklab/workloads/lock"
)

// workload checks that each recipe can do what the workload requires, that the recipes go together, and that the
// workload's keys do not contradict each other.
func (v *validator) workload() {
	for _, k := range allKeys() {
		switch _, given := v.origins[k.Name]; {
		case !given || k.of(v.Scenario):
		case k.drawn:
			v.refuse(by(k.Name, "schedule"), "schedule: random or swarm, or drop it",
				"%s is about random faults, and schedule %s has none", k.Name, v.Schedule)
		default:
			v.refuse(by(k.Name, "workload"), "workload: "+k.workload+", or drop it",
				"%s belongs to workload %s, not to %s", k.Name, k.workload, v.Workload)
		}
	}
	if v.Workload == workloads.Semaphore && v.Units > v.Permits {
		v.refuse(by("units", "permits"), "at most as many as there are permits",
			"an acquisition takes %d units, but there are %d permits", v.Units, v.Permits)
	}
	if v.Workload == workloads.Semaphore && v.Resize.Every > 0 {
		if slices.ContainsFunc(v.Recipes(), func(r lock.Recipe) bool { return !r.Resizes }) {
			v.refuse(by("resize", "recipe"), "recipe: semaphore, or drop it",
				"the number of permits of recipe %s does not change", v.Recipe)
		}
		if v.Units > v.Resize.To {
			v.refuse(by("resize", "units"), "at least as many permits as units",
				"an acquisition takes %d units, but at times there are only %d permits", v.Units, v.Resize.To)
		}
	}
	v.recurring()
	if v.Workload == workloads.MultiLock && v.LocksAtOnce > v.Locks {
		v.refuse(by("locks-per-acquire", "locks"), "locks: more, such as 4",
			"an acquisition takes %d locks, but there are %d", v.LocksAtOnce, v.Locks)
	}
	if v.LockChoice.Zipf != 0 && v.Locks == 1 {
		v.refuse(by("lock-choice", "locks"), "locks: more, such as 16",
			"lock-choice %s needs several locks to choose from", v.LockChoice)
	}
	if v.ClientImage != "" && !v.Foreign() {
		v.refuse(by("client-image", "recipe"), "recipe: exec:FILE",
			"client-image is for a recipe that is a command, and %s is not", v.Recipe)
	}
	v.recipes()
	if m := v.Mix(); v.SequenceLeft > 0 && (!m.Queue || m.Seen != lock.SeenQueue) {
		v.refuse(by("sequence-left", "recipe"), "recipe: mutex, or drop it",
			"sequence-left is about the directory in which clients queue, and recipe %s has none at the lock's path",
			v.Recipe)
	}
	if v.Observer && v.Mix().Seen == lock.SeenNot {
		v.refuse(by("observer", "recipe"), "drop it",
			"an observer sees which client is first, and the holders of recipe %s have no order", v.Recipe)
	}
}

// recurring checks that what should change repeatedly during the run does change.
func (v *validator) recurring() {
	run := v.Warmup + v.Duration
	if v.Workload == workloads.Semaphore && v.Resize.Every > 0 {
		if v.Resize.To == v.Permits {
			v.refuse(by("resize", "permits"), "another number of permits",
				"resize changes from %d permits to %d, which is no change", v.Permits, v.Resize.To)
		}
		if v.Iterations == 0 && v.Resize.Every >= run {
			v.refuse(by("resize", "duration"), "every 2s, or a longer duration",
				"a resize every %s never happens in a run of %s, warm-up included", settings.FormatDuration(v.Resize.Every),
				settings.FormatDuration(run))
		}
	}
	if v.Workload != workloads.ReadWrite || v.ReadShare != 1 {
		return
	}
	if v.DowngradeShare > 0 {
		v.refuse(by("downgrade-share", "read-share"), "read-share: 0.9, or drop it",
			"no client writes with a read-share of 1, so no writer goes on as a reader")
	}
	if v.ReadBurst.Every > 0 {
		v.refuse(by("read-burst", "read-share"), "read-share: 0.9, or drop it",
			"all clients read all the time with a read-share of 1, so a burst changes nothing")
	}
}
