package check

import (
	"reflect"
	"slices"
	"testing"

	"locklab/harness/check/counters"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// Each check has a name of its own and says what it asks; a run has a verdict of each, in that order.
func TestCatalogue(t *testing.T) {
	var names []string
	for _, c := range All() {
		if c.Name == "" || c.Asks == "" || c.Subject == "" || slices.Contains(names, c.Name) {
			t.Errorf("check %+v is not complete, or its name is taken", c)
		}
		names = append(names, c.Name)
		if found, ok := Named(c.Name); !ok || found.Asks != c.Asks {
			t.Errorf("the check named %s is %+v", c.Name, found)
		}
		if slices.Contains(Expectable(), c.Name) == c.OfRun {
			t.Errorf("%s: a scenario may expect it: %v", c.Name, c.OfRun)
		}
	}
	var judged []string
	for _, v := range Run(history.NewLog([]history.Event{}), evidence.Facts{}).Checks {
		judged = append(judged, v.Name)
	}
	if !slices.Equal(judged, names) {
		t.Errorf("a run is judged by %v, want %v", judged, names)
	}
	if _, ok := Named("exclusion"); ok {
		t.Error("there is a check named exclusion")
	}
}

// What the scenario expects counts first, and then the check's default.
func TestExpected(t *testing.T) {
	for _, c := range []struct {
		facts evidence.Facts
		name  string
		want  evidence.Expectation
	}{
		{evidence.Facts{}, evidence.Effect, evidence.ExpectPass},
		{evidence.Facts{}, evidence.Fairness, evidence.ExpectAny},
		{evidence.Facts{Queue: true}, evidence.Fairness, evidence.ExpectPass},
		{evidence.Facts{Expect: map[string]evidence.Expectation{evidence.Fairness: evidence.ExpectFail}}, evidence.Fairness,
			evidence.ExpectFail},
	} {
		if got := Expected(&c.facts, c.name); got != c.want {
			t.Errorf("%s of %+v is expected to %s, want %s", c.name, c.facts, got, c.want)
		}
	}
}

// Each field of the safety block has a counter of its JSON name, in the order of the block, and the counter reads that
// field.
func TestCounters(t *testing.T) {
	var s evidence.Safety
	fields := reflect.ValueOf(&s).Elem()
	all := counters.All()
	if len(all) != fields.NumField() {
		t.Fatalf("%d counters of %d fields", len(all), fields.NumField())
	}
	for i, c := range all {
		n := int64(i + 1)
		fields.Field(i).Set(reflect.ValueOf(&n))
		if name := fields.Type().Field(i).Tag.Get("json"); c.Name != name || c.Means == "" {
			t.Errorf("counter %d is %+v, want %s", i, c, name)
		}
		if got := c.Of(&s); got == nil || *got != n {
			t.Errorf("%s reads another field", c.Name)
		}
		if _, ok := Named(c.Check); !ok {
			t.Errorf("%s is counted by %q, which is not a check", c.Name, c.Check)
		}
	}
}
