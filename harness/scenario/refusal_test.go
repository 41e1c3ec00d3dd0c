package scenario_test

import (
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"locklab/harness/scenario"
)

var update = flag.Bool("update", false, "rewrite what testdata expects")

// A refusal is a source that is wrong in one way, and the start of the one error that
// it gets.
type refusal struct{ name, src, want string }

// refusedFile has sources that are easier read as files: NAME.yaml, and NAME.want with
// the error. The command's tests run it through the command line.
const refusedFile = "testdata/refused.txtar"

func refusedFiles(t testing.TB) []refusal {
	t.Helper()
	a, err := txtar.ParseFile(refusedFile)
	if err != nil {
		t.Fatal(err)
	}
	var all []refusal
	for i := 0; i+1 < len(a.Files); i += 2 {
		name, isSource := strings.CutSuffix(a.Files[i].Name, ".yaml")
		if !isSource || a.Files[i+1].Name != name+".want" {
			t.Fatalf("%s: %s and %s are no pair", refusedFile, a.Files[i].Name, a.Files[i+1].Name)
		}
		all = append(all, refusal{name, string(a.Files[i].Data), strings.TrimSpace(string(a.Files[i+1].Data))})
	}
	return all
}

// awkward are sources that no file of text can have, or that are too long for one.
var awkward = []refusal{
	{"text that is not UTF-8", "about: \"\xff\xfe?\"", `f.yaml:1:9: the file is not UTF-8`},
	{"key that is not UTF-8", "cl\xffients: 4", `f.yaml:1:3: the file is not UTF-8`},
	{"UTF-16", "\xff\xfec\x00l\x00i\x00e\x00n\x00t\x00s\x00:\x00 \x004\x00", `f.yaml:1:1: the file is not UTF-8`},
	{"zero byte", "clients: 4\x00", `f.yaml:1:10: "4\x00" is not a whole number`},
	{"nested deeply", "clients: " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), `f.yaml:1:2010: too many brackets (at most 2000)`},
	{"nested deeply and cut off", "a: 1\n" + strings.Repeat("[", 60_000), `f.yaml:2:2001: too many brackets`},
	{"mappings nested deeply", "clients: " + strings.Repeat("{a: ", 1_900), `f.yaml:1:7608: not YAML: `},
	{"too many thresholds", "thresholds: [" + strings.Repeat("a<1,", 101) + "]", `f.yaml:1:1: 101 thresholds are too many (at most 100)`},
	{"a key of many letters", strings.Repeat("k", 60_000) + ": 1", `f.yaml:1:1: unknown key "kkkkkkkk`},
}

// metrics are some of a result's.
var metrics = []scenario.Metric{
	{Name: "acquire.p50", Duration: true}, {Name: "acquire.p99", Duration: true}, {Name: "handoff.p50", Duration: true}, {Name: "acquire.count"},
	{Name: "arrival.p99", Duration: true}, {Name: "acquire_read.p99", Duration: true}, {Name: "dropped"}, {Name: "lost_updates"},
	{Name: "operations.failed"}, {Name: "server.watches_fired_per_release"}, {Name: "acquired_per_s"}, {Name: "overlaps"}, {Name: "torn_reads"}, {Name: "fairness.jain", Share: true},
	{Name: "dropped_per_s"}, {Name: "fairness.starved_clients"}, {Name: "service.p99", Duration: true}, {Name: "wait.p99", Duration: true},
}

func refuse(src string) error {
	s, err := scenario.Load("f.yaml", []byte(src))
	if err == nil {
		err = s.Validate()
	}
	if err == nil {
		err = s.CheckMetrics(metrics)
	}
	return err
}

// Whatever is wrong is refused once, at its place and with a hint.
func TestRefused(t *testing.T) {
	files := refusedFiles(t)
	if *update {
		a := &txtar.Archive{Comment: []byte("Each NAME.yaml is wrong in one way; NAME.want is the error that it gets.\n")}
		for _, tt := range files {
			a.Files = append(a.Files, txtar.File{Name: tt.name + ".yaml", Data: []byte(tt.src)}, txtar.File{Name: tt.name + ".want", Data: []byte(refuse(tt.src).Error() + "\n")})
		}
		if err := os.WriteFile(refusedFile, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		files = refusedFiles(t)
	}
	for _, tt := range slices.Concat(files, refused, awkward) {
		t.Run(tt.name, func(t *testing.T) {
			err := refuse(tt.src)
			e, ok := errors.AsType[*scenario.InputError](err)
			if !ok {
				t.Fatalf("got %v, want an InputError", err)
			}
			if tt.want == "" || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got  %s\nwant %s…", err, tt.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one error: %s", err)
			}
			if e.Hint == "" {
				t.Errorf("no hint: %s", e)
			}
			lines := strings.Count(tt.src, "\n") + 1
			if e.File != "f.yaml" || e.Line < 1 || e.Line > lines || e.Column < 1 {
				t.Errorf("no position: %+v", e)
			}
		})
	}
}
