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
	"io/fs"
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
func Append[R any](name string, all ...R) error {
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
	before, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(before) > 0 && before[len(before)-1] != '\n' { // Read accepts a last line that does not end
		text = append([]byte{'\n'}, text...)
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
