package ensembles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"locklab/ensembles/txnlog"
)

// TxnLogDir is where a server's transaction logs are on its host, below agent.DataDir.
const TxnLogDir = serverDir + "/version-2"

// FetchTxnLogs copies the transaction logs of a server's host into dir, which it
// makes, without their preallocated tails and without what came up to and with the
// transaction after. It returns how many bytes there are then. The server may be
// running; what it has not written to disk yet is missing then.
func FetchTxnLogs(ctx context.Context, h *Host, after int64, dir string) (int64, error) {
	names, err := h.Agent.Files(ctx, TxnLogDir)
	if err != nil {
		return 0, fmt.Errorf("fetch transaction logs: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	for _, name := range logsSince(names, after) {
		if err := fetchTxnLog(ctx, h, name, dir); err != nil {
			return 0, fmt.Errorf("fetch transaction log %s of %s: %w", name, h.Name, err)
		}
	}
	return txnlog.Cut(dir, after)
}

// logsSince returns the names of the logs that may have transactions after that one, in their order. A log goes on until the
// next one begins, so the earlier ones of a lab in which many runs were made need not be fetched for each run.
func logsSince(names []string, after int64) []string {
	first := map[string]int64{}
	logs := slices.DeleteFunc(slices.Clone(names), func(name string) bool { // snapshots are there, too
		zxid, ok := txnlog.FirstZxid(name)
		first[name] = zxid
		return !ok
	})
	slices.SortFunc(logs, func(a, b string) int { return cmp.Compare(first[a], first[b]) })
	for len(logs) > 1 && first[logs[1]] <= after+1 {
		logs = logs[1:]
	}
	return logs
}

func fetchTxnLog(ctx context.Context, h *Host, name, dir string) error {
	r, err := h.Agent.File(ctx, TxnLogDir+"/"+name)
	if err != nil {
		return err
	}
	defer r.Close()
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	_, err = txnlog.Trim(f, r)
	return errors.Join(err, f.Close())
}

// LastZxid asks a server for the last transaction that it has seen.
func LastZxid(ctx context.Context, h *Host) (int64, error) {
	answer, err := h.Agent.Ask(ctx, "srvr")
	if err != nil {
		return 0, err
	}
	zxid, err := strconv.ParseInt(field(answer, "Zxid:"), 0, 64)
	if err != nil {
		return 0, fmt.Errorf("zxid of %s: %w", h.Name, err)
	}
	return zxid, nil
}
