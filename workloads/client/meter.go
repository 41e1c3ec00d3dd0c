package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"locklab/harness/hiccups"
	"locklab/harness/history"
)

// meter measures the process itself, and its standstills outside of the measured window too, until the function that it
// returns is called, which must be done once and returns what went wrong.
func (p *process) meter(ctx context.Context, w window) func() error {
	ctx, stop := context.WithCancel(ctx)
	var err error
	var metering sync.WaitGroup
	metering.Go(func() {
		err = errors.Join(hiccups.Meter(ctx, p.rec, w.start+int64(p.cfg.Warmup), w.end), p.recordResident())
	})
	return func() error {
		stop()
		metering.Wait()
		return err
	}
}

// driverGreeted records how the command of a lock greets, once. An error of the record shows in the next event.
func (p *process) driverGreeted(scope, declares string) {
	command := append([]string{filepath.Base(p.cfg.Command[0])}, p.cfg.Command[1:]...)
	e := history.Driver{Command: strings.Join(command, " "), Scope: scope, Declares: declares}.Event()
	if _, recorded := p.greeted.LoadOrStore(e, true); !recorded {
		_ = p.rec.Record(e)
	}
}

// driverAnswered records that the command of a lock stood still: an answer to a ping took too long. If that cannot
// be recorded, the next event cannot either, and says so.
func (p *process) driverAnswered(took time.Duration) {
	if took >= hiccups.Long {
		_ = p.rec.Record(history.HiccupOf(p.rec.Clock().Now(), took))
	}
}

// recordResident records how much of the process is in memory, unless its sessions are in the process of a lock's
// command.
func (p *process) recordResident() error {
	if p.foreign != nil {
		return nil
	}
	n, err := resident()
	if err != nil {
		return err
	}
	return p.rec.Record(history.ResidentOf(n))
}

// resident returns how many bytes of this process are in memory.
func resident() (int64, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	var kib int64
	_, after, ok := bytes.Cut(b, []byte("VmRSS:"))
	if !ok {
		return 0, errors.New("/proc/self/status does not say VmRSS")
	}
	if _, err := fmt.Sscan(string(after), &kib); err != nil {
		return 0, fmt.Errorf("/proc/self/status: VmRSS: %w", err)
	}
	return kib << 10, nil
}

// stopCompanions stops every other process of our group, such as a foreign lock's command: a stopped client whose
// lock still sends heartbeats would not count as stopped. It returns once all are seen to be stopped, because our own
// stop is still to come. If we do not lead the group, it does nothing.
func stopCompanions() error {
	me := unix.Getpid()
	if unix.Getpgrp() != me {
		return nil
	}
	const tries = 2000 // one each millisecond; a running process stops at once
	for range tries {
		running, err := companions(me)
		if err != nil || len(running) == 0 {
			return err
		}
		for _, pid := range running {
			if err := unix.Kill(pid, unix.SIGSTOP); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("stop companion %d: %w", pid, err)
			}
		}
		time.Sleep(time.Millisecond) // a state can only be polled for
	}
	return errors.New("stop companions: some are still running")
}

// companions returns the processes of the group, without its leader, that have a
// thread that is neither stopped nor over.
func companions(group int) ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var running []int
	for _, stat := range stats {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
		if err != nil || pid == group {
			continue
		}
		if _, pgrp := readStat(stat); pgrp != group {
			continue
		}
		tasks, err := filepath.Glob(filepath.Join(filepath.Dir(stat), "task/*/stat"))
		if err != nil {
			return nil, err
		}
		for _, task := range tasks {
			if state, _ := readStat(task); state != "" && !strings.Contains("TtZX", state) {
				running = append(running, pid)
				break
			}
		}
	}
	return running, nil
}

// readStat returns the state and the process group of a /proc stat file; nothing
// if the process is gone. They come after the name, which may hold anything.
func readStat(path string) (state string, pgrp int) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", 0
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(f) < 3 {
		return "", 0
	}
	pgrp, _ = strconv.Atoi(f[2])
	return f[0], pgrp
}
