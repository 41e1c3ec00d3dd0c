package peers

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// A Record is what one client process has seen. Its text, which Curator's loop
// writes as well, is two lines of usage, then a line for each hold, all of whole numbers.
type Record struct {
	Begin, End Usage // of the measured time
	Holds      []Hold
}

// A Hold is one acquisition, in ns of CLOCK_MONOTONIC: when acquire was called, when it
// returned, at which moment release was called too, and when that returned.
type Hold struct{ Asked, Granted, Released int64 }

// Usage is the resources that a process has used.
type Usage struct {
	At       int64 // ns of CLOCK_MONOTONIC
	Ticks    int64 // of CPU time, user and system, each 10 ms
	Resident int64 // KiB of memory
}

// usage reads this process's usage, at the given time.
func usage(at int64) (Usage, error) {
	u := Usage{At: at}
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return u, err
	}
	// The second field, the program's name, is in brackets and may contain anything.
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	for _, field := range []int{14, 15} {
		n, err := strconv.ParseInt(f[field-3], 10, 64)
		if err != nil {
			return u, err
		}
		u.Ticks += n
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return u, err
	}
	_, rest, _ := strings.Cut(string(status), "\nVmRSS:")
	_, err = fmt.Sscan(rest, &u.Resident)
	return u, err
}

func (r Record) write(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	for _, u := range []Usage{r.Begin, r.End} {
		fmt.Fprintln(w, u.At, u.Ticks, u.Resident)
	}
	for _, h := range r.Holds {
		fmt.Fprintln(w, h.Asked, h.Granted, h.Released)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// ReadRecord reads the text of a record.
func ReadRecord(text io.Reader) (Record, error) {
	var r Record
	lines := bufio.NewScanner(text)
	n := 0
	for ; lines.Scan(); n++ {
		var v [3]int64
		f := strings.Fields(lines.Text())
		if len(f) != len(v) {
			return r, fmt.Errorf("record, line %d: %q is not %d numbers", n+1, lines.Text(), len(v))
		}
		for i := range v {
			var err error
			if v[i], err = strconv.ParseInt(f[i], 10, 64); err != nil {
				return r, fmt.Errorf("record, line %d: %w", n+1, err)
			}
		}
		switch n {
		case 0:
			r.Begin = Usage{v[0], v[1], v[2]}
		case 1:
			r.End = Usage{v[0], v[1], v[2]}
		default:
			r.Holds = append(r.Holds, Hold{v[0], v[1], v[2]})
		}
	}
	if err := lines.Err(); err != nil {
		return r, fmt.Errorf("record: %w", err)
	}
	if n < 2 || r.End.At <= r.Begin.At {
		return r, fmt.Errorf("record: no time that counts in %d lines", n)
	}
	return r, nil
}
