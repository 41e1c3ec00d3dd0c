package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"locklab/ensembles/labtest/suite"
)

// imageFiles reads an archive of an image.
func imageFiles(t *testing.T, archive string) map[string][]byte {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return tarFiles(t, z)
}

func tarFiles(t *testing.T, r io.Reader) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if all[h.Name], err = io.ReadAll(tr); err != nil {
			t.Fatal(err)
		}
	}
}

// The archive of the harness's image is the same whenever it is made, its digests are those of its parts, and the
// binary is the image's whole program.
func TestReleaseImage(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "binary")
	writeExecutable(t, binary, "a static binary")
	var archives [2]string
	for i := range archives {
		archives[i] = filepath.Join(dir, string(rune('a'+i))+".tar.gz")
		command(t, root(t), nil, ".github/release/image.sh", binary, "amd64", "v1.2.3", archives[i])
	}
	var same [2][]byte
	for i, name := range archives {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		same[i] = b
	}
	if string(same[0]) != string(same[1]) {
		t.Error("the archive differs from the one before")
	}
	files := imageFiles(t, archives[0])
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil || len(manifest) != 1 {
		t.Fatalf("%s: %v", files["manifest.json"], err)
	}
	var config struct {
		Config struct{ Entrypoint []string }
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	if err := json.Unmarshal(files[manifest[0].Config], &config); err != nil {
		t.Fatal(err)
	}
	layer := files[manifest[0].Layers[0]]
	sum, of := sha256.Sum256(layer), sha256.Sum256(files[manifest[0].Config])
	if config.RootFS.DiffIDs[0] != "sha256:"+hex.EncodeToString(sum[:]) ||
		manifest[0].Config != hex.EncodeToString(of[:])+".json" || manifest[0].RepoTags[0] != "locklab:v1.2.3" ||
		config.Config.Entrypoint[0] != "/locklab" {
		t.Errorf("%+v, %+v", manifest[0], config)
	}
	if got := tarFiles(t, strings.NewReader(string(layer)))["locklab"]; string(got) != "a static binary" {
		t.Errorf("the image has %q", got)
	}
}

// make release refuses what is no version before it removes anything.
func TestReleaseNeedsAVersion(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, _ := strings.Cut(string(makefile), "\nrelease: ")
	_, recipe, _ = strings.Cut(recipe, "\n")
	refuses, removes := strings.Index(recipe, "say which version it is"), strings.Index(recipe, "rm -rf")
	if refuses < 0 || removes < refuses {
		t.Fatalf("the recipe refuses at %d and removes at %d", refuses, removes)
	}
}

// make release writes everything that its notes promise, and the packages have the binary.
func TestRelease(t *testing.T) {
	suite.Nightly(t, "builds everything for two processors; TestReleaseImage has the image")
	dist := filepath.Join(t.TempDir(), "dist")
	const version = "v9.8.7"
	command(t, root(t), nil, "make", "release", "VERSION="+version, "DIST="+dist)
	for _, name := range []string{"locklab-linux-amd64", "locklab-linux-arm64", "locklab_9.8.7_amd64.deb",
		"locklab_9.8.7_arm64.deb", "locklab-9.8.7-1.x86_64.rpm", "locklab-9.8.7-1.aarch64.rpm",
		"locklab-image-linux-amd64.tar.gz", "locklab-image-linux-arm64.tar.gz", "locklab.cdx.json", "NOTES.md",
		"SHA256SUMS"} {
		if info, err := os.Stat(filepath.Join(dist, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	command(t, dist, nil, "sha256sum", "--check", "--quiet", "SHA256SUMS")
	command(t, dist, nil, "dpkg-deb", "--extract", "locklab_9.8.7_amd64.deb", "deb")
	for _, program := range []string{"./locklab-linux-amd64", "deb/usr/bin/locklab"} {
		if out := command(t, dist, nil, program, "--version"); !strings.HasPrefix(out, "locklab "+version+"\n") {
			t.Errorf("%s: %s", program, out)
		}
	}
}

// The action and the forms for issues are what GitHub can read: a form asks for something, and each step of the action
// names its shell.
func TestActionAndForms(t *testing.T) {
	read := func(name string, into any) {
		b, err := os.ReadFile(name)
		if err == nil {
			err = yaml.Unmarshal(b, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var action struct {
		Inputs map[string]struct{ Required bool }
		Runs   struct {
			Using string
			Steps []struct{ Name, Shell, Run string }
		}
	}
	read(filepath.Join(root(t), ".github/actions/locklab/action.yml"), &action)
	if action.Runs.Using != "composite" || len(action.Runs.Steps) != 3 || !action.Inputs["sha256"].Required {
		t.Errorf("%+v", action)
	}
	for _, s := range action.Runs.Steps {
		if s.Shell != "bash" || s.Run == "" {
			t.Errorf("%+v", s)
		}
	}
	forms, _ := filepath.Glob(filepath.Join(root(t), ".github/ISSUE_TEMPLATE/*.yml"))
	if len(forms) != 2 {
		t.Fatalf("forms %v", forms)
	}
	for _, name := range forms {
		var form struct {
			Name string
			Body []struct{ ID string }
		}
		read(name, &form)
		env := false
		for _, b := range form.Body {
			env = env || b.ID == "env"
		}
		if form.Name == "" || !env {
			t.Errorf("%s: %+v", name, form)
		}
	}
}

// The action's steps do what they say: with a release in a folder, they get the binary, refuse one with another digest,
// and end with locklab's exit code.
func TestActionSteps(t *testing.T) {
	var action struct {
		Runs struct {
			Steps []struct{ Name, Run string }
		}
	}
	b, err := os.ReadFile(filepath.Join(root(t), ".github/actions/locklab/action.yml"))
	if err == nil {
		err = yaml.Unmarshal(b, &action)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	fake := "#!/bin/sh\necho \"$@\" >> " + filepath.Join(dir, "calls") + "\n[ \"$1\" = image ] || exit 6\n"
	writeExecutable(t, filepath.Join(dir, "release"), fake)
	sum := sha256.Sum256([]byte(fake))
	env := func(digest, inconclusive string) []string {
		return []string{"RUNNER_TEMP=" + dir, "PINNED_URL=file://" + filepath.Join(dir, "release"),
			"PINNED_SHA256=" + digest, "COMMAND=run 'a b' --seed 7", "INCONCLUSIVE=" + inconclusive,
			"GITHUB_OUTPUT=" + filepath.Join(dir, "output")}
	}
	run := func(step int, env []string) int {
		return exitOf(t, env, "bash", "-e", "-c", action.Runs.Steps[step].Run)
	}
	if code := run(0, env(strings.Repeat("0", 64), "")); code == 0 {
		t.Error("a binary with another digest was taken")
	}
	good := hex.EncodeToString(sum[:])
	for step := range 2 {
		if code := run(step, env(good, "warn")); code != 0 {
			t.Errorf("step %d ends with %d", step, code)
		}
	}
	if warn, stop := run(2, env(good, "warn")), run(2, env(good, "fail")); warn != 0 || stop != 6 {
		t.Errorf("inconclusive ends with %d and %d", warn, stop)
	}
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	output, err2 := os.ReadFile(filepath.Join(dir, "output"))
	if err != nil || err2 != nil || !strings.Contains(string(calls), "run a b --seed 7\n") ||
		!strings.Contains(string(output), "code=6\n") {
		t.Errorf("calls\n%s\noutput\n%s", calls, output)
	}
}

// exitOf runs a program and returns its exit code.
func exitOf(t *testing.T, env []string, name string, args ...string) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), t.Output()
	err := cmd.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return failed.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0
}
