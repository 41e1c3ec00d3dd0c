package main

import (
	"strings"
	"testing"
)

// What would break the workflow only later is refused, and nothing that is there is overwritten.
func TestInitGateRefuses(t *testing.T) {
	good := map[string]string{"--build": "make lock", "--lock": "bin/lock", "--url": "https://example.org/locklab"}
	for _, c := range []struct{ flag, value, want string }{
		{"--lock", "/usr/bin/lock", "--lock: \"/usr/bin/lock\" is not a file below"},
		{"--lock", "../lock", "is not a file below"},
		{"--url", "locklab", "--url: \"locklab\" is not an address"},
		{"--sha256", "abc", "--sha256: \"abc\" is not a SHA-256"},
		{"--build", "a\nb", "--build: it has several lines"},
		{"", "", ""},
		{"", "", "exists"},
	} {
		dir := "theirs"
		if c.flag == "" && c.want == "" {
			t.Chdir(t.TempDir())
		}
		args := []string{"init", "gate", dir}
		for flag, value := range good {
			if flag != c.flag {
				args = append(args, flag, value)
			}
		}
		if c.flag != "" {
			args = append(args, c.flag, c.value)
		}
		code, stdout, stderr := runCLI(t, args...)
		if c.want == "" {
			if code != exitOK || strings.Count(stdout, "\n") != 2 {
				t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
			}
		} else if code != exitInput || !strings.Contains(stderr, c.want) || stdout != "" {
			t.Errorf("%s %q: exit code %d, %q", c.flag, c.value, code, stderr)
		}
	}
}
