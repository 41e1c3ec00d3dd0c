package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/doctor"
)

// The doctor ends with 0 if runs are possible, even if some faults are not, and with 7 otherwise. It prints the same
// findings as text and as JSON.
func TestDoctorTells(t *testing.T) {
	weak := doctor.Diagnosis{
		Findings: []doctor.Finding{
			{Name: "image", OK: true, Needed: true, Detail: "zookeeper:3.9"},
			{Name: "netem", Detail: "no such module <x>", Cure: "modprobe sch_netem"},
		},
		Faults: []doctor.FaultAbility{
			{Kind: "pause", Family: "process", Can: true},
			{Kind: "slow-disk", Family: "storage and time", Lacks: "ptrace: forbidden"},
			{Kind: "latency", Family: "packets", Can: true, Lacks: "between servers: netem: no such module"},
		},
	}
	ill := doctor.Diagnosis{
		Findings: []doctor.Finding{{Name: "image", Needed: true, Detail: "there is none", Cure: "make image"}},
	}
	for _, c := range []struct {
		name string
		d    doctor.Diagnosis
		code int
		says []string
	}{
		{"weak", weak, exitOK, []string{"ok image zookeeper:3.9", "weak netem no such module <x>", "modprobe sch_netem",
			"faults", "can pause process", "cannot slow-disk storage and time ptrace: forbidden",
			"can latency packets between servers: netem: no such module"}},
		{"ill", ill, exitEnvironment, []string{"LACKS image there is none", "make image",
			"Without a lab these work all the same: run --lab sim, run --connect, simulate, check, report, serve, inspect."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code := func(err error) int {
				if err == nil {
					return exitOK
				}
				code, shown := codeOf(err)
				if shown != nil && !errors.Is(shown, errSaid) {
					t.Errorf("besides: %v", shown)
				}
				return code
			}
			var text, printed bytes.Buffer
			if got := code(tellDiagnosis(&text, c.d, false)); got != c.code {
				t.Errorf("exit code %d, want %d", got, c.code)
			}
			var lines []string
			for line := range strings.Lines(text.String()) {
				if words := strings.Join(strings.Fields(line), " "); words != "" {
					lines = append(lines, words)
				}
			}
			if diff := cmp.Diff(c.says, lines); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			if got := code(tellDiagnosis(&printed, c.d, true)); got != c.code {
				t.Errorf("--json: exit code %d, want %d", got, c.code)
			}
			var back doctor.Diagnosis
			dec := json.NewDecoder(&printed)
			if err := dec.Decode(&back); err != nil || dec.More() {
				t.Fatalf("--json: %v, and more: %v", err, dec.More())
			}
			if diff := cmp.Diff(c.d, back); diff != "" {
				t.Errorf("--json (-want +got):\n%s", diff)
			}
		})
	}
	broken := errors.New("broken pipe")
	if err := tellDiagnosis(writerOf(func([]byte) (int, error) { return 0, broken }), ill, true); !errors.Is(err,
		broken) {
		t.Errorf("a diagnosis that could not be printed: %v", err)
	}
}

type writerOf func([]byte) (int, error)

func (w writerOf) Write(b []byte) (int, error) { return w(b) }
