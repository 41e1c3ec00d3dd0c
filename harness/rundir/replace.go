package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

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

// readJSON decodes a JSON file of a run directory. One that cannot be decoded is an [ErrBadFile].
func readJSON(name string, into any) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("read %s: %w: %w", filepath.Base(name), ErrBadFile, err)
	}
	return nil
}
