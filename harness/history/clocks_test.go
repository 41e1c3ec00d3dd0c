package history

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"
)

// A skewed is a true clock of a host: it is off the run's, and drifts by less than is assumed.
type skewed struct {
	*rand.Rand
	offset int64
	rates  []int64 // in ppm, each for a second
	slow   int64   // the longest half of a round trip
}

const second = int64(1e9)

// newSkewed returns a clock that drifts at rates of up to a number of ppm.
func newSkewed(seed uint64, most int64) *skewed {
	r := rand.New(rand.NewPCG(seed, 5))
	s := &skewed{Rand: r, offset: r.Int64N(2e14) - 1e14, slow: 1 + r.Int64N([]int64{1e5, 3e6}[r.IntN(2)])}
	for range 60 {
		s.rates = append(s.rates, r.Int64N(2*most+1)-most)
	}
	return s
}

// shows is what the clock shows at an instant of the run.
func (s *skewed) shows(at int64) int64 {
	drift := int64(0)
	for i, rate := range s.rates {
		drift += max(0, min(second, at-int64(i)*second)) * rate / 1e6
	}
	return at + s.offset + drift
}

// read reads the clock as the harness does.
func (s *skewed) read(asked int64) ClockReading {
	there, back := s.Int64N(s.slow), s.Int64N(s.slow)
	return ClockReading{Host: "c1", Clock: "other", Shows: s.shows(asked + there), Asked: asked, Took: there + back}
}

// readings reads the clock several times in the first minute.
func (s *skewed) readings() (all []ClockReading) {
	for at := s.Int64N(second); at < 60*second; at += s.Int64N(second/2) + 1 {
		all = append(all, s.read(at))
	}
	return all
}

// However a clock drifts within what is assumed, whatever it showed is placed within the error that is given, in its
// order. So it is while the run lasts.
func TestClocksPlaceWithinTheirError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSkewed(rapid.Uint64().Draw(t, "seed"), 500)
		readings := s.readings()
		clocks := NewClocks(readings)
		from, until := int64(-second), 61*second
		clocks.Covers("c1", s.shows(from), s.shows(until))
		if why := clocks.Broken(); why != nil {
			t.Fatal(why)
		}
		most := clocks.Err("c1")
		var follower ClockFollower
		next, last := 0, int64(None)
		for at := from; at < until; at += 1 + s.Int64N(second/20) {
			shown := s.shows(at)
			got := clocks.Place("c1", shown)
			if off := got - at; off > most || off < -most {
				t.Fatalf("%d is placed off by %d, and the error is %d", at, off, most)
			}
			if got < last {
				t.Fatalf("%d is placed before an earlier time", at)
			}
			last = got
			for ; next < len(readings) && readings[next].Asked+readings[next].Took <= at; next++ {
				follower.Read(readings[next])
			}
			if next == 0 || next == len(readings) {
				continue
			}
			if off := follower.ToRun(shown) - at; off > most || off < -most {
				t.Fatalf("%d is placed off by %d while the run lasts, and the error is %d", at, off, most)
			}
			if off := follower.ToHost(at) - shown; off > 2*most || off < -2*most {
				t.Fatalf("%d is told to the host off by %d, and the error is %d", at, off, most)
			}
		}
		if clocks.Err("c2") != 0 || clocks.Apart("c1", "c2") != most || clocks.Apart("c1", "c1") != 0 ||
			clocks.Place("c2", 7) != 7 {
			t.Error("a host without readings has another clock than the run's")
		}
	})
}

// The error is half the shortest round trip of late, and what a clock may drift since: here 100 µs, and 125 µs for each
// of seven quarters of a second.
func TestClocksAreClose(t *testing.T) {
	var readings []ClockReading
	for i := range int64(100) {
		took := 200_000 + i%7*300_000
		asked := i * second / 4
		readings = append(readings, ClockReading{Host: "c1", Clock: "other", Shows: asked + took/2 + 5e13, Asked: asked,
			Took: took})
	}
	if most := NewClocks(readings).Err("c1"); most < 100_000 || most > 1_000_000 {
		t.Errorf("the error is %d ns", most)
	}
}

