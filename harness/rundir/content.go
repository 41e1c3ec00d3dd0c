package rundir

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"locklab/harness/history"
)

// Contents returns what the raw files of a run directory contain, apart from the harness's own record and from what
// processes printed. The harness records it when all of them are complete.
func Contents(dir string) ([]history.Content, error) {
	files := []string{ScenarioFile, EnvFile, timelineFile}
	err := fs.WalkDir(os.DirFS(dir), hostsDir, func(name string, d fs.DirEntry, err error) error {
		printed := path.Ext(name) == path.Ext(processLog)
		if err == nil && d.Type().IsRegular() && !printed && !isHarness(strings.TrimPrefix(name, hostsDir+"/")) {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	all := make([]history.Content, 0, len(files))
	for _, name := range files {
		c, err := contentOf(dir, name)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// contentOf returns what a raw file contains.
func contentOf(dir, name string) (history.Content, error) {
	name = filepath.FromSlash(name)
	if !filepath.IsLocal(name) {
		return history.Content{}, fmt.Errorf("%q is not in the run directory", name)
	}
	file := filepath.Join(dir, name)
	if st, err := os.Stat(file); err != nil || !st.Mode().IsRegular() {
		return history.Content{}, errors.Join(err, fmt.Errorf("%s is no file", name))
	}
	f, err := os.Open(file)
	if err != nil {
		return history.Content{}, err
	}
	defer f.Close()
	sum := crc32.New(castagnoli)
	n, err := io.Copy(sum, f)
	return history.Content{File: filepath.ToSlash(name), Bytes: n, Sum: fmt.Sprintf("%08x", sum.Sum32())}, err
}

// changedFiles says which raw files no longer contain what the harness recorded of them. Runs from before it did so
// have none.
func changedFiles(dir string, events *history.Log) []string {
	var changed []string
	for _, e := range events.Of(history.OpContent) {
		if e.Process != HarnessHost {
			continue
		}
		was := e.Content()
		switch is, err := contentOf(dir, was.File); {
		case errors.Is(err, fs.ErrNotExist):
			changed = append(changed, was.File+" is missing")
		case err != nil:
			changed = append(changed, fmt.Sprintf("%s cannot be read: %v", was.File, err))
		case is != was:
			changed = append(changed, was.File+" does not contain what it did when the run ended")
		}
	}
	slices.Sort(changed)
	return changed
}
