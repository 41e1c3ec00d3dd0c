package compare

import (
	"slices"
	"testing"
)

// The elements of a list are one difference. Of sides that have little in common, the first differences are listed.
func TestMismatchesInLines(t *testing.T) {
	base := map[string]string{"env.java_options[0]": "-Xmx256m", "env.java_options[1]": "-XX:+UseSerialGC",
		"env.java_options[2]": "-Da=b", "env.kernel": "6.18", "scenario.faults[0].kind": "pause"}
	head := map[string]string{"env.java_options[0]": "-Xmx1g", "env.java_options[1]": "-Xms1g",
		"env.java_options[2]": "-XX:+UseSerialGC", "env.java_options[3]": "-Da=b", "env.kernel": "6.19",
		"scenario.faults[0].kind": "kill"}
	want := []string{"env.java_options: -Xmx256m against -Xmx1g -Xms1g", "env.kernel: 6.18 against 6.19",
		"scenario.faults[0].kind: pause against kill"}
	if got := inLines(mismatches(base, head)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	other := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"} {
		other["scenario."+name] = name
	}
	if got := inLines(mismatches(map[string]string{}, other)); len(got) != mostLines+1 || got[mostLines] != "and 2 more" {
		t.Errorf("%q", got)
	}
}
