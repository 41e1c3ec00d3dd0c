package figures

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"locklab/reports/measure"
	"locklab/reports/result"
)

var under = Conditions{ZooKeeper: "3.9.3", JVM: "production", Lab: "docker", Processors: 2}

var example = Figure{Name: "example", Rounds: 5, Base: "@5.7.1", Pieces: peers("mutex", 1, 64),
	Keys: []string{KeyClients, KeyPeer}, Columns: []string{"acquired_per_s", "acquire.p99"}}

// record is a round that nothing disturbed.
func record(round int, peer string, perS, p99 float64) Record {
	return Record{SchemaVersion: SchemaVersion, Piece: "mutex-1-64", Round: round, Locklab: "abc", Conditions: under,
		Begun: time.Unix(int64(round), 0), Cell: map[string]string{KeyClients: "64", KeyPeer: peer}, Others: new(0.1),
		Values: map[string]float64{"acquired_per_s": perS, "acquire.p99": p99}}
}

func table(t *testing.T, f *Figure, all []Record) string {
	t.Helper()
	var b strings.Builder
	if err := f.Table(&b, all); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The table has medians with intervals, ratios of the same round, and the conditions. What was disturbed, failed, or
// was measured under other conditions has no part in it.
func TestTable(t *testing.T) {
	var all []Record
	for i := 1; i <= 5; i++ {
		old := record(i, "mutex", 9999, 9e9)
		old.Conditions.ZooKeeper, old.Begun = "3.8.0", time.Unix(0, 0)
		all = append(all, old, record(i, "mutex", 100*float64(i), 5e6), record(i, "curator-mutex@5.7.1", 50*float64(i), 7e6))
	}
	disturbed, failed, blind := record(6, "mutex", 7777, 1), record(7, "mutex", 7777, 1), record(8, "mutex", 7777, 1)
	disturbed.Others, failed.Failed, blind.Others = new(0.3), "fail: two holders", nil
	all = append(all, disturbed, failed, blind, record(8, "curator-mutex@5.7.1", 150, 7e6))
	got := table(t, &example, all)
	for _, want := range []string{
		"| clients | peer | acquired/s | acquire p99 | over …@5.7.1 |\n|---|---|---|---|---|\n",
		"| 64 | mutex | 300 (100–500) | 5 ms (5 ms–5 ms) | 2.00 (2.00–2.00) |\n",
		"| 64 | curator-mutex@5.7.1 | 150 (75–225) | 7 ms (7 ms–7 ms) | n/a |\n",
		"ZooKeeper 3.9.3", "`jvm: production`", "2 processors", "at most 0.1 of the processors",
		"2 rounds of a cell in which others used", "one round of a cell that failed",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "7777") || strings.Contains(got, "9999") || strings.Contains(got, "3.8.0") {
		t.Errorf("a round is shown that should not be:\n%s", got)
	}
	if got := table(t, &example, all[:6]); !strings.Contains(got, "150 (n=2)") {
		t.Errorf("two rounds have an interval:\n%s", got)
	}
	newer := record(9, "mutex", 7777, 1)
	newer.Conditions.ZooKeeper, newer.Others = "3.9.6", new(1.0)
	if got := table(t, &example, append(all, newer)); !strings.Contains(got, "ZooKeeper 3.9.3") {
		t.Errorf("a disturbed round of another version hides the table:\n%s", got)
	}
	unknown := record(9, "mutex", 0, 5e6)
	delete(unknown.Values, throughput)
	if got := table(t, &example, append(all, unknown, record(9, "curator-mutex@5.7.1", 150, 7e6))); !strings.Contains(
		got, "2.00 (2.00–2.00)") {
		t.Errorf("a round without a throughput has a ratio:\n%s", got)
	}
	all[1].Steady = new(true)
	if got := table(t, &example, all); !strings.Contains(got, "until their throughput no longer rose") {
		t.Errorf("steady servers:\n%s", got)
	}
	all[2].Steady = new(false)
	if got := table(t, &example, all); !strings.Contains(got, "Before one round of a cell, the servers did not become") {
		t.Errorf("servers that were not steady:\n%s", got)
	}
	if got := table(t, &example, nil); !strings.Contains(got, "make figures FIGURES=example") {
		t.Errorf("without records: %s", got)
	}
}

// A piece is measured until each of its cells has its rounds, or was disturbed too often. Rounds under other conditions
// do not count, and no number of a round is used twice.
func TestMissing(t *testing.T) {
	p := &example.Pieces[0]
	var all []Record
	for i := 1; i <= example.Rounds; i++ {
		if round, missing := example.Missing(p, under, all); round != i || !missing {
			t.Errorf("after %d rounds: %d, %v", i-1, round, missing)
		}
		all = append(all, record(i, "mutex", 1, 1), record(i, "curator-mutex@5.7.1", 1, 1))
	}
	if _, missing := example.Missing(p, under, all); missing {
		t.Error("a complete piece misses a round")
	}
	all[0].Others = new(2.0)
	if round, missing := example.Missing(p, under, all); round != 6 || !missing {
		t.Errorf("one disturbed round: %d, %v", round, missing)
	}
	newer := under
	newer.ZooKeeper = "3.9.6"
	if round, missing := example.Missing(p, newer, all); round != 6 || !missing {
		t.Errorf("another version: %d, %v", round, missing)
	}
	for i := 6; i <= mostTries*example.Rounds; i++ {
		bad := record(i, "mutex", 1, 1)
		bad.Others = nil
		all = append(all, bad, record(i, "curator-mutex@5.7.1", 1, 1))
	}
	if _, missing := example.Missing(p, under, all); missing {
		t.Error("a machine that is never quiet is measured for ever")
	}
}

// What is appended is read again, and a line that is no record is an error that says where it is.
func TestRecords(t *testing.T) {
	root := t.TempDir()
	if all, err := example.Read(root); err != nil || len(all) != 0 {
		t.Errorf("no file: %v, %v", all, err)
	}
	for i := range 2 {
		both := []Record{record(i+1, "mutex", 100, 1e6), record(i+1, "curator-mutex@5.7.1", 50, 2e6)}
		if err := example.Append(root, both); err != nil {
			t.Fatal(err)
		}
	}
	all, err := example.Read(root)
	if err != nil || len(all) != 4 || all[3].Values["acquire.p99"] != 2e6 || all[2].Round != 2 || *all[0].Others != 0.1 {
		t.Errorf("%+v, %v", all, err)
	}
	f, err := os.OpenFile(example.file(root), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	last, err := os.ReadFile(example.file(root))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(example.file(root), bytes.TrimSuffix(last, []byte("\n")), 0); err != nil { // an editor's
		t.Fatal(err)
	}
	if err := example.Append(root, []Record{record(3, "mutex", 100, 1e6)}); err != nil {
		t.Fatal(err)
	}
	if all, err := example.Read(root); err != nil || len(all) != 5 || all[3].Round != 2 || all[4].Round != 3 {
		t.Errorf("after a last line without an end: %+v, %v", all, err)
	}
	if _, err := f.WriteString(`{"schema_version":1,"pie`); err != nil {
		t.Fatal(err)
	}
	if _, err := example.Read(root); err == nil || !strings.Contains(err.Error(), "line 6") {
		t.Errorf("a torn line: %v", err)
	}
}

// Of rounds from a known distribution, about as many intervals have its median as they claim. A bootstrap of so few
// rounds is a little too narrow.
func TestInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	const trials = 300
	has := 0
	for range trials {
		var x []float64
		for range 10 {
			x = append(x, math.Exp(r.NormFloat64()/5))
		}
		low, high, ok := interval(x)
		if !ok || low > measure.Median(x) || high < measure.Median(x) {
			t.Fatalf("%v: %v to %v, %v", x, low, high, ok)
		}
		if low <= 1 && 1 <= high {
			has++
		}
	}
	if share := float64(has) / trials; share < 0.88 {
		t.Errorf("%.2f of the intervals have the median", share)
	}
	if _, _, ok := interval([]float64{1, 2, 3, 4}); ok {
		t.Error("four rounds have an interval")
	}
}

// Every figure can be asked for, and its columns are numbers that are measured.
func TestAll(t *testing.T) {
	for _, f := range All {
		chosen, err := Named(f.Name)
		if err != nil || len(chosen) != 1 || chosen[0].Name != f.Name {
			t.Errorf("%s: %v, %v", f.Name, chosen, err)
		}
		for _, c := range f.Columns {
			if _, ok := result.Named(c); !ok {
				t.Errorf("%s has a column %s", f.Name, c)
			}
		}
		if f.Rounds < fewest {
			t.Errorf("%s has %d rounds, too few for an interval", f.Name, f.Rounds)
		}
	}
	if all, err := Named(""); err != nil || len(all) != len(All) {
		t.Errorf("%d figures, %v", len(all), err)
	}
	if _, err := Named("peers,nothing"); err == nil {
		t.Error("nothing is a figure")
	}
}
