package chaos

import (
	"fmt"
	"slices"
	"time"

	"locklab/harness/settings"
)

// A Problem is something wrong with a scenario's faults, and the keys that cause it, the most likely mistake first.
type Problem struct {
	Keys     []string // of the fault
	Settings []string // of the scenario
	Msg      string
	Hint     string
}

// A checker collects what is wrong with a fault.
type checker struct {
	*Setting
	problems []Problem
}

// A place is the set of keys that cause a problem.
type place struct{ keys, settings []string }

// at returns a place among the fault's keys.
func at(keys ...string) place { return place{keys: keys} }

// and adds keys of the scenario to the place.
func (p place) and(settings ...string) place { return place{p.keys, settings} }

// refuse reports a problem. Its message writes durations as scenarios do.
func (c *checker) refuse(p place, hint, msg string, args ...any) {
	for i, a := range args {
		if d, ok := a.(time.Duration); ok {
			args[i] = settings.FormatDuration(d)
		}
	}
	c.problems = append(c.problems, Problem{p.keys, p.settings, fmt.Sprintf(msg, args...), hint})
}

// Check returns what is wrong with a fault, given the lab and the run.
func (s *Setting) Check(f Fault) []Problem {
	c := &checker{Setting: s}
	if c.target(f) { // else the rest would speak of a host that does not exist
		c.kind(f)
		c.trigger(f)
		if c.repeats(f) {
			c.duration(f)
		}
	}
	return c.problems
}

// CheckTogether returns what is wrong with a fault beside another one, which is that both may strike the same host at
// the same time and do not compose.
func (s *Setting) CheckTogether(f, other Fault) []Problem {
	if composes(f, other) || follows(f, other) || !s.meet(f, other) {
		return nil
	}
	target := string(f.Target)
	if f.Target != other.Target {
		target += ", which may be " + string(other.Target)
	}
	c := checker{}
	c.refuse(at("at", "trigger", "target"), "let one be healed before the next", "%s overlaps with %s on %s", f,
		other, target)
	return c.problems
}

// repeats reports whether a fault can strike as often as it says.
func (c *checker) repeats(f Fault) bool {
	if f.Every == 0 && f.Repeat == 0 {
		return true
	}
	had := len(c.problems)
	switch lasts := c.lasts(f); {
	case f.Trigger != "" && f.Every != 0:
		c.refuse(at("every", "trigger"), "repeat: 3 instead, which waits for each to be healed before the next",
			"%s begins at a trigger, and not after a time", f.Kind)
	case f.Trigger == "" && f.Every <= 0:
		c.refuse(at("repeat", "every"), "every: 5s beside it", "repeat without every")
	case f.Repeat < 0 || f.Repeat > MaxFaults:
		c.refuse(at("repeat"), fmt.Sprintf("from 1 to %d", MaxFaults), "repeat of %d is out of range", f.Repeat)
	case f.Trigger != "":
	case f.Every <= lasts:
		c.refuse(at("every", "for"), "every: "+roundUp(lasts+time.Millisecond)+" or more",
			"a repeat after %s would begin before %s is over", f.Every, lasts)
	case f.Repeat == 0 && c.Duration == 0:
		c.refuse(at("every").and("iterations"), "repeat: 3, or a duration",
			"every %s without repeat needs to know when the run ends", f.Every)
	case f.Repeat == 0 && c.Duration/f.Every > MaxFaults:
		c.refuse(at("every").and("duration"), "a longer time, or repeat",
			"every %s is more than %d times in a run of %s", f.Every, MaxFaults, c.Duration)
	}
	return len(c.problems) == had
}

func (c *checker) target(f Fault) bool {
	if n := f.Target.number("c"); n > c.ClientProcesses {
		c.refuse(at("target").and("client-processes"),
			fmt.Sprintf("c1 to c%d, or more client-processes", c.ClientProcesses),
			"there is no client process %s: the lab has %d", f.Target, c.ClientProcesses)
		return false
	}
	if n := f.Target.number("zk"); n > c.Servers {
		c.refuse(at("target").and("servers"), fmt.Sprintf("zk1 to zk%d, leader or follower, or more servers", c.Servers),
			"there is no server %s: the ensemble has %d", f.Target, c.Servers)
		return false
	}
	if r, _ := f.Target.role(); r.ofSeveral && c.Servers == 1 {
		c.refuse(at("target").and("servers"), "servers: 3, or target: zk1",
			"a single server is neither leader nor follower")
		return false
	}
	return true
}

// kind checks the fault against what is known of its kind.
func (c *checker) kind(f Fault) {
	k := f.kind()
	if is := f.Target.class(); k.Targets&is == 0 {
		hint := "target: " + k.Targets.choices()
		if others := kindNames(func(o *Kind) bool { return o.Targets&is != 0 }); others != nil {
			hint += "; or kind: " + others[0]
		}
		c.refuse(at("target", "kind"), hint, "%s is for %s, and %s is %s", k.Name, k.Targets, f.Target, is.only())
	}
	if f.Target == TargetHolder && k.Alive {
		c.refuse(at("target", "kind"), "target: any-client or c1…cN",
			"%s needs a running client, and a holder is struck after it has stopped itself", k.Name)
	}
	given := f.own()
	for _, key := range k.keys() {
		has := slices.ContainsFunc(given, func(g KeyText) bool { return g.Key == key.Name })
		if required(key) && !has {
			c.refuse(at("kind"), key.Name+": "+Values(key), "%s without %s", article(k.Name), key.Name)
		}
	}
	for _, given := range f.Keys() {
		if err := k.Misplaced(given.Key); err != nil {
			e := err.(*settings.Error)
			c.refuse(at(given.Key, "kind"), e.Hint, "%s", e.Msg)
		}
	}
	if f.Expect == ExpectExpiry && !f.HitsClient() {
		c.refuse(at("expect", "target"), "drop it: clients move to another server",
			"only a client's session can expire, and %s is %s", f.Target, f.Target.class().only())
	}
	if k.check != nil {
		k.check(c, f)
	}
}

