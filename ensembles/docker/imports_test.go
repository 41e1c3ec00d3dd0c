package docker_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Only one file may import the Docker client and testcontainers.
func TestOnlyOneFileImportsTheEngine(t *testing.T) {
	found := false
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			name := strings.Trim(i.Path.Value, `"`)
			for _, engine := range []string{"github.com/testcontainers/", "github.com/moby/", "github.com/docker/"} {
				if strings.HasPrefix(name, engine) {
					found = true
					if path != "engine.go" {
						t.Errorf("%s imports %s", path, name)
					}
				}
			}
		}
		return nil
	})
	if err != nil || !found {
		t.Errorf("found any: %v, %v", found, err)
	}
}
