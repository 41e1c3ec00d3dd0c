package judge

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"locklab/ensembles/txnlog"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/rundir"
)

// randomCuts is how many random places a record is cut at.
const randomCuts = 24

// frameEnds returns where the frames of a raw history end.
func frameEnds(t *testing.T, b []byte) (ends []int) {
	t.Helper()
	for at := 0; at < len(b); {
		size := 8
		for ; at+size <= len(b); size += 8 {
			if events, _, err := history.Decode(nil, b[at:at+size], map[string]string{}); err == nil && len(events) == 1 {
				break
			}
		}
		at += size
		ends = append(ends, at)
	}
	return ends
}

// A damage changes one file of a run directory; nil content removes it.
type damage struct {
	name    string
	file    string
	content []byte
}

// damages returns what can happen to one record: it is cut, emptied, removed, replaced by that of another run or of
// another host, loses an event in its middle, or has another event in the place of one, just as long.
func damages(t *testing.T, dir, other, file string, rng *rand.Rand) []damage {
	t.Helper()
	read := func(dir, file string) []byte {
		b, err := os.ReadFile(filepath.Join(rundir.HostsDir(dir), file))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	whole := read(dir, file)
	all := []damage{
		{"removed", file, nil}, {"emptied", file, []byte{}}, {"of another run", file, read(other, file)},
		{"zeros behind half of it", file, append(slices.Clone(whole[:len(whole)/2&^7]), make([]byte, len(whole)/2)...)},
	}
	if swapped := strings.Replace(file, "c1", "c2", 1); swapped != file {
		all = append(all, damage{"of another host", file, read(dir, swapped)})
	}
	for range randomCuts {
		at := rng.IntN(len(whole))
		all = append(all, damage{fmt.Sprintf("cut at byte %d", at), file, whole[:at]})
	}
	ends := frameEnds(t, whole)
	all = append(all, damage{"last event zeroed", file,
		append(slices.Clone(whole[:ends[len(ends)-2]]), make([]byte, len(whole)-ends[len(ends)-2])...)})
	for i, end := range ends[:len(ends)-1] {
		all = append(all, damage{fmt.Sprintf("cut after event %d", i+1), file, whole[:end]})
	}
	for range randomCuts {
		i := 1 + rng.IntN(len(ends)-1)
		all = append(all, damage{fmt.Sprintf("without event %d", i+1), file,
			append(slices.Clone(whole[:ends[i-1]]), whole[ends[i]:]...)})
	}
	for range randomCuts {
		i := 1 + rng.IntN(len(ends)-2) // not the end mark, because when it was written matters to nobody
		from, to := ends[i-1], ends[i]
		put := func(name string, frame []byte) {
			if now := slices.Concat(whole[:from], frame, whole[to:]); len(now) == len(whole) && !bytes.Equal(now, whole) {
				all = append(all, damage{name, file, now})
			}
		}
		e := eventOf(t, whole[from:to])
		e.At++
		put(fmt.Sprintf("changed event %d", i+1), history.Encode(e))
		j := 1 + rng.IntN(len(ends)-2)
		put(fmt.Sprintf("changed event %d to event %d", i+1, j+1), whole[ends[j-1]:ends[j]])
	}
	return all
}

// eventOf returns the event of a frame.
func eventOf(t *testing.T, frame []byte) history.Event {
	t.Helper()
	events, _, err := history.Decode(nil, frame, map[string]string{})
	if err != nil || len(events) != 1 {
		t.Fatal(events, err)
	}
	return events[0]
}

// inflicted does the damage to a run directory, calls f, and undoes the damage.
func (d damage) inflicted(t *testing.T, dir string, f func()) {
	t.Helper()
	path := filepath.Join(rundir.HostsDir(dir), d.file)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d.content != nil {
		err = os.WriteFile(path, d.content, 0o644)
	} else {
		err = os.Remove(path)
	}
	if err == nil {
		f()
		err = os.WriteFile(path, whole, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// wantUnknown judges a run whose record is not whole: nothing passes and nothing fails, no number is given, and the
// file is named.
func wantUnknown(t *testing.T, what, dir, file string) {
	t.Helper()
	out, err := Judge(dir)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if out.Result.Verdict != evidence.Unknown || out.Result.Safety != (evidence.Safety{}) {
		t.Errorf("%s: %s, %+v", what, out.Result.Verdict, out.Result.Safety)
	}
	for _, v := range out.Report.Checks {
		if v.Result == evidence.Pass || v.Result == evidence.Fail || v.Violation || len(v.Findings) > 0 {
			t.Errorf("%s: %s is %s: %s", what, v.Name, v.Result, v.Summary)
		}
	}
	if why := out.Report.Check(evidence.Assumptions).Summary; !strings.Contains(why, file) {
		t.Errorf("%s: %s is not named: %s", what, file, why)
	}
}

func wantVerdict(t *testing.T, what, dir string, want evidence.Result) Outcome {
	t.Helper()
	out, err := Judge(dir)
	if err != nil {
		t.Fatal(err)
	}
	if out.Result.Verdict != want {
		t.Errorf("%s: %s, want %s: %s", what, out.Result.Verdict, want, out.Result.Headline)
		for _, v := range out.Report.Checks {
			t.Logf("%s %s: %s", v.Name, v.Result, v.Summary)
		}
	}
	return out
}

// A run whose record is whole has its verdict. Whatever is cut from a record, or put in its place, makes it unknown.
func TestIncompleteRecord(t *testing.T) {
	if testing.Short() {
		t.Skip("judges hundreds of damaged records")
	}
	for _, c := range []struct {
		name string
		made madeRun
		want evidence.Result
		file string // the record that is damaged at every frame; others only at some
	}{
		{"sound lock", madeRun{id: "a-1", section: "counter"}, evidence.Pass, "c1/process.hist"},
		{"sound lock, no section", madeRun{id: "a-1", section: "none"}, evidence.Pass, "c1/process.hist"},
		{"unexplained overlap", madeRun{id: "a-1", section: "counter", overlap: true}, evidence.Fail, "c1/process.hist"},
		{"unexplained overlap, no section", madeRun{id: "a-1", section: "none", overlap: true}, evidence.Fail,
			"c2/process.hist"},
		{"resource", madeRun{id: "a-1", section: "counter"}, evidence.Pass, "r1/process.hist"},
		{"agent", madeRun{id: "a-1", section: "counter", overlap: true}, evidence.Fail, "c1/agent.hist"},
		{"harness", madeRun{id: "a-1", section: "counter", overlap: true}, evidence.Fail, "harness/000000.hist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			const seed = 20261122
			rng := rand.New(rand.NewPCG(seed, uint64(len(c.name))))
			dir := c.made.make(t)
			wantVerdict(t, "whole", dir, c.want)
			again := c.made
			again.id = "b-1"
			all := damages(t, dir, again.make(t), c.file, rng)
			for _, d := range all {
				named := "hosts/" + d.file
				if strings.HasPrefix(d.file, rundir.HarnessHost) {
					named = "" // without it there is no run to speak of
				}
				d.inflicted(t, dir, func() { wantUnknown(t, d.name, dir, named) })
			}
			wantVerdict(t, "whole again", dir, c.want)
			t.Logf("%d damaged records, seed %d", len(all), seed)
		})
	}
}

// The transaction logs of two or three servers that end at the same place, wherever that is, make the run unknown. So
// do those of one server, because a file is not as it was copied.
func TestCutTransactionLogs(t *testing.T) {
	if testing.Short() {
		t.Skip("judges a run hundreds of times")
	}
	const seed, cuts = 20261122, 16
	rng := rand.New(rand.NewPCG(seed, 3))
	n := 0
	for _, made := range []madeRun{{id: "a-1", section: "counter"}, {section: "none", unmarked: true}} {
		dir := made.make(t)
		name := filepath.Join(rundir.TxnLogDir(dir, "zk1"), fmt.Sprintf("log.%x", since+1))
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for servers := 1; servers <= 3; servers++ {
			for i := range cuts {
				at := 16 + rng.IntN(len(whole)-16)
				if i%2 == 0 {
					at = recordEnd(t, whole, at)
				}
				cut := filepath.Join(t.TempDir(), "run")
				if err := os.CopyFS(cut, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				for s := range servers {
					log := filepath.Join(rundir.TxnLogDir(cut, fmt.Sprintf("zk%d", s+1)), filepath.Base(name))
					if err := os.WriteFile(log, whole[:at], 0o644); err != nil {
						t.Fatal(err)
					}
				}
				wantUnknown(t, fmt.Sprintf("%d logs cut at byte %d of %d", servers, at, len(whole)), cut, "hosts/zk1/txnlog")
				n++
			}
		}
	}
	t.Logf("%d cuts, seed %d", n, seed)
}

// A raw file that is as long as it was and has other content, or is that of another run, makes the run unknown.
func TestChangedFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("judges a run hundreds of times")
	}
	dir := madeRun{id: "a-1", section: "counter"}.make(t)
	other := madeRun{id: "b-1", section: "none", killed: true}.make(t)
	for _, name := range []string{rundir.ScenarioFile, rundir.EnvFile, "timeline.json"} {
		theirs, err := os.ReadFile(filepath.Join(other, name))
		if err != nil {
			t.Fatal(err)
		}
		damage{file: filepath.Join("..", name), content: theirs}.inflicted(t, dir, func() {
			wantUnknown(t, "of another run", dir, name)
		})
	}
	logs, err := filepath.Glob(filepath.Join(rundir.TxnLogDir(dir, "*"), "*"))
	if err != nil || len(logs) != 3 {
		t.Fatal(logs, err)
	}
	whole, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	const seed = 20261123
	rng := rand.New(rand.NewPCG(seed, 1))
	for servers := 1; servers <= 3; servers++ {
		for range randomCuts {
			at := recordEnd(t, whole, 16+rng.IntN(len(whole)-16))
			zeroed := slices.Concat(whole[:at], make([]byte, len(whole)-at))
			for _, log := range logs[:servers] {
				if err := os.WriteFile(log, zeroed, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			wantUnknown(t, fmt.Sprintf("%d logs with zeros from byte %d on", servers, at), dir, "hosts/zk1/txnlog")
		}
	}
	for _, log := range logs {
		if err := os.WriteFile(log, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wantVerdict(t, "whole again", dir, evidence.Pass)
}

// What bears the name of a record and is no file is a record that is missing.
func TestRecordThatIsNoFile(t *testing.T) {
	dir := madeRun{id: "a-1", section: "counter"}.make(t)
	const file = "c1/process.hist"
	path := filepath.Join(rundir.HostsDir(dir), file)
	for what, put := range map[string]func() error{
		"a link to nothing": func() error { return os.Symlink("nothing", path) },
		"a directory":       func() error { return os.Mkdir(path, 0o755) },
		"a pipe":            func() error { return syscall.Mkfifo(path, 0o644) },
	} {
		if err := errors.Join(os.Remove(path), put()); err != nil {
			t.Fatal(err)
		}
		wantUnknown(t, what, dir, "hosts/"+file)
	}
}

// recordEnd returns where the record that reaches up to or beyond a place in a log begins.
func recordEnd(t *testing.T, log []byte, at int) (begins int) {
	t.Helper()
	for rec, err := range txnlog.Read(strings.NewReader(string(log)), "log") {
		if err != nil {
			t.Fatal(err)
		}
		if int(rec.Offset) > at {
			break
		}
		begins = int(rec.Offset)
	}
	return begins
}

// Logs that were cut on every server before they were copied are as long as the harness says, and yet end too early.
func TestLogsThatEndTooEarly(t *testing.T) {
	for _, made := range []madeRun{{id: "a-1", section: "counter"}, {section: "none", unmarked: true}} {
		whole := made.make(t)
		wantVerdict(t, "whole", whole, evidence.Pass)
		first := 1
		if made.unmarked {
			first = 6 // the writes of the three servers at the end are all that tells
		}
		for drop := first; drop < 2*turns; drop += 7 {
			short := made
			short.dropped = drop
			out := wantVerdict(t, fmt.Sprintf("without the last %d transactions", drop), short.make(t), evidence.Unknown)
			if v := out.Report.Check(evidence.ServiceExclusion); v.Result != evidence.Unknown {
				t.Errorf("without the last %d transactions: %s", drop, v.Summary)
			}
		}
	}
}

// A session that contended for the lock by the transaction logs, and is in no client's record, had a client whose
// record is missing.
func TestSessionWithoutARecord(t *testing.T) {
	for _, unmarked := range []bool{false, true} {
		for _, overlap := range []bool{false, true} {
			made := madeRun{id: "a-1", section: "counter", overlap: overlap, unmarked: unmarked, stranger: true}
			wantUnknown(t, fmt.Sprintf("%+v", made), made.make(t), "session 0x777")
		}
	}
}

// A process that a fault killed leaves a record that is whole up to its death. If the record of the fault's injection
// is another host's, nothing explains why the record has no end.
func TestRecordOfAKilledProcess(t *testing.T) {
	made := madeRun{id: "a-1", section: "counter", killed: true}
	run, err := rundir.Read(made.make(t))
	if err != nil || len(run.Incomplete) > 0 {
		t.Errorf("killed by a fault: %q, %v", run.Incomplete, err)
	}
	made.elsewhere = true
	run, err = rundir.Read(made.make(t))
	if err != nil || len(run.Incomplete) != 1 || !strings.Contains(run.Incomplete[0], "hosts/c1/process.hist") {
		t.Errorf("not killed by a fault: %q, %v", run.Incomplete, err)
	}
}

// A run directory of format 1 keeps its verdict, with a warning, where nothing speaks against its record.
func TestFormatWithoutMarks(t *testing.T) {
	if testing.Short() {
		t.Skip("judges hundreds of damaged records")
	}
	for overlap, want := range map[bool]evidence.Result{false: evidence.Pass, true: evidence.Fail} {
		made := madeRun{section: "counter", overlap: overlap, unmarked: true}
		dir := made.make(t)
		out := wantVerdict(t, "whole", dir, want)
		if !slices.ContainsFunc(out.Result.Warnings, func(w string) bool {
			return strings.Contains(w, "completeness cannot be proved")
		}) {
			t.Errorf("warnings %q", out.Result.Warnings)
		}
		rng := rand.New(rand.NewPCG(1, 1))
		all := damages(t, dir, dir, "c1/process.hist", rng)
		n := 0
		for _, d := range all {
			if d.name == "of another run" || strings.HasPrefix(d.name, "without event") || isChange(d) {
				continue // that needs run ids, lengths and sums; see below
			}
			named := "c1/process.hist"
			if d.name == "of another host" {
				named = "lacks session" // without headings it is not known whose record is missing
			}
			d.inflicted(t, dir, func() { wantUnknown(t, d.name, dir, named) })
			n++
		}
		for _, d := range damages(t, dir, dir, "r1/process.hist", rng) {
			if d.name != "of another run" && !isChange(d) {
				d.inflicted(t, dir, func() { wantUnknown(t, d.name, dir, "hosts/r1/process.hist") })
				n++
			}
		}
		n += withoutAttempts(t, dir)
		t.Logf("%d damaged records", n)
	}
}

// isChange reports whether a damage leaves a record as long as it was, and with as many events.
func isChange(d damage) bool { return strings.HasPrefix(d.name, "changed event") }

// withoutAttempts removes each attempt of c1 from the record of a run of format 1. The transaction logs have its znode.
func withoutAttempts(t *testing.T, dir string) (n int) {
	t.Helper()
	const file = "c1/process.hist"
	whole, err := os.ReadFile(filepath.Join(rundir.HostsDir(dir), file))
	if err != nil {
		t.Fatal(err)
	}
	begin := 0
	for _, end := range frameEnds(t, whole) {
		events, _, err := history.Decode(nil, whole[begin:end], map[string]string{})
		if err != nil {
			t.Fatal(err)
		}
		if events[0].Op == history.OpAttempt {
			d := damage{fmt.Sprintf("without the attempt at byte %d", begin), file,
				append(slices.Clone(whole[:begin]), whole[end:]...)}
			d.inflicted(t, dir, func() { wantUnknown(t, d.name, dir, file) })
			n++
		}
		begin = end
	}
	if n == 0 {
		t.Error("the record has no attempts")
	}
	return n
}
