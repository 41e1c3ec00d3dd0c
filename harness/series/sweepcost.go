package series

import (
	"fmt"
	"strings"
	"time"

	"locklab/harness/run"
	"locklab/reports/words"
)

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
