package ensembles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"locklab/ensembles/reach"
	"locklab/ensembles/txnlog"
)

// TxnLogDir is the directory of a server's transaction logs on its host, below agent.DataDir.
const TxnLogDir = serverDir + "/version-2"

// FetchTxnLogs copies the transaction logs of a server's host into dir, which it makes if necessary. It drops their
// preallocated tails, and all transactions up to and including the one with zxid after. It returns the size of the
// copies in bytes. If the server is running, the copies lack what it has not written to disk yet. What arrives from the
// host is written to arriving, too.
func FetchTxnLogs(ctx context.Context, h *Host, after int64, dir string, arriving io.Writer) (int64, error) {
	names, err := h.Agent.Files(ctx, TxnLogDir)
	if err != nil {
		return 0, fmt.Errorf("fetch transaction logs: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	for _, name := range logsSince(names, after) {
		if err := fetchTxnLog(ctx, h, name, dir, arriving); err != nil {
			return 0, fmt.Errorf("fetch transaction log %s of %s: %w", name, h.Name, err)
		}
	}
	return txnlog.Cut(dir, after)
}

// logsSince returns the names of the logs that may contain transactions later than after, in their order. A log ends
// where the next one begins, so that a run in a lab which has served many runs does not fetch the logs of all of
// them.
func logsSince(names []string, after int64) []string { return txnlog.Since(txnlog.Logs(names), after) }

func fetchTxnLog(ctx context.Context, h *Host, name, dir string, arriving io.Writer) error {
	r, err := h.Agent.File(ctx, TxnLogDir+"/"+name)
	if err != nil {
		return err
	}
	defer r.Close()
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	_, err = txnlog.Trim(f, io.TeeReader(r, arriving))
	return errors.Join(err, f.Close())
}

// LastZxid asks a server for the zxid of the last transaction that it has processed.
func LastZxid(ctx context.Context, h *Host) (int64, error) {
	answer, err := h.Agent.Ask(ctx, "srvr")
	if err != nil {
		return 0, err
	}
	zxid, err := strconv.ParseInt(reach.Field(answer, "Zxid:"), 0, 64)
	if err != nil {
		return 0, fmt.Errorf("zxid of %s: %w", h.Name, err)
	}
	return zxid, nil
}
