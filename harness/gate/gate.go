package gate

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed files
var files embed.FS

// The files that are written, from the repository's root.
const (
	WorkflowFile = ".github/workflows/lock-latency.yml"
	ScenarioFile = ".github/lock-latency.yaml"
)

// templates has the template of each file. Their actions stand in [[ ]], because workflows use braces themselves.
var templates = map[string]string{WorkflowFile: "files/lock-latency.yml", ScenarioFile: "files/lock-latency.yaml"}

// A Config says what differs from repository to repository.
type Config struct {
	// Build builds the lock, run in the root of a checkout.
	Build string
	// Lock is the program that Build leaves there, with its arguments. It speaks the lock protocol.
	Lock string
	// Layout declares the lock's znodes, and ClientImage is the image in which it runs; both may be empty.
	Layout, ClientImage string
	// URL is where the workflow gets locklab, and SHA256 is the digest that the file must have.
	URL, SHA256 string
	// Flags are further flags of bench, such as --budget 5m.
	Flags string

	_ struct{}
}

// ErrExists says that a file is there already.
var ErrExists = errors.New("exists")

// Write writes the files below a repository's root and returns their names. If one of them exists, it writes none and
// the error wraps [ErrExists].
func Write(root string, c Config) ([]string, error) {
	names := []string{WorkflowFile, ScenarioFile}
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(root, name)); !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(fmt.Errorf("%s %w", filepath.Join(root, name), ErrExists), err)
		}
	}
	for _, name := range names {
		t, err := template.New(filepath.Base(templates[name])).Delims("[[", "]]").Funcs(template.FuncMap{"yaml": quoted}).
			ParseFS(files, templates[name])
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := t.Execute(&b, c); err != nil {
			return nil, err
		}
		to := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, b.Bytes(), 0o644)); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// quoted writes a text as a quoted scalar of YAML, in which only the quote itself has a meaning.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