// A clock that jumps, or drifts by more than is assumed, is noticed.
func TestClocksThatCannotBePlaced(t *testing.T) {
	for name, spoil := range map[string]func(*ClockReading){
		"jump":  func(r *ClockReading) { r.Shows += 50e6 },
		"drift": func(r *ClockReading) { r.Shows += (r.Asked - 30*second) / 500 },
	} {
		readings := newSkewed(1, 100).readings()
		for i := range readings {
			if readings[i].Asked > 30*second {
				spoil(&readings[i])
			}
		}
		why := NewClocks(readings).Broken()
		if len(why) != 1 || !strings.HasPrefix(why[0], "the clock of c1 cannot be placed") {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// Hosts with one clock share its readings, and nothing is uncertain between them.
func TestHostsWithOneClock(t *testing.T) {
	s := newSkewed(3, 100)
	readings := s.readings()
	for i := range readings {
		readings[i].Host = fmt.Sprintf("c%d", 1+i%2)
	}
	readings = append(readings, ClockReading{Host: "c3", Clock: "the run's", Same: true})
	clocks := NewClocks(readings)
	if clocks.Apart("c1", "c2") != 0 || clocks.Apart("c1", "c3") == 0 || clocks.Apart("c3", "harness") != 0 ||
		clocks.Place("c1", 5) != clocks.Place("c2", 5) || clocks.Worst() != 2*clocks.Err("c1") {
		t.Errorf("%+v", clocks.Uncertain())
	}
	if all := clocks.Uncertain(); len(all) != 1 || !slices.Equal(all[0].Hosts, []string{"c1", "c2"}) {
		t.Errorf("%+v", all)
	}
	if NewClocks(readings[len(readings)-1:]) != nil {
		t.Error("a run on one machine has clocks to place")
	}
}

// Where every host has the run's clock, a history is read as if nothing had been said about clocks. A host with another
// clock has its events placed, in the order of what happened, whatever its clock showed.
func TestReadRawPlacesHosts(t *testing.T) {
	s := newSkewed(9, 400)
	var want []string
	at := func(n int64) int64 { return 10*second + n*20e6 }
	write := func(shows func(int64) int64, readings []ClockReading) (log *Log, err error) {
		dir := t.TempDir()
		files := map[string][]byte{}
		add := func(file string, e Event) { files[file] = append(files[file], Encode(e)...) }
		add("harness/000000.hist", Begins(second, "x", "run"))
		for _, r := range readings {
			e := r.Event()
			e.Process = "harness"
			add("harness/000000.hist", e)
		}
		want = nil
		for n := range int64(100) {
			host := fmt.Sprintf("c%d", 1+n%2)
			e := Event{At: at(n), Process: host, Op: OpQueued, Client: host + "/0", Acq: n}
			if host == "c1" {
				e.At = shows(at(n ^ 2)) // some are late
			} else {
				e.At = at(n ^ 2)
			}
			add(host+"/process.hist", e)
		}
		for n := range int64(100) {
			want = append(want, fmt.Sprint(n))
		}
		for file, b := range files {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, file), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		log, _, err = ReadRaw(dir, nil)
		return log, err
	}
	order := func(log *Log, most int64) (got []string) {
		for _, e := range log.Of(OpQueued) {
			got = append(got, fmt.Sprint(e.Acq^2))
			if off := e.At + second - at(e.Acq^2); off > most || off < -most {
				t.Errorf("acquisition %d is placed off by %d, and the error is %d", e.Acq, off, most)
			}
		}
		return got
	}
	log, err := write(s.shows, s.readings())
	if err != nil {
		t.Fatal(err)
	}
	if got := order(log, log.Clocks().Err("c1")); !slices.Equal(got, want) {
		t.Errorf("the order is %v", got)
	}
	same := func(at int64) int64 { return at }
	log, err = write(same, []ClockReading{{Host: "c1", Same: true, Clock: "x"}, {Host: "c2", Same: true, Clock: "x"}})
	if err != nil || log.Clocks() != nil {
		t.Fatal(err, log.Clocks())
	}
	if got := order(log, 0); !slices.Equal(got, want) {
		t.Errorf("the order is %v", got)
	}
}

// A clock's name is the same only on one boot of one kernel and in one time namespace.
func TestClockNames(t *testing.T) {
	proc := func(boot, own, children string) fstest.MapFS {
		fs := fstest.MapFS{"sys/kernel/random/boot_id": {Data: []byte(boot + "\n")}}
		for name, is := range map[string]string{"self/ns/time": own, "self/ns/time_for_children": children} {
			if is != "" {
				fs[name] = &fstest.MapFile{Data: []byte(is), Mode: os.ModeSymlink}
			}
		}
		return fs
	}
	names := map[string]bool{}
	for _, fs := range []fstest.MapFS{proc("a", "", ""), proc("b", "", ""), proc("a", "time:[1]", "time:[1]"),
		proc("b", "time:[1]", "time:[1]"), proc("a", "time:[2]", "time:[2]")} {
		name, err := clockName(fs)
		if err != nil || name == "" || names[name] {
			t.Errorf("%q %v", name, err)
		}
		names[name] = true
	}
	if name, err := clockName(fstest.MapFS{}); name != "" || err != nil {
		t.Errorf("a kernel that tells nothing has the clock %q: %v", name, err)
	}
	if _, err := clockName(proc("a", "time:[1]", "time:[2]")); err == nil {
		t.Error("a process whose children have another clock has a name for it")
	}
	if name, err := ClockName(); err != nil || name == "" {
		t.Errorf("this process has the clock %q: %v", name, err)
	}
}
