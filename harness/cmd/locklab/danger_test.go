package main

import (
	"slices"
	"testing"

	"locklab/harness/series"
	"locklab/workloads/guard"
)

// The quick answer measures each guard at its worst: a client that asks its guard is stopped after the check.
func TestQuickDangerShowsGuardsAtTheirWorst(t *testing.T) {
	c := dangerCmd{Quick: true, Trials: 400, Band: 0.05, Out: t.TempDir(), Seed: 1}
	p, _, err := c.plan()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Panels, []string{series.PanelWorst}) || !slices.Contains(p.Guards, guard.LostContext) {
		t.Errorf("panels %q of guards %q", p.Panels, p.Guards)
	}
}
