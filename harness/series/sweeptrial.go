package series

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"locklab/chaos"
	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
	"locklab/harness/run"
	"locklab/harness/scenario"
	"locklab/reports/capacity"
	"locklab/reports/result"
	"locklab/reports/words"
	"locklab/workloads"
)

// shape makes a point's scenario that of a window of a kind, whose level is set already.
func (p *SweepPlan) shape(sc *scenario.Scenario, kind capacity.Kind) error {
	full := sc.Duration
	switch kind {
	case capacity.Short:
		sc.Duration = p.short(sc)
		sc.MinAcquired = min(sc.MinAcquired, fewestSamples/3)
	case capacity.Disturbed:
		sc.Duration = disturbAt + disturbFor + recoverIn + max(recoverFor, full/2).Truncate(disturbFor)
		if sc.Connect != "" {
			return burst(sc)
		}
		target := chaos.TargetLeader
		if sc.Servers == 1 {
			target = "zk1"
		}
		harm(sc, chaos.Fault{Kind: "pause", Target: target, At: disturbAt, For: chaos.Lasting(disturbFor)})
	case capacity.Away:
		away := settleIn + full
		sc.Duration = away + sc.Recovery() + settleIn
		harm(sc, chaos.Fault{Kind: "kill", Target: chaos.TargetFollower, For: chaos.Lasting(away)})
	}
	return nil
}

// short returns the length of a short window: a quarter of a full one, but long enough for its goals.
func (p *SweepPlan) short(sc *scenario.Scenario) time.Duration {
	length := sc.Duration / 4
	if sc.Open() && len(sc.Rate.Rates) > 0 {
		length = max(length, time.Duration(p.samples()/sc.Rate.Rates[0]*float64(time.Second)))
	}
	return min(length.Round(100*time.Millisecond), sc.Duration)
}

// harm adds a fault. What a fault of a server may do to those that believe that they hold a lock is not in question.
func harm(sc *scenario.Scenario, f chaos.Fault) {
	sc.Faults = append(sc.Faults, f)
	sc.Liveness = 0
	expect := map[string]string{}
	for _, name := range []string{evidence.BeliefExclusion, evidence.Fairness} {
		expect[name] = scenario.ExpectAny
	}
	maps.Copy(expect, sc.Expect)
	sc.Expect = expect
}

// burst makes the rate of the scenario twice as high for as long as a server would be stopped, or as high as max-rate
// allows if that is more than the rate.
func burst(sc *scenario.Scenario) error {
	rate := sc.Rate.Rates[0]
	most := 2 * rate
	if sc.MaxRate > rate {
		most = min(most, sc.MaxRate)
	}
	steps := make([]string, sc.Duration/disturbFor)
	for i := range steps {
		steps[i] = levelText(rate)
	}
	steps[disturbAt/disturbFor] = levelText(most)
	return sc.Set(rateKey, strings.Join(steps, ","))
}

// runScenario is [SweepPlan.Run] of the trial that a search asks for, if ask is not nil.
func (p *SweepPlan) runScenario(point, n int, ask *capacity.Ask) (*scenario.Scenario, error) {
	sc, err := p.Run(point, n)
	if err != nil || ask == nil {
		return sc, err
	}
	if p.Over == clientsKey {
		sc.ClientProcesses = min(sc.ClientProcesses, int(ask.Level))
	}
	if err := sc.Set(p.Over, levelText(ask.Level)); err != nil {
		return nil, err
	}
	return sc, p.shape(sc, ask.Kind)
}

const (
	// reachedShare is the share of arrivals that must be done within the window. With fewer, a backlog grows.
	reachedShare = 0.97
	// arrivedShare is the share of planned arrivals that must arrive. With fewer, the load was not the planned one.
	arrivedShare = 0.85
)

// trialOf returns what a run says about the level that was asked for. If it held, it did so however the load side was.
// If it did not, that says nothing if the load side was the limit.
func (p *SweepPlan) trialOf(ask capacity.Ask, sc *scenario.Scenario, r *result.Result) capacity.Trial {
	t := capacity.Trial{Level: ask.Level, Kind: ask.Kind, PerS: r.Throughput.AcquiredPerS,
		DroppedPerS: r.Throughput.DroppedPerS, Seconds: p.Search.CostS[ask.Kind]}
	if r.LengthNs > 0 {
		t.Seconds = (time.Duration(r.LengthNs) + judgeTime).Seconds()
	}
	l := &r.Latency.Acquire
	t.Latency = capacity.Quantiles{P50Ns: l.P50Ns, P99Ns: l.P99Ns, P999Ns: l.P999Ns}
	j := judgement{r: r, ask: ask, planned: plannedRate(sc), harmed: len(sc.Faults) > 0, from: 0, to: math.MaxInt}
	if ask.Kind == capacity.Away {
		j.from, j.to = seconds(settleIn), seconds(sc.Duration-sc.Recovery()-settleIn)
	}
	t.Reason, t.Detail = j.outcome()
	if ask.Kind == capacity.Disturbed && len(r.Losses) > 0 && (t.Reason == capacity.Holds || t.Reason == capacity.Missed) {
		t.RecoveredNs, t.Reason, t.Detail = j.recovery(j.disturbedUntil())
	}
	for _, line := range r.Thresholds {
		var ratio *float64
		if l := lossOf(r, line.Expr); l != nil {
			lost, _ := l.Ratio(j.from, j.to)
			ratio = &lost
		}
		t.Losses = append(t.Losses, ratio)
	}
	if t.Reason == capacity.Holds || t.Reason == capacity.Violation {
		return t
	}
	unharmed := *r
	unharmed.Faults = nil // those of a search harm no client
	why := unharmed.Void()
	if ask.Kind == capacity.Disturbed {
		why = unharmed.Hampered() // arrivals may come late in the disturbance, and its end alone decides
	}
	if why != "" {
		t.Reason, t.Detail = capacity.Void, why
	}
	return t
}

