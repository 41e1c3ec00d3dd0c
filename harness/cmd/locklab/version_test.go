package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"locklab/workloads/control"
)

func TestVersion(t *testing.T) {
	built := func(version string, settings ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: version}}
		for _, s := range settings {
			key, value, _ := strings.Cut(s, "=")
			info.Settings = append(info.Settings, debug.BuildSetting{Key: key, Value: value})
		}
		return info
	}
	rest := fmt.Sprintf("go: go1.26.0 %s/%s\nprotocol: %d\n", runtime.GOOS, runtime.GOARCH, control.Protocol)
	for _, c := range []struct {
		name, release string
		info          *debug.BuildInfo
		want          string
	}{
		{"a release", "v1.2.3", built("(devel)", "vcs.revision=c0ffee", "vcs.modified=false"),
			"locklab v1.2.3\ncommit: c0ffee\n" + rest},
		{"a build by go install", "", built("v1.2.4"), "locklab v1.2.4\ncommit: unknown\n" + rest},
		{"a build of a working tree", "", built("(devel)", "vcs.revision=c0ffee", "vcs.modified=true"),
			"locklab (devel)\ncommit: c0ffee, with changes that are not committed\n" + rest},
		{"a build that says nothing", "", nil, "locklab (devel)\ncommit: unknown\n" +
			strings.Replace(rest, "go1.26.0", runtime.Version(), 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got strings.Builder
			if err := writeVersion(&got, c.release, c.info); err != nil || got.String() != c.want {
				t.Errorf("got\n%swant\n%s(%v)", got.String(), c.want, err)
			}
		})
	}
}
