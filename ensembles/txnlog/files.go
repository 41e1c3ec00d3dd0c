package txnlog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// ErrNoLogs means that a directory contains no transaction log.
var ErrNoLogs = errors.New("no transaction logs")

// Files returns the names of a server's logs in dir, in the order in which they were begun. Each name is "log." and
// the zxid of the log's first record in hexadecimal.
func Files(dir fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return Logs(names), nil
}

// Logs returns those of the names of files that are names of logs, in the order in which the logs were begun. Snapshots
// are in the same directory.
func Logs(names []string) []string {
	var logs []string
	for _, name := range names {
		if _, ok := FirstZxid(name); ok {
			logs = append(logs, name)
		}
	}
	slices.SortFunc(logs, func(a, b string) int {
		x, _ := FirstZxid(a)
		y, _ := FirstZxid(b)
		return cmp.Compare(x, y)
	})
	return logs
}

// FirstZxid returns the zxid in a log's name, and whether the name is that of a log.
func FirstZxid(name string) (int64, bool) {
	digits, ok := strings.CutPrefix(name, "log.")
	if !ok || digits != strings.ToLower(digits) || len(digits) > 1 && digits[0] == '0' {
		return 0, false // Util.makeLogName writes no such name
	}
	zxid, err := strconv.ParseUint(digits, 16, 63)
	return int64(zxid), err == nil
}

// Read yields the transactions of one log. An error is the last element.
func Read(r io.Reader, name string) iter.Seq2[Record, error] { return read(r, name, (*Reader).Next) }

func read[T any](r io.Reader, name string, next func(*Reader) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		l, err := NewReader(r, name)
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		for {
			rec, err := next(l)
			if err == io.EOF || !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// ReadDir yields the transactions of one server, which are those of the logs in dir, one after the other. Errors name
// the server and the file. An error that wraps ErrTorn ends a file, and the next file follows. Any other error is the
// last element.
//
// A server that fell back may have logged a transaction twice. Where a server was made to drop its last transactions
// (see [Merge]), the zxids have a gap.
func ReadDir(dir fs.FS, server string) iter.Seq2[Record, error] {
	return readDir(dir, server, (*Reader).Next)
}

// readDir yields what next reads from the logs.
func readDir[T any](dir fs.FS, server string, next func(*Reader) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		names, err := Files(dir)
		if err == nil && len(names) == 0 {
			err = ErrNoLogs
		}
		if err != nil {
			var none T
			yield(none, fmt.Errorf("transaction logs of %s: %w", server, err))
			return
		}
		for _, name := range names {
			if !readFile(dir, name, server, next, yield) {
				return
			}
		}
	}
}

// readFile yields what next reads from one file, and reports whether the next file's may follow.
func readFile[T any](
	dir fs.FS, name, server string, next func(*Reader) (T, error), yield func(T, error) bool,
) bool {
	f, err := dir.Open(name)
	if err != nil {
		var none T
		yield(none, fmt.Errorf("transaction logs of %s: %w", server, err))
		return false
	}
	defer f.Close()
	for rec, err := range read(f, server+"/"+name, next) {
		if !yield(rec, err) || err != nil && !errors.Is(err, ErrTorn) {
			return false
		}
	}
	return true
}
