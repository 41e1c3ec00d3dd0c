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
		p, err := Read([]string{filepath.Join("testdata", "gc", name+".log")})
		if err != nil {
			t.Error(err)
			continue
		}
		if p.Count() != want.pauses || p.What != want.what || p.Longest() != want.longest || p.Span != want.span {
			t.Errorf("%s: %.0f %s, the longest %d, in %d", name, p.Count(), p.What, p.Longest(), p.Span)
		}
	}
}

// A log from text, as if it were a file of that name.
func gcLog(t *testing.T, text string) (Pauses, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "gc.log")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return Read([]string{name})
}

const safepoint = `Safepoint "G1CollectFull", Time since last: 2000000000 ns, Reaching safepoint: 100 ns, ` +
	"Cleanup: 10 ns, At safepoint: 4000 ns, Total: 1500000000 ns\n"

func TestGCLogLines(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		count float64
		span  time.Duration
		note  string
	}{
		"Java 9 to 12": {"[1.000s][info][safepoint] Application time: 0.9 seconds\n" +
			"[3.500s][info][safepoint] Total time for which application threads were stopped: 1.5000000 seconds, " +
			"Stopping threads took: 0.0000100 seconds\n", 1, 2500 * time.Millisecond, ""},
		"Java 21": {"[1.000s] Using G1\n[9.000s] " + strings.Replace(safepoint, ", Total",
			", Leaving safepoint: 9 ns, Total", 1), 1, 8 * time.Second, ""},
		"generations of ZGC": {"[1.000s] Using The Z Garbage Collector\n" +
			"[9.000s] GC(0) Y: Pause Mark Start (Major) 1500.000ms\n", 1, 8 * time.Second, "no safepoints"},
		"restarted": {"[5.000s] Using G1\n[9.000s] " + safepoint + "[1.000s] Using G1\n[4.000s] " + safepoint, 2,
			7 * time.Second, ""},
		"Windows": {strings.ReplaceAll("[1.000s] Using G1\n[9.000s] "+safepoint, "\n", "\r\n"), 1, 8 * time.Second, ""},
		"still written": {"[1.000s] Using G1\n[9.000s] " + safepoint + `[9.500s] Safepoint "G1Coll`, 1,
			8500 * time.Millisecond, "cut short"},
		"undecorated": {safepoint + safepoint, 2, 7 * time.Second, "has no times"},
	} {
		p, err := gcLog(t, c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.Count() != c.count || p.Longest() != 1500*time.Millisecond || p.Span != c.span {
			t.Errorf("%s: %.0f pauses, the longest %s, in %s", name, p.Count(), p.Longest(), p.Span)
		}
		if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, c.note) || (c.note == "") != (notes == "") {
			t.Errorf("%s: notes %q, want %q", name, notes, c.note)
		}
	}
}

// Bad logs are refused with the place and what to do instead.
func TestBadGCLogs(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		line int
		want string
	}{
		"empty":    {"", 1, "the file is empty"},
		"foreign":  {"one\ntwo\n", 1, "no GC log"},
		"binary":   {"\x7fELF\x00\x00", 1, "not a text file"},
		"Java 8":   {"1.2: [GC (Allocation Failure) 512K->400K(1024K), 0.0012 secs]\n", 1, "Java before 9"},
		"no times": {"GC(0) Pause Young (Normal) 6M->1M(64M) 1.480ms\n", 1, "how much time it covers"},
		"negative": {"[1.000s] Using G1\n[2.000s] " + strings.Replace(safepoint, "Total: ", "Total: -", 1) + "x\n", 2,
			"cannot be read"},
		"one instant":  {"[1.000s] GC(0) Pause Young (Normal) 6M->1M(64M) 1.480ms\n", 1, "how much time it covers"},
		"endless line": {"[1.000s] Using G1\n" + strings.Repeat("x", longestLine+1), 2, "too long"},
	} {
		_, err := gcLog(t, c.text)
		bad, ok := errors.AsType[*scenario.InputError](err)
		if !ok || bad.Line != c.line || !strings.Contains(bad.Msg, c.want) || bad.Hint == "" ||
			!strings.HasSuffix(bad.File, "gc.log") {
			t.Errorf("%s: %v, want line %d: %s", name, err, c.line, c.want)
		}
	}
}

// Logs of several processes add up.
func TestReadSeveralLogs(t *testing.T) {
	one := filepath.Join("testdata", "gc", "uptime-level-tags.log")
	single, err := Read([]string{one})
	if err != nil {
		t.Fatal(err)
	}
	twice, err := Read([]string{one, one})
	if err != nil {
		t.Fatal(err)
	}
	if twice.Count() != 2*single.Count() || twice.Span != 2*single.Span || twice.Longest() != single.Longest() {
		t.Errorf("%.0f pauses in %s", twice.Count(), twice.Span)
	}
	if _, err := Read([]string{one, "p50=1ms,max=2ms,count=10,over=1h"}); err == nil {
		t.Error("a log and quantiles were added up")
	}
}
