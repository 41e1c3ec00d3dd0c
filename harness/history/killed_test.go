package history

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// recordForever is the body of the process that TestKilledRecorder kills. It prints the number of each event after
// Record has returned.
func recordForever(dir string) {
	rec, err := NewRecorder(dir, "c1", NewClock())
	if err != nil {
		panic(err)
	}
	detail := strings.Repeat("x", 700)
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for i := 1; ; i++ {
				if err := rec.Record(Event{Op: OpAcquire, Client: fmt.Sprint(w), Acq: int64(i), Detail: detail}); err != nil {
					panic(err)
				}
				fmt.Fprintf(os.Stdout, "%d %d\n", w, i)
			}
		})
	}
	wg.Wait()
}

// A SIGKILL loses no event whose Record has returned, and tears at most the frame that was being written.
func TestKilledRecorder(t *testing.T) {
	for _, after := range []int{1, 100, 5000, 9000} { // the last beyond one segment
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], dir)
			cmd.Env = append(os.Environ(), "LOCKLAB_TEST_ROLE=recorder")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			recorded := map[string]int64{}
			in := bufio.NewScanner(out)
			for n := 0; in.Scan(); n++ {
				if n == after {
					if err := cmd.Process.Kill(); err != nil {
						t.Fatal(err)
					}
				}
				client, acq, _ := strings.Cut(in.Text(), " ")
				if n, err := strconv.ParseInt(acq, 10, 64); err == nil {
					recorded[client] = n
				}
			}
			_ = cmd.Wait() // killed

			// The run's beginning, which another process recorded.
			rec, err := NewRecorder(filepath.Join(dir, "harness"), "harness", NewClock())
			if err != nil {
				t.Fatal(err)
			}
			if err := rec.Record(Event{At: 1, Op: OpBegin}); err != nil {
				t.Fatal(err)
			}
			if err := rec.Close(); err != nil {
				t.Fatal(err)
			}
			log, records, err := ReadRaw(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int64{}
			for _, e := range log.Events()[1:] {
				if got[e.Client]++; e.Acq != got[e.Client] {
					t.Fatalf("client %s: event %d in the place of %d", e.Client, e.Acq, got[e.Client])
				}
			}
			for _, w := range []string{"0", "1"} {
				// Each writer may have recorded one more event than it printed.
				if n := got[w]; n < recorded[w] || n > recorded[w]+1 {
					t.Errorf("writer %s: %d events survived, %d were recorded", w, n, recorded[w])
				}
			}
			if warnings := tears(records); len(warnings) > 1 {
				t.Errorf("more than one torn frame: %v", warnings)
			}
			if tail := drain(t, NewTailer(dir)); len(tail) != log.Len()-1 {
				t.Errorf("a tailer sees %d events of %d", len(tail), log.Len()-1)
			}
		})
	}
}

// Clocks that different processes calibrate agree.
func TestClockAcrossProcesses(t *testing.T) {
	clock := NewClock()
	const tries = 5
	var off []int64
	for range tries {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "LOCKLAB_TEST_ROLE=clock")
		before := clock.Now()
		out, err := cmd.Output()
		after := clock.Now()
		if err != nil {
			t.Fatal(err)
		}
		at, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		// How far the reading lies outside the time in which the process lived.
		off = append(off, max(0, before-at, at-after))
	}
	if worst := slices.Max(off); worst > 1_000_000 {
		t.Errorf("another process's clock is off by %d ns", worst)
	}
}

// A clock agrees with CLOCK_MONOTONIC, and so does its Time, each time they are read.
func TestClockIsMonotonic(t *testing.T) {
	clock := NewClock()
	const millisecond = 1_000_000
	for range 100 {
		before := rawMonotonic()
		now := clock.Now()
		after := rawMonotonic()
		if now < before-millisecond || now > after+millisecond {
			t.Fatalf("clock says %d between %d and %d", now, before, after)
		}
		if back := clock.Time(now).Sub(clock.epoch).Nanoseconds() + clock.offset; back != now {
			t.Fatalf("Time(%d) is %d", now, back)
		}
	}
}
