package bench

import (
	"errors"
	"path/filepath"
	"time"

	"locklab/reports/compare"
)

// look compares the pairs so far if it is time to, and reports whether they are enough: because the comparison has an
// answer, or because the budget does not have another pair, which takes as long as each.
func (b *benchmark) look(pairs int, each time.Duration, last bool) (*compare.Report, bool, error) {
	used := time.Since(b.begun)
	spent := min(1, float64(used)/float64(b.config.Budget))
	last = last || used+each > b.config.Budget
	if last {
		spent = 1
	}
	before := 0.0
	if n := len(b.looks); n > 0 {
		before = b.looks[n-1].Spent
	}
	// Fewer pairs have no answer, and would use up errors all the same: on a slow machine the lab alone takes a fifth.
	if !last && (spent < before+compare.MinShare || pairs < b.config.Compare.LeastPairs()) {
		return nil, false, nil
	}
	b.looks = append(b.looks, compare.Look{Pairs: pairs, Spent: spent})
	if err := b.writePlan(); err != nil {
		return nil, false, err
	}
	base, errBase := compare.Load(filepath.Join(b.dir, Base))
	head, errHead := compare.Load(filepath.Join(b.dir, Head))
	opts := b.config.Compare
	opts.Varied, opts.Paired, opts.Looks = b.config.Varied(), true, b.looks
	r, err := compare.Compare(base, head, opts, errors.Join(errBase, errHead))
	if err != nil {
		return nil, false, err
	}
	return &r, last || r.Verdict != compare.Inconclusive, nil
}
