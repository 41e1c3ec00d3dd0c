package txnlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Cut drops the transactions up to and including zxid from the logs in dir, and returns how many bytes stay. The rest
// keeps its bytes and its header, in a file that is named after its first record, so that it is a log like any other.
// A log that cannot be read up to that record is left as it is.
func Cut(dir string, zxid int64) (kept int64, err error) {
	names, err := Files(os.DirFS(dir))
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		n, err := cutFile(dir, name, zxid)
		if err != nil {
			return kept, fmt.Errorf("cut transaction log %s: %w", name, err)
		}
		kept += n
	}
	return kept, nil
}

func cutFile(dir, name string, zxid int64) (int64, error) {
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	first, err := firstAfter(b, name, zxid)
	switch {
	case errors.Is(err, io.EOF):
		return 0, os.Remove(path)
	case err != nil, first.Offset == fileHeaderSize:
		return int64(len(b)), nil
	}
	rest := append(bytes.Clone(b[:fileHeaderSize]), b[first.Offset:]...)
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("log.%x", uint64(first.Zxid))), rest, 0o644); err != nil {
		return 0, err
	}
	return int64(len(rest)), os.Remove(path)
}

func firstAfter(log []byte, name string, zxid int64) (Record, error) {
	r, err := NewReader(bytes.NewReader(log), name)
	for err == nil {
		var rec Record
		if rec, err = r.Next(); err == nil && rec.Zxid > zxid {
			return rec, nil
		}
	}
	return Record{}, err
}
