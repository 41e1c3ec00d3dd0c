package advice

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/harness/scenario"
)

// Logs that Java 17 wrote, with the decorations that their names list, have all their pauses and cover their time.
func TestReadGCLogs(t *testing.T) {
	for name, want := range map[string]struct {
		pauses        float64
		what          string
		longest, span time.Duration
	}{
		"uptime-level-tags":                   {6, "safepoints", 79810105, 550 * time.Millisecond},
		"time-level-tags":                     {11, "safepoints", 4507800, 585 * time.Millisecond},
		"none":                                {9, "safepoints", 27497449, 447196735},
		"utctime-uptimemillis-level-tags-pid": {9, "safepoints", 12400996, 485 * time.Millisecond},
		"timenanos-tid-tags":                  {10, "safepoints", 29760265, 2279600370046 - 2279100813585},
		"serial":                              {14, "pauses of the garbage collector", 8853000, 543 * time.Millisecond},
		"shenandoah":                          {20, "pauses of the garbage collector", 29000, 573 * time.Millisecond},
	} {
		p, err := Read([]string{filepath.Join("testdata", "gc", name+".log")}, 0)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.Count() != want.pauses || p.What != want.what || p.Longest() != want.longest || p.Span != want.span {
			t.Errorf("%s: %.0f %s, the longest %d, in %d", name, p.Count(), p.What, p.Longest(), p.Span)
		}
	}
}

// A single pause is counted in the singular, and stalls of single threads are told although they are no pauses.
func TestOneSafepoint(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gc.log")
	text := `[0.100s][info][gc] Using The Z Garbage Collector
[9.000s][info][safepoint] Safepoint "ZMarkStart", Time since last: 8899990000 ns, Reaching safepoint: 4000 ns, ` +
		`At safepoint: 6000 ns, Total: 10000 ns
[20.000s][info][gc] Allocation Stall (main) 512.345ms
[30,000s][info][gc] GC(1) Allocation Stall (SendThread) 9512,345ms
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := Read([]string{file}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if in := (Input{What: p.What, Count: p.Count()}); in.Counted() != "1 safepoint" {
		t.Errorf("%q", in.Counted())
	}
	const want = "ZGC stalled single threads 2 times, for up to 9.51 s; "
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], want) {
		t.Errorf("notes %q, want %q", p.Notes, want)
	}
}

// A file that is no text is refused, and a line without an end does not fill the memory.
func TestBadGCLogs(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		line int
		want string
	}{
		"uptime of 31 years": {"[0.100s][info][gc] Using G1\n" +
			"[999999999.500s][info][gc] GC(0) Pause Full (X) 24M->4M(256M) 5.000ms\n", 1, "longer than a JVM can have run"},
		"binary":       {"\x7fELF\x00\x00", 1, "not a text file"},
		"endless line": {"[1.000s] Using G1\n" + strings.Repeat("x", longestLine+1), 2, "too long"},
	} {
		file := filepath.Join(t.TempDir(), "gc.log")
		if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Read([]string{file}, 0)
		bad, ok := errors.AsType[*scenario.InputError](err)
		if !ok || bad.Line != c.line || !strings.Contains(bad.Msg, c.want) || bad.Hint == "" || bad.File != file {
			t.Errorf("%s: %v, want line %d: %s", name, err, c.line, c.want)
		}
	}
}

// Logs of several processes add up. The same log twice does not.
func TestReadSeveralLogs(t *testing.T) {
	one, two := filepath.Join("testdata", "gc", "uptime-level-tags.log"), filepath.Join("testdata", "gc", "none.log")
	both, err := Read([]string{one, two}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if both.Count() != 6+9 || both.Span != 550*time.Millisecond+447196735 || both.Longest() != 79810105 {
		t.Errorf("%.0f pauses, the longest %s, in %s", both.Count(), both.Longest(), both.Span)
	}
	for name, sources := range map[string][]string{
		"quantiles and a log": {one, "p50=1ms,max=2ms,count=10,over=1h"}, "the same twice": {one, one},
	} {
		if _, err := Read(sources, 0); err == nil {
			t.Errorf("%s were added up", name)
		}
	}
}
