package scenario

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"locklab/harness/settings"
)

// Builtins returns the scenarios of all *.yaml files in the file system, sorted by name.
func Builtins(fsys fs.FS) ([]*Scenario, error) {
	files, err := builtinFiles(fsys)
	if err != nil {
		return nil, err
	}
	var list []*Scenario
	var errs []error
	for _, name := range sortedKeys(files) {
		s, err := Builtin(fsys, name)
		list, errs = append(list, s), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return list, nil
}

// Builtin loads the scenario of that name, which is its file's base name. The error for an unknown name is an
// [*InputError] that suggests similar names.
func Builtin(fsys fs.FS, name string) (*Scenario, error) {
	src, err := BuiltinSource(fsys, name)
	if err != nil {
		return nil, err
	}
	s, err := load(name+".yaml", src, fromBuiltin, false)
	if err == nil {
		s.builtinDowngrade = builtinShare{s.DowngradeShare, s.origins["downgrade-share"]}
	}
	return s, err
}

// BuiltinSource returns the file of the scenario of that name, with its comments.
func BuiltinSource(fsys fs.FS, name string) ([]byte, error) {
	files, err := builtinFiles(fsys)
	if err != nil {
		return nil, err
	}
	file, ok := files[name]
	if !ok {
		hint := "see locklab scenarios list"
		if near := settings.Nearest(name, sortedKeys(files)); len(near) > 0 {
			hint = settings.DidYouMean(name, near)
		}
		return nil, &InputError{Msg: "unknown scenario " + settings.Quote(name), Hint: hint}
	}
	src, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, fmt.Errorf("read built-in scenario %s: %w", name, err)
	}
	return src, nil
}

func builtinFiles(fsys fs.FS) (map[string]string, error) {
	files := map[string]string{}
	err := fs.WalkDir(fsys, ".", func(file string, d fs.DirEntry, err error) error {
		if base, ok := strings.CutSuffix(path.Base(file), ".yaml"); ok && err == nil && !d.IsDir() {
			files[base] = file
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list built-in scenarios: %w", err)
	}
	return files, nil
}

// Names returns the names of the built-in scenarios, sorted.
func Names(fsys fs.FS) ([]string, error) {
	files, err := builtinFiles(fsys)
	return slices.Clip(sortedKeys(files)), err
}

// The readers whose questions scenarios answer.
const (
	AnswersPlanner  = "planner"  // plans capacity
	AnswersCI       = "ci"       // owns a build that must not get slower
	AnswersDesigner = "designer" // designs a service that relies on a lock
)

var readers = []string{AnswersPlanner, AnswersCI, AnswersDesigner}

var questions = map[string]string{
	AnswersPlanner:  "capacity planner: how many acquisitions a second, how fast, and what does it cost?",
	AnswersCI:       "CI owner: is the lock as fast and as fair as it was?",
	AnswersDesigner: "designer of a service: can two clients hold this lock at once, and what stops the damage?",
	"":              "others",
}

// A Group has the scenarios that answer the questions of one reader.
type Group struct {
	Reader    string // AnswersPlanner, AnswersCI or AnswersDesigner; empty if the scenarios name none
	Question  string
	Scenarios []*Scenario
}

// ByAnswer groups scenarios by reader and keeps their order within each group. No group is empty.
func ByAnswer(all []*Scenario) []Group {
	var groups []Group
	for _, reader := range append(slices.Clone(readers), "") {
		g := Group{Reader: reader, Question: questions[reader]}
		for _, s := range all {
			if s.Answers == reader {
				g.Scenarios = append(g.Scenarios, s)
			}
		}
		if g.Scenarios != nil {
			groups = append(groups, g)
		}
	}
	return groups
}