// judgeTime is about how long it takes to judge a run.
const judgeTime = 2 * time.Second

func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// plannedRate is the rate at which acquisitions are due; 0 in a closed loop.
func plannedRate(sc *scenario.Scenario) float64 {
	if !sc.Open() || len(sc.Rate.Rates) == 0 {
		return 0
	}
	return sc.Rate.Rates[0]
}

// lossOf returns the loss of a threshold; nil if it has none.
func lossOf(r *result.Result, expr string) *result.Loss {
	for i := range r.Losses {
		if r.Losses[i].Expr == expr {
			return &r.Losses[i]
		}
	}
	return nil
}

// A judgement judges a window.
type judgement struct {
	r        *result.Result
	ask      capacity.Ask
	planned  float64
	harmed   bool // the search harmed a server
	from, to int  // the seconds of the window that count
}

// disturbedUntil returns the second of the window in which the disturbance was over.
func (j *judgement) disturbedUntil() int {
	for _, f := range j.r.Faults {
		if f.HealedNs != nil && j.r.Window.FromNs != nil {
			return seconds(time.Duration(*f.HealedNs - *j.r.Window.FromNs))
		}
	}
	return seconds(disturbAt + disturbFor)
}

// struck reports whether the search's own fault was seen to take effect.
func (j *judgement) struck() bool {
	return slices.ContainsFunc(j.r.Faults, func(f effect.FaultRecord) bool { return f.Verified })
}

// outcome returns why the window is bad, or does not count.
func (j *judgement) outcome() (capacity.Reason, string) {
	r := j.r
	say := func(why capacity.Reason, format string, args ...any) (capacity.Reason, string) {
		return why, fmt.Sprintf(format, args...)
	}
	for _, c := range r.Checks {
		if c.Outcome == evidence.Fail {
			return say(capacity.Violation, "%s: %s", c.Name, c.Summary)
		}
	}
	offered, acquired, dropped := r.Throughput.OfferedPerS, r.Throughput.AcquiredPerS, r.Throughput.Dropped
	open := j.planned > 0
	switch {
	case r.Spared != "":
		return capacity.Missed, r.Spared
	case j.harmed && !j.struck():
		return say(capacity.Undecided, "the server was not seen to stop")
	case r.Partial:
		return say(capacity.Undecided, "the run broke off")
	case acquired == nil || open && (offered == nil || dropped == nil):
		return say(capacity.Undecided, "the run never reached its measured window")
	case open && *offered < arrivedShare*j.planned:
		return say(capacity.Void, "only %s a second arrived", words.Digits3(*offered))
	}
	lost := false // whether a goal counts what is dropped
	held := ""
	for _, t := range r.Thresholds {
		l := lossOf(r, t.Expr)
		if l == nil {
			if t.Verdict == evidence.Fail {
				return say(capacity.Missed, "%s: %s", t.Expr, t.Reason)
			}
			held = t.Expr + ": it came to " + t.Shown()
			continue
		}
		lost = true
		ratio, due := l.Ratio(j.from, j.to)
		switch {
		case t.Verdict == evidence.Unknown && ratio > l.Goal && t.Value != nil && !j.late(t):
			return say(capacity.Undecided, "%s: %s", t.Expr, t.Reason)
		case ratio > l.Goal:
			return say(capacity.Missed, "%s: %s of %s were lost, and %s may be", t.Expr, words.Share(ratio),
				words.Count(due, "acquisition"), words.Share(l.Goal))
		}
		held = fmt.Sprintf("%s: %s were lost, and it came to %s", t.Expr, words.Share(ratio), t.Shown())
	}
	whole := j.ask.Kind == capacity.Short || j.ask.Kind == capacity.Full
	switch {
	case open && !lost && *dropped > 0:
		return say(capacity.Missed, "%s were dropped because no client was free", words.Grouped(*dropped))
	case open && whole && *acquired < reachedShare**offered-chance(r):
		return say(capacity.NotReached, "%s a second were due and %s were done", words.Digits3(*offered),
			words.Digits3(*acquired))
	}
	for _, t := range r.Thresholds {
		if t.Verdict == evidence.Unknown && !heldDespiteHiccups(r, t) {
			return say(capacity.Undecided, "%s: %s", t.Expr, t.Reason)
		}
	}
	for _, c := range r.Checks {
		if c.Outcome != evidence.Pass && !j.harmed {
			return say(capacity.Undecided, "%s: %s", c.Name, c.Summary)
		}
	}
	return capacity.Holds, held
}