// trigger checks the faults that a victim inflicts on itself.
func (c *checker) trigger(f Fault) {
	if f.Target == TargetHolder && c.Sectionless {
		c.refuse(at("target").and("section"), "section: counter",
			"section none has no point at which a holder could be struck")
	}
	if f.Trigger == "" && f.Target == TargetHolder {
		c.superseded(f)
		return
	}
	if f.Trigger == "" {
		if f.Until != "" {
			c.refuse(at("until", "at"), "trigger: "+c.Points[0]+" instead of at, or for instead of until",
				"until %s needs a victim that holds a lock", f.Until)
		}
		return
	}
	switch {
	case !f.HitsClient():
		c.refuse(at("trigger", "target"), "target: c1…cN, or at instead of trigger",
			"a trigger is a point of a client's critical section, and %s is no client process", f.Target)
		return
	case f.kind().Alive:
		c.refuse(at("trigger", "kind"), "at instead of trigger",
			"%s needs a running client, and a client at a trigger has stopped itself", f.Kind)
		return
	}
	if !f.Target.IsHost() && f.Target != TargetHolder {
		c.refuse(at("trigger", "target"), "target: c1…cN or holder, or at instead of trigger",
			"a trigger is for a client process by name, or for the holder, and not for %s", f.Target)
		return
	}
	if !slices.Contains(c.Points, f.Trigger) {
		c.refuse(at("trigger").and("workload"), "trigger: "+c.Points[0],
			"no critical section of workload %s has the point %s", c.Workload, f.Trigger)
		return
	}
	if f.Target == TargetHolder {
		c.superseded(f)
		return
	}
	if n := c.ClientsPerProcess[f.Target.number("c")-1]; n != 1 {
		hint := "victim-alone: true"
		if f.Target != "c1" {
			hint = "victim-alone: true and target: c1"
		}
		c.refuse(at("trigger").and("victim-alone", "clients", "client-processes"), hint+"; a pause stops the whole process",
			"the victim must be alone in its process, and %s runs %d clients", f.Target, n)
	}
	c.superseded(f)
}

// superseded checks a fault that lasts until another client has held the lock.
func (c *checker) superseded(f Fault) {
	if f.Until != UntilSuperseded {
		return
	}
	if !c.Supersedes {
		c.refuse(at("until").and("recipe"), "for instead of until, or a recipe with tokens, such as "+c.TokenRecipe,
			"without tokens, which recipe %s does not give, nothing shows whose permit another client has", c.Recipe)
	}
	if c.Clients == 1 {
		c.refuse(at("until").and("clients"), "clients: 2 or more", "nobody can supersede the only client")
	} else if c.ClientProcesses == 1 {
		c.refuse(at("until").and("client-processes"), "client-processes: 2 or more",
			"nobody can supersede the only client process")
	}
}

// duration checks that a fault lasts as long as it must, and that the run includes its end and the recovery.
func (c *checker) duration(f Fault) {
	if f.Until != "" && !f.For.IsZero() {
		c.refuse(at("until", "for"), "give one of the two", "a fault with both for and until")
		return
	}
	if f.Linger < 0 || f.Linger > 0 && f.Until == "" {
		c.refuse(at("linger", "for"), "drop it, or use it with until: "+UntilSuperseded,
			"linger of %s: it says how much longer a fault lasts once until has come", f.Linger)
		return
	}
	lasts := c.lasts(f)
	switch {
	case f.Momentary():
	case lasts <= 0:
		c.refuse(at("for", "kind"), "for: 3s", "a fault must last")
		return
	case f.Until == "" && f.Expect == ExpectExpiry && lasts < c.expiry():
		c.refuse(at("for", "expect").and("session-timeout", "tick"), "for: expiry, or longer",
			"%s is too short for the session to expire, which takes up to %s", lasts, c.expiry())
	}
	again := time.Duration(max(f.Repeat-1, 0))
	start := f.At + again*f.Every
	if f.Trigger != "" {
		start = again * lasts // the earliest beginning of the last one
	}
	if start < 0 {
		c.refuse(at("at"), "0 is the start of the measured window", "at of %s is before the measured window", start)
		return
	}
	if lasts > longest || start > longest {
		c.refuse(at("for", "at"), "at most 24h", "a fault of %s at %s is beyond any run", lasts, start)
		return
	}
	if c.Duration == 0 {
		return // it ends when it ends; see Warnings
	}
	last := at("for", "at").and("duration", "session-timeout")
	if f.Until != "" {
		last = at("until").and("duration", "session-timeout")
	}
	switch end := start + lasts; {
	case end >= c.Duration:
		c.refuse(last, "duration: "+roundUp(end+c.recovery())+" or more",
			"%s does not fit: it ends after %s or later, the run after %s", f, end, c.Duration)
	case end+c.recovery() > c.Duration:
		c.refuse(last, "duration: "+roundUp(end+c.recovery())+" or more",
			"%s ends after %s, and leaves no %s for recovery in a run of %s", f, end, c.recovery(), c.Duration)
	}
}

// longest is longer than any fault of any run.
const longest = 24 * time.Hour

// roundUp writes a duration rounded up to a second.
func roundUp(d time.Duration) string {
	return settings.FormatDuration((d + time.Second - 1) / time.Second * time.Second)
}
