package advice

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/harness/check"
	"locklab/harness/hiccups"
	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/reports/internal/synth"
	"locklab/reports/result"
)

// aRun is a run in which two processes were watched for 10 s each. One of them stood still for 3 s.
func aRun(t *testing.T) result.Input {
	t.Helper()
	h := hiccups.New()
	if err := h.RecordValues(int64(time.Millisecond), 99); err != nil {
		t.Fatal(err)
	}
	text, err := hiccups.Encode(h)
	if err != nil {
		t.Fatal(err)
	}
	at := func(e history.Event, process string, s int64) history.Event {
		e.At, e.Process = s*int64(time.Second), process
		return e
	}
	phase := func(p history.Phase) history.Event { return history.Event{Op: history.OpPhase, Detail: string(p)} }
	run := synth.RunOf([]history.Event{
		at(phase(history.PhaseMeasure), "harness", 0),
		at(history.HiccupOf(0, 3*time.Second), "c1", 5),
		at(history.Hiccups{Count: 99, Distribution: text}.Event(), "c1", 10),
		at(history.Hiccups{Count: 99, Distribution: text}.Event(), "c2", 10),
		at(phase(history.PhaseDrain), "harness", 10),
	}, scenario.Scenario{})
	return result.NewInput(run, check.Report{})
}

func hlogFile(t *testing.T, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "hiccups.hlog")
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// The hiccups that a run writes are read: their lengths, and the time of all processes.
func TestReadHiccups(t *testing.T) {
	var b bytes.Buffer
	if err := result.WriteHiccups(&b, aRun(t)); err != nil {
		t.Fatal(err)
	}
	p, err := Read([]string{hlogFile(t, b.Bytes())}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if p.Count() != 199 || p.Span != 20*time.Second {
		t.Errorf("%.0f hiccups in %s, want 199 in 20s", p.Count(), p.Span)
	}
	if got := p.Longest(); got < 2997*time.Millisecond || got > 3003*time.Millisecond {
		t.Errorf("the longest is %s, want 3s as far as three digits tell", got)
	}
}

// Other logs, and damaged ones, are refused with the line.
func TestBadHlogs(t *testing.T) {
	var latencies, good bytes.Buffer
	if err := result.WriteHlog(&latencies, aRun(t)); err != nil {
		t.Fatal(err)
	}
	if err := result.WriteHiccups(&good, aRun(t)); err != nil {
		t.Fatal(err)
	}
	head := "#[" + result.HiccupsComment + "]\n"
	whole := strings.Split(strings.TrimSpace(good.String()), "\n")
	interval := whole[len(whole)-1]
	for name, c := range map[string]struct {
		text string
		line int
		want string
	}{
		"latencies":       {latencies.String(), 2, "latencies and not pauses"},
		"jHiccup":         {"#[Logged with jHiccup version 2.0.10]\n" + interval + "\n", 1, "jHiccup adds samples"},
		"no interval":     {head, 1, "no samples"},
		"damaged payload": {head + interval[:len(interval)/2] + "\n", 2, "cannot be read"},
		"no such line":    {head + "hello\n", 2, "no interval"},
		"no length":       {head + strings.Replace(interval, ",10.000000,", ",0.000000,", 1) + "\n", 2, "no length"},
	} {
		_, err := Read([]string{hlogFile(t, []byte(c.text))}, 0)
		bad, ok := errors.AsType[*scenario.InputError](err)
		if !ok || bad.Line != c.line || !strings.Contains(bad.Msg, c.want) || bad.Hint == "" {
			t.Errorf("%s: %v, want line %d: %s", name, err, c.line, c.want)
		}
	}
}
