package serve

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"locklab/ensembles/agent"
)

// diskSyncs is how many appends are synced: the fewest that have a 99th percentile.
const diskSyncs = 100

// measureDisk appends to a file and syncs it each time, as a server does when it logs a transaction.
func measureDisk(ctx context.Context, root string) (d agent.Disk, err error) {
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
	record := make([]byte, 512) // about the size of a create
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
