package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"locklab/harness/history"
)

// Derived has the results of a run, apart from its report.
type Derived struct {
	History  *history.Log // merged
	Verdicts any          // the evidence of all checks
	Result   any
	Hlog     func(io.Writer) error // writes the latencies
	Hiccups  func(io.Writer) error // writes what the machine added
	Bench    func(io.Writer) error // writes the result in the Go benchmark format

	_ struct{}
}

// mostHistory is how many events a history may have that is written again as text, which makes 150 bytes of each.
const mostHistory = 1_000_000

// WriteDerived replaces the derived files of a run that are not part of its report, the result last. Each file is
// replaced whole or not at all. The history of a long run is left out; `locklab export --jsonl` prints it.
func WriteDerived(dir string, d Derived) error { return writeDerived(dir, d, mostHistory) }

func writeDerived(dir string, d Derived, mostHistory int) error {
	replace := func(name string, write func(io.Writer) error) error {
		return replaceFile(filepath.Join(dir, name), func(f *os.File) error { return write(f) })
	}
	var written error
	if d.History.Len() <= mostHistory {
		written = replace(HistoryFile, func(w io.Writer) error { return history.WriteJSONL(w, d.History) })
	} else {
		written = os.RemoveAll(filepath.Join(dir, HistoryFile)) // that of an earlier judgement
	}
	return errors.Join(
		written,
		WriteJSON(filepath.Join(dir, VerdictsFile), d.Verdicts),
		replace(HlogFile, d.Hlog),
		replace(HiccupsFile, d.Hiccups),
		replace(BenchFile, d.Bench),
		WriteJSON(filepath.Join(dir, ResultFile), d.Result))
}

// Discard removes the derived files of a run, so that none is left of an earlier judgement. It touches nothing in a
// directory that has neither a run nor what is left of one that lost its scenario.
func Discard(dir string) error {
	if !IsRun(dir) {
		if _, err := os.Stat(HostDir(dir, HarnessHost)); err != nil {
			return nil
		}
	}
	var errs []error
	for _, name := range []string{ResultFile, VerdictsFile, HistoryFile, HlogFile, HiccupsFile, BenchFile, ReportFile,
		plotsDir} {
		errs = append(errs, os.RemoveAll(filepath.Join(dir, name)))
	}
	return errors.Join(errs...)
}

// Writable reports whether files of a run directory may be replaced. A directory without any permission to write is
// left alone also by a user who could write there all the same.
func Writable(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.Mode().Perm()&0o222 != 0 && unix.Access(dir, unix.W_OK) == nil
}

// ReadResult decodes the result of a run.
func ReadResult(dir string, into any) error { return ReadJSON(filepath.Join(dir, ResultFile), into) }

// WriteReport replaces the report of a run or of a sweep.
func WriteReport(dir string, page []byte) error { return replaceWith(ReportPath(dir), page) }

// WriteIndex replaces the index of a folder of runs.
func WriteIndex(dir string, page []byte) error {
	return replaceWith(filepath.Join(dir, IndexFile), page)
}

// WritePicture replaces a picture of the report of a run or of a sweep. The name has its format as its ending. Without
// content, a picture of that name is removed.
func WritePicture(dir, name string, content []byte) error {
	plots := filepath.Join(dir, plotsDir)
	if err := os.MkdirAll(plots, 0o755); err != nil {
		return err
	}
	name = filepath.Join(plots, name)
	if content != nil {
		return replaceWith(name, content)
	}
	if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// replaceFile puts a new file in the place of an old one, or leaves the old one as it is.
func replaceFile(name string, write func(*os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".tmp-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", filepath.Base(name), err), os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// replaceWith is [replaceFile] with content that is known already.
func replaceWith(name string, content []byte) error {
	return replaceFile(name, func(f *os.File) error {
		_, err := f.Write(content)
		return err
	})
}

// WriteJSON writes a value into a file as indented JSON. The file is replaced whole or not at all.
func WriteJSON(name string, v any) error {
	return replaceFile(name, func(f *os.File) error {
		enc := json.NewEncoder(f)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	})
}

// ReadJSON decodes a JSON file of a run directory. One that cannot be decoded is an [ErrBadFile].
func ReadJSON(name string, into any) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("read %s: %w: %w", filepath.Base(name), ErrBadFile, err)
	}
	return nil
}