// late reports whether a threshold that is unknown was missed by the measured latency itself.
func (j *judgement) late(l result.ThresholdLine) bool {
	t, err := scenario.ParseThreshold(l.Expr)
	return err == nil && *l.Value >= t.Limit && (j.r.Hiccups == nil || j.r.Hiccups.P99Ns == nil ||
		float64(*j.r.Hiccups.P99Ns) < t.Limit)
}

// recovery returns how long after a disturbance, which ended at a second of the window, all goals were kept until the
// end of the window; and why that does not count as a recovery.
func (j *judgement) recovery(ended int) (*int64, capacity.Reason, string) {
	var worst int64
	for _, line := range j.r.Thresholds {
		l := lossOf(j.r, line.Expr)
		if l == nil {
			continue
		}
		last := len(l.Due) - seconds(recoverFor)
		from := ended
		for ; from <= last; from++ {
			if ratio, _ := l.Ratio(from, len(l.Due)); ratio <= l.Goal {
				break
			}
		}
		took := time.Duration(from-ended) * time.Second
		if from > last || took > recoverIn {
			ratio, _ := l.Ratio(last, len(l.Due))
			return nil, capacity.Missed, fmt.Sprintf("%s: it did not hold again within %s after a disturbance of %s: of what "+
				"was due in the last %s, %s were lost", l.Expr, recoverIn, disturbFor, recoverFor, words.Share(ratio))
		}
		worst = max(worst, int64(took))
	}
	return &worst, capacity.Holds, ""
}

// heldDespiteHiccups reports whether a threshold that is unknown was met all the same, because even the measured
// latency and the hiccups of the machine, whichever is larger, are below the limit.
func heldDespiteHiccups(r *result.Result, l result.ThresholdLine) bool {
	t, err := scenario.ParseThreshold(l.Expr)
	if err != nil || l.Verdict != evidence.Unknown || l.Value == nil {
		return false
	}
	supported, why := r.Supported(t.Metric, *l.Value)
	if supported || why != l.Reason {
		return false // it is unknown for another reason
	}
	most := max(*l.Value, float64(*r.Hiccups.P99Ns))
	return t.Op == "<" && most < t.Limit || t.Op == "<=" && most <= t.Limit
}

// chance returns by how much, in operations a second, the work done in a window may fall short of the arrivals although
// no backlog grows for ever. That is twice the standard deviation of random arrivals.
func chance(r *result.Result) float64 {
	if r.Arrivals != workloads.Poisson || r.Window.FromNs == nil || r.Window.ToNs == nil {
		return 0
	}
	seconds := time.Duration(*r.Window.ToNs - *r.Window.FromNs).Seconds()
	return 2 * math.Sqrt(*r.Throughput.OfferedPerS/seconds)
}

// A Cost is an estimate of what a sweep takes.
type Cost struct {
	Runs int
	Labs int
	Time time.Duration
	// Open says that some runs end after a number of acquisitions. Time leaves out how long these take.
	Open bool
	// Guessed says that the sweep searches, so that the number of runs is not known beforehand.
	Guessed bool
}

// The time that a lab and a run take apart from the phases of the run, on a machine with a few cores.
const (
	labTime = 10 * time.Second
	runTime = 4 * time.Second
)

// Cost estimates what the plan takes.
func (p *SweepPlan) Cost() (Cost, error) {
	c := Cost{Guessed: p.Search != nil}
	each := max(p.Repeat, 1)
	if c.Guessed {
		each = guessedTrials
	}
	labs := map[string]bool{}
	for i := range p.Points {
		sc, err := p.scenario(i)
		if err != nil {
			return Cost{}, err
		}
		labs[run.LabSettings(sc, nil)] = true
		c.Open = c.Open || sc.Duration == 0
		c.Runs += each
		if c.Guessed {
			c.Time += time.Duration(p.Search.BudgetS * float64(time.Second))
		} else {
			c.Time += time.Duration(each) * (sc.Warmup + sc.Duration + sc.LivenessPhase() + runTime)
		}
	}
	c.Labs = len(labs)
	c.Time += time.Duration(c.Labs) * labTime
	return c, nil
}

func (c Cost) String() string {
	var b strings.Builder
	if c.Guessed {
		fmt.Fprintf(&b, "about %s in all, ", words.Count(int64(c.Runs), "run"))
	}
	if c.Labs == 1 {
		b.WriteString("one lab")
	} else {
		fmt.Fprintf(&b, "%d labs one after another", c.Labs)
	}
	about := "about"
	if c.Guessed {
		about = "at most about"
	}
	fmt.Fprintf(&b, ", %s %s", about, c.Time.Round(time.Second))
	if c.Open {
		b.WriteString(" and the time that the iterations take")
	}
	return b.String()
}
