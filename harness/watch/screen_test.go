package watch

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/history"
)

var update = flag.Bool("update", false, "rewrite golden files")

// screens are states of runs worth looking at.
func screens() map[string]Progress {
	var rates []float64
	for i := range 250 {
		rates = append(rates, float64((i*37)%400))
	}
	busy := Progress{
		Scenario:    "mutex",
		Clients:     64,
		Locks:       1,
		Elapsed:     7300 * time.Millisecond,
		Planned:     22 * time.Second,
		Phase:       history.PhaseMeasure,
		Acquired:    2461,
		Rate:        412.4,
		Rates:       rates[:7],
		P50:         151 * time.Millisecond,
		P99:         188 * time.Millisecond,
		Waiting:     63,
		Holding:     1,
		LongestWait: 190 * time.Millisecond,
		Holders:     []Holder{{Lock: "/run1/lock0", Client: "c1/17", For: 1200 * time.Microsecond}},
	}
	harm := busy
	harm.Scenario, harm.Rates = "mutex-pause-with-a-long-name", rates
	harm.Elapsed, harm.Planned = 250*time.Second, 10*time.Minute
	harm.Faults = []string{"pause c1 for 4 s", "partition zk1 from zk2 and zk3"}
	harm.Overlaps, harm.Stale, harm.Lost, harm.Refused, harm.Holding = 1, 2, 3, 0, 2
	harm.Holders = append(harm.Holders, Holder{Lock: "/run1/lock0", Client: "c2/3", For: 20 * time.Millisecond})
	shared := busy
	shared.Scenario, shared.Locks, shared.Planned, shared.Holders = "read-write", 3, 0, nil
	shared.Overlaps, shared.Lost, shared.Refused = -1, -1, 4
	for i := range 12 {
		shared.Holders = append(
			shared.Holders,
			Holder{
				Lock:   "/run1/lock0",
				Client: fmt.Sprintf("c1/%d", i),
				Mode:   history.ModeRead,
				For:    time.Duration(12-i) * time.Second,
			},
		)
	}
	shared.Holders = append(
		shared.Holders,
		Holder{Lock: "/run1/lock2", Client: "c2/1", Mode: history.ModeWrite, For: time.Millisecond},
	)
	shared.Holding = len(shared.Holders)
	return map[string]Progress{
		"busy":       busy,
		"harm":       harm,
		"shared":     shared,
		"connecting": {Scenario: "sessions-5000", Phase: history.PhaseConnect, Clients: 5000, Connected: 1234},
		"starting":   {Scenario: "mutex", Phase: history.PhaseEnsemble, Clients: 64, Locks: 1},
		"begun":      {Phase: history.PhaseWarmup, Clients: 8, Locks: 1, Planned: 12 * time.Second},
	}
}

func TestScreenGolden(t *testing.T) {
	for name, p := range screens() {
		for _, size := range [][2]int{{80, 24}, {200, 50}} {
			file := filepath.Join("testdata", "screens", fmt.Sprintf("%s-%d.txt", name, size[0]))
			got := p.Screen(size[0], size[1], false) + "\n"
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got); -update if that is meant:\n%s", file, diff)
			}
		}
	}
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Whatever the size of the terminal, nothing wraps or scrolls; and colour changes nothing but colour.
func TestScreenFits(t *testing.T) {
	for name, p := range screens() {
		for width := range 210 {
			for _, height := range []int{1, 2, 5, 8, 24} {
				got := p.Screen(width, height, false)
				lines := strings.Split(got, "\n")
				if len(lines) > max(1, height-1) {
					t.Fatalf("%s at %dx%d: %d lines", name, width, height, len(lines))
				}
				for _, line := range lines {
					if n := utf8.RuneCountInString(line); n > width {
						t.Fatalf("%s at %dx%d: a line of %d columns: %q", name, width, height, n, line)
					}
				}
				if colored := p.Screen(width, height, true); sgr.ReplaceAllString(colored, "") != got {
					t.Fatalf("%s at %dx%d: colour changes more than colour:\n%s\n%s", name, width, height, got, colored)
				}
				if strings.ContainsRune(got, '\x1b') {
					t.Fatalf("%s: an escape code without colour: %q", name, got)
				}
			}
		}
	}
}

func TestSparkline(t *testing.T) {
	for want, values := range map[string][]float64{"": nil, " ": {0}, "█": {7}, " ▁▅█": {0, 0.1, 50, 100}} {
		top := 0.0
		for _, v := range values {
			top = max(top, v)
		}
		if got := sparkline(values, top); got != want {
			t.Errorf("%v: %q, want %q", values, got, want)
		}
	}
}
