package harness

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
	"locklab/workloads/client"
)

// The programs of processes, as in [agent.Spec]: the agent's own binary, and where
// client hosts have [Options.OtherClients].
const (
	ownBinary    = "locklab"
	otherClients = "/other/locklab"
)

var errNoOther = errors.New("the stage has no other binary for its clients")

// RunOther is [Stage.Run] with client processes of the stage's other binary, on the same
// hosts. All else is of the one binary: the agents, the resource and who judges. So what
// the two differ in is what a client process is made of, recipes above all.
func (s *Stage) RunOther(ctx context.Context, sc *scenario.Scenario, dir string) error {
	if s.other == "" {
		return errNoOther
	}
	return s.run(ctx, sc, dir, otherClients)
}

// mainPackage is where locklab's main is.
const mainPackage = "locklab/harness/cmd/locklab"

// protocolCap bounds how long a binary may take to say what it speaks.
const protocolCap = 10 * time.Second

// CheckClients refuses a file that client processes cannot be run from: what is no locklab
// binary, or cannot run on a host, or whose client processes speak otherwise
// than ours expect. The error is a [*scenario.InputError] that names the flag.
func CheckClients(ctx context.Context, flag, file string) error {
	refuse := func(hint, format string, args ...any) error {
		return &scenario.InputError{Flag: flag, Msg: fmt.Sprintf(format, args...), Hint: hint}
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return refuse("a locklab binary, as make build writes it", "%v", err)
	}
	if info.Path != mainPackage {
		return refuse("a locklab binary, as make build writes it", "%s is a binary of %s", file, cmp.Or(info.Path, "no package"))
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
		return refuse("it is of a time before there was anything to ask; build it from a later commit", "%s does not say which protocol its clients speak: %v", file, err)
	case speaks.Client != client.Protocol:
		return refuse("the two are too far apart to take turns in one lab; bench each by itself and compare with --allow-mismatch", "clients of %s speak protocol %d, and this locklab %d", file, speaks.Client, client.Protocol)
	}
	return nil
}

// absolute keeps a name without a slash from being looked for in $PATH.
func absolute(file string) string {
	if strings.Contains(file, "/") {
		return file
	}
	return "./" + file
}

// describeBinary says which binary a file is: its revision, if it was built from one, and
// its content.
func describeBinary(file string) (string, error) {
	sum, err := sumOf(file)
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
