package ensembles

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"locklab/ensembles/agent"
	"locklab/ensembles/debian"
	"locklab/ensembles/reach"
	"locklab/ensembles/software"
)

// DefaultVersion names the ZooKeeper that a lab's servers run unless they are told otherwise. Other names of versions
// are numbers of [debian.Versions], directories of this machine, which begin with / or ., and images.
const DefaultVersion = "default"

// IsDir reports whether the name of a version is that of a directory.
func IsDir(version string) bool {
	return strings.HasPrefix(version, "/") || strings.HasPrefix(version, ".")
}

// VersionPattern is a regular expression of the names that versions can have.
const VersionPattern = `([./][^,\n\r\t]*|[A-Za-z0-9][A-Za-z0-9._:/@-]*)`

var versionName = regexp.MustCompile(`^` + VersionPattern + `$`)

// bareNumber matches the number of a version, which somebody may write for an image.
var bareNumber = regexp.MustCompile(`^v?[0-9]+(\.[0-9]+)*$`)

// CheckVersion reports why a text cannot name a version of ZooKeeper.
func CheckVersion(text string) error {
	switch {
	case text == "":
		return errors.New("a version of ZooKeeper without a name")
	case !versionName.MatchString(text):
		return fmt.Errorf("%q names neither an image nor a directory", text)
	case bareNumber.MatchString(text):
		if _, ok := debian.Find(text); !ok {
			return fmt.Errorf("%q is none of the numbers of versions that can be had (%s), and not the name of an image; "+
				"the official image is zookeeper:%s", text, debian.Numbers(), strings.TrimPrefix(text, "v"))
		}
	}
	return nil
}

// A VersionError says that a lab cannot run a version of ZooKeeper. Nothing of the lab was made.
type VersionError struct {
	Version string
	// Msg says what is wrong, and Hint what to do.
	Msg, Hint string
	// Absent says that the version exists perhaps, but is not on this machine.
	Absent bool
}

// Error implements error.
func (e *VersionError) Error() string { return e.Msg + " (" + e.Hint + ")" }

// Dir returns the path of a version that is a directory, and checks that ZooKeeper's jars are in it.
func Dir(version string) (string, error) {
	dir, err := filepath.Abs(version)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		_, err = software.Jars(os.DirFS("/"), dir)
	}
	if err != nil {
		return "", &VersionError{Version: version, Msg: fmt.Sprintf("%s: %v", version, err),
			Hint: "the directory of an unpacked distribution, or the one with its jars"}
	}
	return dir, nil
}

// Local returns the homes of the hosts' versions in a lab of a kind that runs the files of this machine, and says which
// Java and which ZooKeeper the servers start with.
func Local(kind string, hosts []HostSpec) (homes map[string]string, runs string, err error) {
	homes = map[string]string{DefaultVersion: ""}
	var first, all []string
	for _, h := range hosts {
		if h.Role == Server && !slices.Contains(first, h.First()) {
			first = append(first, h.First())
		}
		for _, v := range h.Versions {
			version, packaged := debian.Find(v)
			switch {
			case v == DefaultVersion:
			case packaged:
				if homes[v], err = unpacked(version); err != nil {
					return nil, "", err
				}
			case !IsDir(v):
				return nil, "", &VersionError{Version: v,
					Msg:  fmt.Sprintf("%s names an image, and a lab of kind %s runs the files of this machine", v, kind),
					Hint: "lab: docker, or a directory, which begins with / or ./"}
			default:
				if homes[v], err = Dir(v); err != nil {
					return nil, "", err
				}
			}
		}
	}
	if first == nil {
		first = []string{DefaultVersion}
	}
	for _, v := range first {
		s, err := software.Describe(os.DirFS("/"), homes[v])
		if err != nil {
			return nil, "", err
		}
		all = append(all, s)
	}
	return homes, strings.Join(all, "; "), nil
}

// ImageOf returns the image that the name of a version means: a number means the image that is built of its packages.
func ImageOf(version string) string {
	if v, ok := debian.Find(version); ok {
		return v.Image()
	}
	return version
}

// unpacked returns the directory with the jars of a version of Debian's packages.
func unpacked(v debian.Version) (string, error) {
	dir, err := v.Dir()
	if err == nil {
		_, err = software.Jars(os.DirFS("/"), dir)
	}
	if err != nil {
		return "", &VersionError{Version: v.Number, Absent: true,
			Msg:  "the jars of ZooKeeper " + v.Number + " are not on this machine",
			Hint: "bin/locklab image --unpack " + v.Number}
	}
	return dir, nil
}

func (e *Ensemble) start(ctx context.Context, h *Host, version string) (agent.Stamp, error) {
	spec := serverSpec(e.Config, e.hostAddresses(), e.number(h))
	var has bool
	if spec.Home, has = h.homes[version]; !has && version != DefaultVersion {
		return agent.Stamp{}, fmt.Errorf("start %s: the host has no version %s", h.Name, version)
	}
	st, err := h.Agent.Start(ctx, spec)
	if err == nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.runs == nil {
			e.runs = map[*Host]string{}
		}
		e.runs[h] = version
	}
	return st, err
}

// Upgrade starts a server that has ended again, with another version of those that its host has. Later restarts keep
// that version.
func (e *Ensemble) Upgrade(ctx context.Context, h *Host, version string) (agent.Stamp, error) {
	return e.start(ctx, h, version)
}

// Runs returns the name of the version that a server was last started with.
func (e *Ensemble) Runs(h *Host) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[h]
}

// Told returns the version that a server tells: its number, its build and the time of that, such as
// "3.8.0-5a02a05eddb5, built on 2022-02-25 08:49 UTC".
func (e *Ensemble) Told(ctx context.Context, h *Host) (string, error) {
	answer, err := h.Agent.Ask(ctx, "srvr")
	if err != nil {
		return "", err
	}
	version := reach.Field(answer, "Zookeeper version:")
	if version == "" {
		return "", fmt.Errorf("%s does not tell its version: %s", h.Name, LastLines(answer, 1))
	}
	return version, nil
}

// AwaitTold returns the version that a server tells, once it tells one, or an error when ctx ends. A server tells none
// while it starts or elects a leader.
func (e *Ensemble) AwaitTold(ctx context.Context, h *Host) (version string, err error) {
	err = Poll(ctx, 20*time.Millisecond, h.Name+" to tell its version", func() (err error) {
		version, err = e.Told(ctx, h)
		return err
	})
	return version, err
}

// VersionNumber returns the number of a version that a server has told, such as 3.8.0.
func VersionNumber(told string) string {
	number, _, _ := strings.Cut(told, "-") // the build follows
	return number
}
