package gatecurve

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/check/evidence"
	"locklab/reports/compare"
)

// slow is a benchmark of a lock with a slower one, as bench recorded it, reduced to the files that compare reads.
const slow = "../../harness/cmd/locklab/testdata/gate/slow"

// The samples of a record give the answer that the run directories gave, also after a file.
func TestRecordKeepsTheAnswer(t *testing.T) {
	r := Record{Machine: "2 cores, quiet", Cell: "handoff-20", Begun: time.Unix(1, 0).UTC(), TookS: 75.5, DelayNs: 270e3}
	if err := r.Condense(slow); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "new", "comparisons.jsonl")
	for range 2 {
		if err := r.Append(name); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > 2*25_000 {
		t.Errorf("two records of %d pairs take %d bytes", r.Pairs, len(b))
	}
	all, err := Read(bytes.NewReader(b))
	if err != nil || len(all) != 2 {
		t.Fatalf("%d records, %v", len(all), err)
	}
	back := all[1]
	if diff := cmp.Diff(r, back); diff != "" {
		t.Errorf("another record was read (-written +read):\n%s", diff)
	}
	report, err := back.Compare()
	if err != nil {
		t.Fatal(err)
	}
	if back.Pairs != 20 || report.Verdict != compare.Regressed || back.Verdict != report.Verdict ||
		!strings.HasPrefix(report.Reason, "handoff.p50: ") || report.Reason != back.Reason ||
		!strings.Contains(report.Measured, "4 clients for one lock, on one server") {
		t.Errorf("%d pairs, %s, now %s: %s\n%s", back.Pairs, back.Verdict, report.Verdict, report.Reason, report.Measured)
	}
}

// A run that did not pass is none when it is compared again, either.
func TestRecordKeepsVerdictsOfRuns(t *testing.T) {
	var r Record
	if err := r.Condense(slow); err != nil {
		t.Fatal(err)
	}
	for verdict, want := range map[evidence.Result]compare.Verdict{evidence.Unknown: compare.Inconclusive,
		evidence.Fail: compare.Violation} {
		r.NotPassed = map[string]evidence.Result{"head/003": verdict}
		report, err := r.Compare()
		if err != nil || report.Verdict != want || !strings.Contains(report.Reason, "head/003") {
			t.Errorf("%s: %v, %s: %s", verdict, err, report.Verdict, report.Reason)
		}
	}
	r.NotPassed, r.Samples = nil, map[string]Sides{"latency.acquire.p50_ns": {}}
	if _, err := r.Compare(); err == nil {
		t.Error("samples that are too few are accepted")
	}
}

// A record keeps by what a run is compared that is too short for its p99.
func TestRecordKeepsTheSlowest(t *testing.T) {
	var r Record
	if err := r.Condense(slow); err != nil {
		t.Fatal(err)
	}
	few := 60.0
	r.Samples["latency.acquire.p99_ns"].Head[2], r.Samples["latency.acquire.count"].Head[2] = nil, &few
	for n, known := range map[float64]bool{60: true, 40: false} {
		few = n
		report, err := r.Compare()
		if says := strings.Contains(strings.Join(report.Warnings, "\n"), "head/003 has none"); err != nil || says == known {
			t.Errorf("%v acquisitions: %v, %q", n, err, report.Warnings)
		}
	}
}

// Read refuses text that is not a record, and names its line.
func TestReadRefuses(t *testing.T) {
	good := `{"schema_version": 1}` + "\n"
	for text, want := range map[string]string{
		good + `{"schema_version": 2}`: "line 2: schema_version is 2",
		good + good + `{"schema_ver`:   "line 3: ",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if all, err := Read(strings.NewReader(strings.TrimSpace(good))); err != nil || len(all) != 1 {
		t.Errorf("without a last newline: %d, %v", len(all), err)
	}
}

// Cells are filled evenly, the same code first, and each machine for itself. Under a load, some are not measured.
func TestNext(t *testing.T) {
	for weather, wanted := range map[bool]int{false: 160, true: 120} {
		var records []Record
		counts := map[string]int{}
		for {
			c, ok := Next(records, "m", weather)
			if !ok {
				break
			}
			if len(records) == 0 && c.Name != Same {
				t.Errorf("%s comes first", c.Name)
			}
			counts[c.Name]++
			records = append(records, Record{Machine: "m", Cell: c.Name}, Record{Machine: "other", Cell: c.Name})
			for _, other := range cellsIn(weather) {
				if part := float64(counts[other.Name]) / float64(other.Wanted); math.Abs(
					part-float64(len(records)/2)/float64(wanted)) > 0.1+1/float64(other.Wanted) {
					t.Fatalf("after %d comparisons, %s has %d of %d", len(records)/2, other.Name, counts[other.Name],
						other.Wanted)
				}
			}
		}
		for _, c := range cellsIn(weather) {
			if counts[c.Name] != c.Wanted {
				t.Errorf("%s has %d of %d", c.Name, counts[c.Name], c.Wanted)
			}
		}
		if len(records) != 2*wanted {
			t.Errorf("%d comparisons in all, want %d", len(records)/2, wanted)
		}
	}
}
