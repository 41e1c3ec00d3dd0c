package run

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"strings"
	"time"

	"locklab/ensembles"
	"locklab/harness/scenario"
	"locklab/harness/untrusted"
	"locklab/workloads/control"
)

// The programs of processes, as in [agent.Spec]: the agent's own binary, and the path of [Options.OtherClients] on
// client hosts.
const (
	ownBinary    = "locklab"
	otherClients = "/other/locklab"
)

var errNoOther = errors.New("the stage has no other binary for its clients")

// RunOther is like [Stage.Run] but runs the client processes from the stage's other binary, on the same hosts. The
// agents, the resource and the checks are those of this binary. So the two differ only in the code of client processes,
// which has the recipes.
func (s *Stage) RunOther(ctx context.Context, sc *scenario.Scenario, dir string) error {
	if s.other == "" {
		return errNoOther
	}
	return s.runFrom(ctx, sc, dir, otherClients)
}

// mainPackage is the path of locklab's main package.
const mainPackage = "locklab/harness/cmd/locklab"

// protocolCap bounds how long a binary may take to say which protocol its clients speak.
const protocolCap = 10 * time.Second

// CheckClients refuses a file that client processes cannot be run from, because it is not a locklab binary, cannot run
// on a host, or has clients that speak another protocol than this binary. The error is a [*scenario.InputError] that
// names the flag.
func CheckClients(ctx context.Context, flag, file string) error {
	refuse := func(hint, format string, args ...any) error {
		return &scenario.InputError{Flag: flag, Msg: fmt.Sprintf(format, args...), Hint: hint}
	}
	binary, err := untrusted.Open(file, untrusted.AnySize)
	if err != nil {
		return refuse("a locklab binary, as make build writes it", "%v", err)
	}
	defer binary.Close()
	info, err := buildinfo.Read(binary)
	if err != nil {
		return refuse("a locklab binary, as make build writes it", "%v", err)
	}
	if info.Path != mainPackage {
		return refuse("a locklab binary, as make build writes it",
			"%s is a binary of %s", file, cmp.Or(info.Path, "no package"))
	}
	if err := ensembles.CheckBinary(file); err != nil {
		return refuse("", "%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, protocolCap)
	defer cancel()
	out, err := exec.CommandContext(ctx, absolute(file), "protocol").Output()
	if ctx.Err() != nil && context.Cause(ctx) != context.DeadlineExceeded {
		return context.Cause(ctx)
	}
	var speaks struct {
		Client int `json:"client"`
	}
	if err == nil {
		err = json.Unmarshal(out, &speaks)
	}
	switch {
	case err != nil:
		return refuse("it is older than the command that says so; build it from a later commit",
			"%s does not say which protocol its clients speak: %v", file, err)
	case speaks.Client != control.Protocol:
		return refuse("the two binaries cannot share a lab; bench each by itself and compare with --allow-mismatch",
			"clients of %s speak protocol %d, and those of this locklab speak %d", file, speaks.Client, control.Protocol)
	}
	return nil
}

// absolute returns a name that is not looked up in $PATH.
func absolute(file string) string {
	if strings.Contains(file, "/") {
		return file
	}
	return "./" + file
}

// describeBinary describes a binary by its revision, if it has one, and its content.
func describeBinary(file string) (string, error) {
	sum, err := untrusted.Digest(file)
	if err != nil {
		return "", err
	}
	about := path.Base(file) + " sha256:" + sum[:12]
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return "", err
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			about = s.Value + ", " + about
		case s.Key == "vcs.modified" && s.Value == "true":
			about = "modified " + about
		case s.Key == "-tags":
			about += ", tags " + s.Value
		}
	}
	return about, nil
}
