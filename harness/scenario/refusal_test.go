package scenario_test

import (
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"locklab/chaos"
	"locklab/harness/scenario"
	"locklab/harness/settings"
)

// victim is the beginning of a scenario that pauses a client at a trigger.
const victim = `victim-alone: true
clients: 4
faults:
- kind: pause
  target: c1
  trigger: between-read-and-write
`

var update = flag.Bool("update", false, "rewrite what testdata expects")

// A refusal is a source with one mistake, and the beginning of the only error that it gets.
type refusal struct{ name, src, want string }

// refusedFiles match the archives of sources: NAME.yaml is a source and NAME.want its error. The command's tests also
// run those of command.txtar through the command line.
const refusedFiles = "testdata/refused/*.txtar"

// refusals returns the refusals of the files and the awkward ones.
func refusals(t testing.TB) []refusal {
	t.Helper()
	all := slices.Clone(awkward)
	for _, a := range refusedArchives(t) {
		for source, want := range pairs(t, a) {
			name, _ := strings.CutSuffix(source.Name, ".yaml")
			all = append(all, refusal{name, string(source.Data), strings.TrimSpace(string(want.Data))})
		}
	}
	return all
}

func refusedArchives(t testing.TB) map[string]*txtar.Archive {
	t.Helper()
	names, err := filepath.Glob(refusedFiles)
	if err != nil || names == nil {
		t.Fatalf("%s: %v", refusedFiles, err)
	}
	all := map[string]*txtar.Archive{}
	for _, name := range names {
		if all[name], err = txtar.ParseFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// pairs iterates over an archive's sources, each with the file that has its error.
func pairs(t testing.TB, a *txtar.Archive) iter.Seq2[txtar.File, *txtar.File] {
	return func(yield func(txtar.File, *txtar.File) bool) {
		for i := 0; i+1 < len(a.Files); i += 2 {
			source, want := a.Files[i], &a.Files[i+1]
			if name, ok := strings.CutSuffix(source.Name, ".yaml"); !ok || want.Name != name+".want" {
				t.Fatalf("%s and %s are not a pair", source.Name, want.Name)
			}
			if !yield(source, want) {
				return
			}
		}
	}
}

// awkward are sources that a text file cannot hold, or that are too long for one.
var awkward = []refusal{
	{"text that is not UTF-8", "about: \"\xff\xfe?\"", `f.yaml:1:9: the file is not UTF-8`},
	{"key that is not UTF-8", "cl\xffients: 4", `f.yaml:1:3: the file is not UTF-8`},
	{"UTF-16", "\xff\xfec\x00l\x00i\x00e\x00n\x00t\x00s\x00:\x00 \x004\x00", `f.yaml:1:1: the file is not UTF-8`},
	{"zero byte", "clients: 4\x00", `f.yaml:1:10: "4\x00" is not a whole number`},
	{
		"nested deeply",
		"clients: " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
		`f.yaml:1:2010: too many brackets (at most 2000)`,
	},
	{"nested deeply and cut off", "a: 1\n" + strings.Repeat("[", 60_000), `f.yaml:2:2001: too many brackets`},
	{"mappings nested deeply", "clients: " + strings.Repeat("{a: ", 1_900), `f.yaml:1:7608: not YAML: `},
	{
		"too many thresholds",
		"thresholds: [" + strings.Repeat("a<1,", 101) + "]",
		`f.yaml:1:1: 101 thresholds are too many (at most 100)`,
	},
	{"Windows line ends", "clients: 4\r\nlocks: x\r\n", `f.yaml:2:8: "x" is not a whole number`},
	{"byte order mark", "\ufeffclients: 4\nlocks: x", `f.yaml:2:8: "x" is not a whole number`},
	{
		"too many faults",
		"faults: [" + strings.Repeat("{},", 1000) + "{}]",
		`f.yaml:1:1: 1001 faults are too many (at most 1000)`,
	},
	{"too large", strings.Repeat("# x\n", 1<<15), `f.yaml:1:1: the file has 131072 bytes, which is too large`},
	{"a key of many letters", strings.Repeat("k", 60_000) + ": 1", `f.yaml:1:1: unknown key "kkkkkkkk`},
}

// metrics are some of the metrics that a result has.
var metrics = slices.Concat(
	metricsOf(scenario.Metric{Duration: true}, "acquire.p50", "acquire.p99", "acquire_read.p99", "arrival.p99",
		"handoff.p50", "service.p99", "wait.p99"),
	metricsOf(scenario.Metric{Share: true}, "fairness.jain"),
	metricsOf(scenario.Metric{}, "acquire.count", "acquired_per_s", "dropped", "dropped_per_s",
		"fairness.starved_clients", "lost_updates", "operations.failed", "overlaps", "server.watches_fired_per_release",
		"torn_reads"),
)

// metricsOf returns metrics of these names that otherwise equal like.
func metricsOf(like scenario.Metric, names ...string) (all []scenario.Metric) {
	for _, name := range names {
		like.Name = name
		all = append(all, like)
	}
	return all
}

// refuse returns the error that a source gets, or nil if nothing in it is refused.
func refuse(src string) error {
	s, err := scenario.Load("f.yaml", []byte(src))
	if err != nil {
		return err
	}
	return errors.Join(s.Validate(), s.CheckMetrics(metrics))
}

// Each mistake is refused with exactly one error, which has its place and a hint.
func TestRefused(t *testing.T) {
	if *update {
		for name, a := range refusedArchives(t) {
			for source, want := range pairs(t, a) {
				want.Data = []byte(refuse(string(source.Data)).Error() + "\n")
			}
			if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	seen := map[string]bool{}
	for _, tt := range refusals(t) {
		if seen[tt.name] {
			t.Errorf("two refusals are named %q", tt.name)
		}
		seen[tt.name] = true
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

// A key that a fault's kind does not have is a contradiction like others, so that it hides none of them.
func TestMisplacedKeyOfAFaultAmongContradictions(t *testing.T) {
	err := refuse("permits: 3\nclients: 1\nfaults:\n- kind: reset\n  target: c9\n  at: 1s\n  for: 1s\n" +
		"- kind: pause\n  target: c1\n  at: 1s\n  for: 1s\n  loss: 10%\nthresholds:\n- nonsense < 4\n")
	var got []string
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			place, _, _ := strings.Cut(line, ": ")
			got = append(got, place)
		}
	}
	want := []string{"f.yaml:1:1", "f.yaml:2:1", "f.yaml:5:3", "f.yaml:7:3", "f.yaml:12:3", "f.yaml:14:3"}
	if !slices.Equal(got, want) {
		t.Errorf("errors at %v, want %v:\n%v", got, want, err)
	}
}

// All errors of a file are reported at once, up to a limit.
func TestSeveralErrorsAtOnce(t *testing.T) {
	_, err := scenario.Load("f.yaml", []byte("clients: many\nguard: fnecing\nfaults:\n- kind: pause\n"))
	target, _ := settings.Find(chaos.FaultKeys(), "target")
	want := `f.yaml:1:10: "many" is not a whole number (digits only, such as 16)
f.yaml:2:8: unknown value "fnecing" (did you mean fencing?)
f.yaml:4:3: a fault without target (` + chaos.Values(target) + `)
f.yaml:4:3: a fault with neither at nor trigger (give one of the two)
f.yaml:4:3: a fault with neither for nor until (give one of the two)`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}

	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "k%d: 1\n", i)
	}
	_, err = scenario.Load("f.yaml", []byte(b.String()))
	if err == nil || !strings.HasSuffix(err.Error(), "\nand 10 more") {
		t.Errorf("got %v, want the number of errors that are left out", err)
	}
}
