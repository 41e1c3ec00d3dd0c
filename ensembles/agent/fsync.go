package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// A Disk is what the storage below DataDir is like.
type Disk struct {
	// FreeBytes is how much can still be written there.
	FreeBytes int64 `json:"free_bytes"`
	// Syncs is how many appends were synced one after the other, and the others how long that took.
	Syncs int           `json:"syncs"`
	P50   time.Duration `json:"fsync_p50_ns"`
	P99   time.Duration `json:"fsync_p99_ns"`
	Max   time.Duration `json:"fsync_max_ns"`
}

// diskSyncs is how many appends are synced: as few as can have a 99th percentile.
const diskSyncs = 100

// measureDisk appends to a file as a server appends a transaction to its log, and syncs each time.
func measureDisk(ctx context.Context, root string) (d Disk, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(root, &fs); err != nil {
		return d, fmt.Errorf("disk: %w", err)
	}
	d.FreeBytes = int64(fs.Bavail) * fs.Bsize
	f, err := os.CreateTemp(root, "fsync-")
	if err != nil {
		return d, fmt.Errorf("disk: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	record := make([]byte, 512) // about a create's
	var took []time.Duration
	for range diskSyncs {
		if ctx.Err() != nil {
			return d, context.Cause(ctx)
		}
		begun := time.Now()
		if _, err := f.Write(record); err != nil {
			return d, fmt.Errorf("disk: %w", err)
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return d, fmt.Errorf("disk: %w", err)
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	d.Syncs, d.P50, d.P99, d.Max = len(took), took[len(took)/2], took[len(took)*99/100-1], took[len(took)-1]
	return d, nil
}

// lacksClock says why no process's wall clock can be set on this host; empty if it can.
func lacksClock() string {
	if _, err := findClock(os.DirFS(string(filepath.Separator))); err != nil {
		return err.Error()
	}
	return ""
}
