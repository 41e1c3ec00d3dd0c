package ensembles

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Metrics asks every server for its counters (mntr) and returns them by host name. A server that does not answer is
// left out. The counters of an external ensemble whose names have those of others' znodes are left out, too.
func (e *Ensemble) Metrics(ctx context.Context) map[string]map[string]float64 {
	all := make([]map[string]float64, len(e.Servers))
	var g errgroup.Group
	for i, h := range e.Servers {
		g.Go(func() error {
			if answer, err := h.Agent.Ask(ctx, "mntr"); err == nil {
				all[i] = ParseMetrics(answer)
				if e.External { // these counters are named after the first part of paths
					maps.DeleteFunc(all[i], func(name string, _ float64) bool { return strings.Contains(name, "_per_namespace") })
				}
			}
			return nil
		})
	}
	_ = g.Wait() // none returns an error
	byName := map[string]map[string]float64{}
	for i, m := range all {
		if len(m) > 0 {
			byName[e.Servers[i].Name] = m
		}
	}
	return byName
}

// ParseMetrics reads the tab-separated lines of mntr. It skips values that are not numbers, such as the version and
// the state.
func ParseMetrics(text string) map[string]float64 {
	m := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			continue
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			m[name] = v
		}
	}
	return m
}

// FormatMetrics writes metrics in the form that ParseMetrics reads, sorted by name.
func FormatMetrics(m map[string]float64) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s\t%s\n", name, strconv.FormatFloat(m[name], 'f', -1, 64))
	}
	return b.String()
}

// ParseDump reads the paths of the ephemeral znodes, by session, from a server's answer to the four-letter word dump.
func ParseDump(answer string) map[int64][]string {
	all := map[int64][]string{}
	var session int64
	for line := range strings.Lines(answer) {
		line = strings.TrimRight(line, "\r\n")
		if path, ok := strings.CutPrefix(line, "\t"); ok && strings.HasPrefix(path, "/") && session != 0 {
			all[session] = append(all[session], path)
			continue
		}
		session = 0
		if hex, ok := strings.CutSuffix(line, ":"); ok && strings.HasPrefix(hex, "0x") {
			if id, err := strconv.ParseUint(hex, 0, 64); err == nil {
				session = int64(id)
			}
		}
	}
	return all
}
