package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// A Record is what one client process has seen. Its text, which Curator's process writes as well, is two lines of
// usage and then a line for each hold, each of three whole numbers.
type Record struct {
	Begin, End Usage // of the measured time
	Holds      []Hold
}

// A Hold is one acquisition, in ns of CLOCK_MONOTONIC: when acquire was called, when it returned and release was
// called, and when release returned.
type Hold struct{ Asked, Granted, Released int64 }

// Usage is the resources that a process has used.
type Usage struct {
	At       int64 // ns of CLOCK_MONOTONIC
	Ticks    int64 // of CPU time, user and system, each [ClockTick]
	Resident int64 // KiB of memory
}

// ClockTick is Linux's unit of a process's CPU time.
const ClockTick = 10 * time.Millisecond

// usage reads this process's usage, at the given time.
func usage(at int64) (Usage, error) {
	var cpu syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &cpu); err != nil {
		return Usage{}, err
	}
	pages, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return Usage{}, err
	}
	var all, resident int64
	_, err = fmt.Sscan(string(pages), &all, &resident)
	return Usage{At: at, Ticks: (cpu.Utime.Nano() + cpu.Stime.Nano()) / int64(ClockTick),
		Resident: resident * int64(os.Getpagesize()) >> 10}, err
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
	var all [][3]int64
	for lines := bufio.NewScanner(text); ; {
		if !lines.Scan() {
			if err := lines.Err(); err != nil {
				return Record{}, fmt.Errorf("record: %w", err)
			}
			break
		}
		var v [3]int64
		var more string
		if n, _ := fmt.Sscan(lines.Text(), &v[0], &v[1], &v[2], &more); n != len(v) {
			return Record{}, fmt.Errorf("record, line %d: %q is not three whole numbers", len(all)+1, lines.Text())
		}
		all = append(all, v)
	}
	if len(all) < 2 || all[1][0] <= all[0][0] {
		return Record{}, fmt.Errorf("record: %d lines, without a measured time", len(all))
	}
	r := Record{Begin: Usage{all[0][0], all[0][1], all[0][2]}, End: Usage{all[1][0], all[1][1], all[1][2]}}
	for _, v := range all[2:] {
		r.Holds = append(r.Holds, Hold{v[0], v[1], v[2]})
	}
	return r, nil
}
