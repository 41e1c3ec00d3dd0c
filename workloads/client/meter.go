package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

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
