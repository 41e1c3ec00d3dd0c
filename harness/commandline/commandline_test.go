package commandline

import (
	"io"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// Values have the forms of keys, a negative number is a value, and a mistake is told in the words of keys.
func TestParse(t *testing.T) {
	var given struct {
		Go struct {
			Shift  float64       `default:"0"`
			Wait   time.Duration `default:"0s"`
			Format string        `default:"svg" enum:"svg,png"`
			Quick  bool
		} `cmd:""`
	}
	parser, err := kong.New(&given, append(Values(), kong.Name("locklab"), kong.Writers(io.Discard, io.Discard))...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(parser, []string{"go", "--shift", "-1.5", "--wait", "20ms", "--quick=false"}); err != nil {
		t.Fatal(err)
	}
	if given.Go.Shift != -1.5 || given.Go.Wait != 20*time.Millisecond || given.Go.Quick {
		t.Errorf("%+v", given.Go)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"go", "--wait", "10"}, `--wait: "10" is not a duration (the unit is missing: 10s or 10ms)`},
		{[]string{"go", "--wait"}, "--wait: the value is missing; write --wait=VALUE (see locklab help go)"},
		{[]string{"go", "--format", "gif"}, `--format: unknown value "gif" (known: svg, png)`},
		{[]string{"go", "--wait="},
			"--wait: the value is empty (drop the flag, or set the variable that its value comes from)"},
		{[]string{"go", "-wait"}, "-wait: flags begin with two dashes (--wait)"},
		{[]string{"go", ""}, "an argument is empty (drop it, or set the variable that it comes from)"},
	} {
		if _, err := Parse(parser, c.args); err == nil || err.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.args, err, c.want)
		}
	}
}
