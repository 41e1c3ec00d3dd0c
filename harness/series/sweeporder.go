package series

import (
	"fmt"
	"math/rand/v2"

	"locklab/harness/run"
)

// Streams of random numbers of a plan.
const (
	streamOrder = iota
	streamSeeds // and all larger numbers
)

// order gives each point a folder of its own and puts the runs in order.
func (p *SweepPlan) order() error {
	rng := rand.New(rand.NewPCG(p.Seed, streamOrder))
	names := map[string]bool{}
	var labs []string
	inLab := map[string][]int{}
	for i := range p.Points {
		point := &p.Points[i]
		for n, name := 2, point.Name; names[point.Name]; n++ { // names that were cut may be equal
			point.Name = fmt.Sprintf("%s~%d", name, n)
		}
		names[point.Name] = true
		sc, err := p.scenario(i)
		if err != nil {
			return err
		}
		lab := run.LabSettings(sc, nil)
		if inLab[lab] == nil {
			labs = append(labs, lab)
		}
		inLab[lab] = append(inLab[lab], i)
	}
	rng.Shuffle(len(labs), func(i, j int) { labs[i], labs[j] = labs[j], labs[i] })
	for _, lab := range labs {
		points := inLab[lab]
		for repeat := range max(p.Repeat, 1) {
			// Each point is run once before any is run again, so that a machine that slows down affects all points.
			rng.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
			for _, i := range points {
				r := PlannedRun{Point: i}
				if p.Repeat > 0 {
					r.Repeat = repeat + 1
				}
				p.Order = append(p.Order, r)
			}
		}
	}
	return nil
}
