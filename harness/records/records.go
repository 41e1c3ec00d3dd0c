// Package records keeps what was measured in files with a JSON object in each line, to which a program that goes on
// appends.
//
// In flow: values with a schema_version. Out flow: the same values, in the order in which they were appended.
package records

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// CheckVersion refuses a document whose schema_version is another than want.
func CheckVersion(got, want int) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("schema_version is %d, and this locklab reads %d", got, want)
}

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
		if err := CheckVersion(version(&r), want); err != nil {
			return all, fmt.Errorf("line %d: %w", len(all)+1, err)
		}
		all = append(all, r)
	}
}

// ReadFile reads the records of a file, as [Read] does; there are none if there is no file.
func ReadFile[R any](name string, version func(*R) int, want int) ([]R, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := Read(f, version, want)
	if err != nil {
		return all, fmt.Errorf("%s, %w", name, err)
	}
	return all, nil
}

// Append adds records to the end of a file, which is made if it does not exist, in one write, so that a program that
// is killed leaves all of them or none. It mends the file first; see [Mend].
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
	if err := mend(f); err != nil {
		return err
	}
	_, err = f.Write(text)
	return err
}

// Mend makes the last line of a file end. It ends a whole record, and cuts off part of one, which a program that was
// killed left. Other files stay as they are. Nobody may append to the file meanwhile.
func Mend(name string) (err error) {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return mend(f)
}

// mend mends a file that is open to append to.
func mend(f *os.File) error {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], end-1); err != nil || last[0] == '\n' {
		return err
	}
	text, err := io.ReadAll(io.NewSectionReader(f, 0, end))
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	if !json.Valid(text[whole:]) {
		return f.Truncate(int64(whole))
	}
	_, err = f.Write([]byte{'\n'})
	return err
}
