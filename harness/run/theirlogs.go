package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"locklab/ensembles/txnlog"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
)

// openTxnLogs makes sure that each directory of txnlog-dir has transaction logs.
func openTxnLogs(sc *scenario.Scenario) error {
	for _, dir := range sc.TxnLogDirs() {
		if _, err := txnLogs(dir); err != nil {
			return sc.Refuse("txnlog-dir", err.Error(), "the dataLogDir of a server, or its dataDir if it has none, "+
				"as this machine sees it")
		}
	}
	return nil
}

// txnLogs opens the directory of a server's logs, which is the one that the server's configuration names, or the one in
// it that has the files.
func txnLogs(dir string) (fs.FS, error) {
	for _, d := range []string{dir, filepath.Join(dir, "version-2")} {
		names, err := txnlog.Files(os.DirFS(d))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if len(names) > 0 {
			return os.DirFS(d), nil
		}
	}
	return nil, fmt.Errorf("%s has %w", dir, txnlog.ErrNoLogs)
}

// extractLogs copies the run's part of the logs of an ensemble elsewhere from txnlog-dir into the run directory, see
// [txnlog.Extraction]. Like [run.collectLogs], it records a log that cannot be copied. The servers go on working for
// others, so their logs end at different moments. The copies end where all of the logs are known to be complete.
func (r *run) extractLogs(ctx context.Context) error {
	dirs := r.sc.TxnLogDirs()
	if len(dirs) == 0 {
		return nil
	}
	all := make([]history.ServerLog, len(dirs))
	var g errgroup.Group
	for i, h := range r.stage.ensemble.Servers[:len(dirs)] {
		if h == r.stage.ensemble.Silent { // where its log ends is seen in the log
			all[i].Server = h.Name
			continue
		}
		g.Go(func() error {
			all[i] = r.settle(ctx, h)
			return nil
		})
	}
	_ = g.Wait() // none returns an error
	x := txnlog.Extraction{Root: r.stage.root(), After: r.firstZxid, Until: math.MaxInt64}
	for i := range all {
		if r.stage.ensemble.Servers[i] != r.stage.ensemble.Silent {
			x.Until = min(x.Until, all[i].LastZxid) // 0 if one is not known
		}
	}
	var errs []error
	for i, log := range all {
		kind := history.OK
		src, err := txnLogs(dirs[i])
		if err == nil {
			log.Bytes, err = x.Copy(rundir.TxnLogDir(r.dir, log.Server), src)
		}
		if err != nil {
			kind, log.Detail = history.Fail, err.Error()
		}
		errs = append(errs, r.note(log.Event(kind)))
	}
	return errors.Join(errs...)
}
