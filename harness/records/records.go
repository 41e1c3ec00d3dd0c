// Package records keeps what was measured in files with a JSON object in each line, to which a program that goes on
// appends.
//
// In flow: values with a schema_version. Out flow: the same values, in the order in which they were appended.
package records

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Read reads records, one from each line. It refuses one whose version is another than want.
func Read[R any](from io.Reader, version func(*R) int, want int) (all []R, err error) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return all, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return all, err
		}
		var r R
		if err := json.Unmarshal(line, &r); err != nil {
			return all, fmt.Errorf("line %d: %w", len(all)+1, err)
		}
		if v := version(&r); v != want {
			return all, fmt.Errorf("line %d: schema_version is %d, and this locklab reads %d", len(all)+1, v, want)
		}
		all = append(all, r)
	}
}

// Append adds records to the end of a file, which is made if it does not exist, in one write, so that a program that
// is killed leaves all of them or none.
func Append[R any](name string, all ...R) (err error) {
	var text []byte
	for _, r := range all {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var last [1]byte
	if end, err := f.Seek(0, io.SeekEnd); err != nil {
		return err
	} else if end > 0 {
		if _, err := f.ReadAt(last[:], end-1); err != nil {
			return err
		}
		if last[0] != '\n' { // Read accepts a last line that does not end
			text = append([]byte{'\n'}, text...)
		}
	}
	_, err = f.Write(text)
	return err
}
