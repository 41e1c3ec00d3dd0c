package scenario_test

import (
	"testing"

	"locklab/harness/scenario"
)

// A LOCKLAB_ variable that belongs to no key is refused, and the error suggests the nearest name.
func TestCheckEnv(t *testing.T) {
	others := []string{"LOCKLAB_MIRROR", "LOCKLAB_TEST_"}
	for _, k := range scenario.Keys() {
		if err := scenario.CheckEnv([]string{k.Env() + "=x"}, nil); err != nil {
			t.Error(err)
		}
	}
	const unset = " (unset it; each flag of locklab run has a variable, such as LOCKLAB_CLIENTS for --clients)"
	for _, c := range []struct{ variable, want string }{
		{"LOCKLAB_THRESHOLD=x", ""}, {"LOCKLAB_MIRROR=x", ""}, {"LOCKLAB_TEST_ALL=1", ""},
		{"HOLDD=5ms", ""}, {"LOCKLAB_HOLDD=", ""}, {"XLOCKLAB_HOLDD=1", ""},
		{"LOCKLAB_HOLDD=5ms", "LOCKLAB_HOLDD: no such key (did you mean LOCKLAB_HOLD?)"},
		{"LOCKLAB_SESION_TIMEOUT=5s", "LOCKLAB_SESION_TIMEOUT: no such key (did you mean LOCKLAB_SESSION_TIMEOUT?)"},
		{"LOCKLAB_THRESHOLDS=overlaps==0", "LOCKLAB_THRESHOLDS: no such key (did you mean LOCKLAB_THRESHOLD?)"},
		{"LOCKLAB_NAME=x", "LOCKLAB_NAME: no such key" + unset}, // a key of files only
		{"LOCKLAB_FROBNICATE=1", "LOCKLAB_FROBNICATE: no such key" + unset},
		{"LOCKLAB_MIRRORS=x", "LOCKLAB_MIRRORS: no such key" + unset},
	} {
		got := ""
		if err := scenario.CheckEnv([]string{"PATH=/bin", c.variable}, others); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got  %s\nwant %s", c.variable, got, c.want)
		}
	}
	empty := scenario.CheckEmptyEnv([]string{"LOCKLAB_OUT=", "LOCKLAB_CONNECT=", "LOCKLAB_HOLD=1s", "LOCKLAB_TEST_ALL=",
		"X="})
	if want := "LOCKLAB_CONNECT: the value is empty (unset the variable, or give it a value)\n" +
		"LOCKLAB_OUT: the value is empty (unset the variable, or give it a value)"; empty == nil || empty.Error() != want {
		t.Errorf("got %v, want %s", empty, want)
	}
	err := scenario.CheckEnv([]string{"LOCKLAB_HOLDD=1s", "LOCKLAB_CLINETS=4"}, others)
	want := "LOCKLAB_CLINETS: no such key (did you mean LOCKLAB_CLIENTS?)\n" +
		"LOCKLAB_HOLDD: no such key (did you mean LOCKLAB_HOLD?)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
