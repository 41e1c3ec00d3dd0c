package scenario_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/chaos"
	"locklab/harness/scenario"
	"locklab/workloads"
)

func environ(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

// A flag overrides a variable, a variable the file, and the file a default, in whatever order they are set.
func TestPrecedence(t *testing.T) {
	const src = "clients: 11\nlocks: 2\nthink: 1ms\n"
	env := environ(
		map[string]string{"LOCKLAB_CLIENTS": "12", "LOCKLAB_LOCKS": "3", "LOCKLAB_UNRELATED": "x"},
	)
	flags := func(s *scenario.Scenario) error { return s.Set("clients", "13") }
	vars := func(s *scenario.Scenario) error { return s.ApplyEnv(env) }
	for _, order := range [][]func(*scenario.Scenario) error{{flags, vars}, {vars, flags}} {
		s := mustLoad(t, src)
		for _, do := range order {
			if err := do(s); err != nil {
				t.Fatal(err)
			}
		}
		if s.Clients != 13 || s.Locks != 3 || s.Think != workloads.Always(time.Millisecond) || s.Storage != "disk" {
			t.Errorf(
				"clients %d (flag 13), locks %d (variable 3), think %s (file 1ms), storage %s (default disk)",
				s.Clients,
				s.Locks,
				s.Text("think"),
				s.Storage,
			)
		}
	}
}

// Duration and iterations exclude each other, so the stronger source's key removes the weaker one's.
func TestEndOfRunPrecedence(t *testing.T) {
	for _, tt := range []struct {
		name, src  string
		set        [][2]string
		env        map[string]string
		duration   time.Duration
		iterations int
	}{
		{"file over default", "iterations: 5", nil, nil, 0, 5},
		{"flag over file", "duration: 5s", [][2]string{{"iterations", "7"}}, nil, 0, 7},
		{"duration flag over file", "iterations: 5", [][2]string{{"duration", "7s"}}, nil, 7 * time.Second, 0},
		{"iterations of 0 do not end the run", "duration: 5s", [][2]string{{"iterations", "0"}}, nil, 5 * time.Second, 0},
		{"flag over variable", "", [][2]string{{"duration", "7s"}}, map[string]string{"LOCKLAB_ITERATIONS": "9"},
			7 * time.Second, 0},
		{"variable over file", "duration: 5s", nil, map[string]string{"LOCKLAB_ITERATIONS": "9"}, 0, 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustLoad(t, tt.src)
			for _, kv := range tt.set {
				if err := s.Set(kv[0], kv[1]); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.ApplyEnv(environ(tt.env)); err != nil {
				t.Fatal(err)
			}
			if s.Duration != tt.duration || s.Iterations != tt.iterations {
				t.Errorf("duration %s, iterations %d; want %s, %d", s.Duration, s.Iterations, tt.duration, tt.iterations)
			}
			if err := s.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
	s := mustLoad(t, "")
	for _, kv := range [...][2]string{{"iterations", "7"}, {"duration", "7s"}} {
		if err := s.Set(kv[0], kv[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Validate(); err == nil || !strings.HasPrefix(err.Error(), "--iterations: both duration and iterations") {
		t.Errorf("two flags: %v", err)
	}
}

func TestOverrideErrors(t *testing.T) {
	for _, tt := range []struct{ key, text, want string }{
		{"clients", "many", `--clients: "many" is not a whole number (`},
		{"clients", "0", `--clients: clients of 0 is out of range (from 1 to 100000)`},
		{"recipe", "mutx", `--recipe: unknown value "mutx" (did you mean mutex?)`},
		{"servers", "0", `--servers: "0" is not a number of servers (1, 3 or 5; with connect, as many`},
		{"clinets", "4", `--clinets: no such key (did you mean clients?)`},
		{"faults", "x", `--faults: no such key (`},
		{"name", "x", `--name: no such key (`},
	} {
		err := scenario.Defaults().Set(tt.key, tt.text)
		if e, ok := errors.AsType[*scenario.InputError](err); !ok || !strings.HasPrefix(err.Error(), tt.want) ||
			e.Flag != "--"+tt.key {
			t.Errorf("--%s %s: %v, want %s…", tt.key, tt.text, err, tt.want)
		}
	}
	err := scenario.Defaults().ApplyEnv(environ(map[string]string{"LOCKLAB_SESSION_TIMEOUT": "2"}))
	if want := `LOCKLAB_SESSION_TIMEOUT: "2" is not a duration (the unit is missing: 2s or 2ms)`; err == nil ||
		err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	// A variable is checked even if a flag overrides it.
	s := scenario.Defaults()
	if err := errors.Join(s.Set("clients", "4"), s.Set("iterations", "4")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"LOCKLAB_CLIENTS", "LOCKLAB_DURATION"} {
		if err := s.ApplyEnv(environ(map[string]string{name: "many"})); err == nil {
			t.Errorf("%s=many is accepted", name)
		}
	}
}

// A contradiction is reported at the strongest source, which is what the user did last.
func TestContradictionsNameTheFlag(t *testing.T) {
	for _, tt := range []struct{ builtin, key, text, want string }{
		{"mutex-leader-partition", "duration", "5s", "--duration: partition leader from servers at 3s for 4s does not fit: " +
			"it ends after 7s or later, the run after 5s (--duration 9s or more)"},
		{"mutex-server-kill", "servers", "1", "--servers: a single server is neither leader nor follower"},
		{"mutex-pause-fencing", "recipe", "none", "--recipe: guard fencing needs tokens, and recipe none gives none"},
		{"mutex-pause-fencing", "guard", "none", "--guard: guard none rejects nothing"},
		{"mutex-pause", "guard", "fencing", "--guard: guard fencing leaves no lost_updates to show"},
		{"mutex-pause", "victim-alone", "false",
			"--victim-alone: the victim must be alone in its process, and c1 runs 2 clients"},
		{"mutex-client-partition", "client-processes", "32", "--client-processes: 6 clients for 32 client processes"},
	} {
		s, err := scenario.Builtin(builtins, tt.builtin)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Set(tt.key, tt.text); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s --%s %s:\ngot  %v\nwant %s…", tt.builtin, tt.key, tt.text, err, tt.want)
		}
	}
}

// The keys that the manual promises exist, each has help, and each accepts its own default.
func TestKeys(t *testing.T) {
	var names []string
	for _, k := range scenario.Keys() {
		names = append(names, k.Name)
		if k.Help == "" {
			t.Errorf("%s has no help", k.Name)
		}
		if k.Default != "" {
			if err := scenario.Defaults().Set(k.Name, k.Default); err != nil {
				t.Error(err)
			}
		}
	}
	for _, name := range []string{"lab", "recipe", "guard", "clients", "client-processes", "locks", "hold", "think",
		"duration", "warmup", "session-timeout", "tick", "storage", "servers", "seed"} {
		if !slices.Contains(names, name) {
			t.Errorf("no flag --%s", name)
		}
	}
}

// A scenario made by code is validated too; its errors name no place.
func TestValidateWithoutOrigins(t *testing.T) {
	s := scenario.Defaults()
	s.Servers = 10
	s.Faults = []chaos.Fault{{Kind: "maim", Target: "r1"}}
	s.Expect = map[string]string{"luck": "pass"}
	err := s.Validate()
	for _, want := range []string{
		`"10" is not a number of servers`, `unknown value "maim"`, `unknown target "r1"`, `unknown check "luck"`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %s in %v", want, err)
		}
	}
	c := scenario.Defaults()
	c.Faults = []chaos.Fault{{Kind: "pause", Target: "c1", For: chaos.Lasting(time.Second)}}
	d := c.Clone()
	d.Faults[0].Target = "c2"
	if err := d.Set("clients", "2"); err != nil || c.Faults[0].Target != "c1" || c.Clients != 8 {
		t.Errorf("changing the clone changes %+v (%v)", c, err)
	}
}

// A built-in scenario's share of downgrades applies only with recipes that have downgrades; with others it is 0. Such a
// recipe is refused with a share that the user gave.
func TestBuiltinDowngradesFollowTheRecipe(t *testing.T) {
	type set [][2]string
	for _, tt := range []struct {
		name   string
		env    map[string]string
		flags  set
		want   float64
		origin string
		err    string
	}{
		{"its own recipe", nil, nil, 0.2, "read-write.yaml:13", ""},
		{"a recipe without downgrades", nil, set{{"recipe", "fair-rw"}}, 0, "default", ""},
		{"another with downgrades", nil, set{{"recipe", "curator-rw"}}, 0.2, "read-write.yaml:13", ""},
		{"one with and one without", nil, set{{"recipe", "naive-rw,fair-rw"}}, 0, "default", ""},
		{"a variable without downgrades, then a flag with them", map[string]string{"LOCKLAB_RECIPE": "fair-rw"},
			set{{"recipe", "rw"}}, 0.2, "read-write.yaml:13", ""},
		{"a flag for the share, then the recipe", nil, set{{"downgrade-share", "0.1"}, {"recipe", "fair-rw"}}, 0.1,
			"--downgrade-share", "--downgrade-share: a writer of recipe fair-rw cannot become a reader"},
		{"the recipe, then a flag for the share", nil, set{{"recipe", "fair-rw"}, {"downgrade-share", "0.1"}}, 0.1,
			"--downgrade-share", "--downgrade-share: a writer of recipe fair-rw cannot become a reader"},
		{"a variable for the share", map[string]string{"LOCKLAB_DOWNGRADE_SHARE": "0.1"}, set{{"recipe", "fair-rw"}}, 0.1,
			"LOCKLAB_DOWNGRADE_SHARE", "--recipe: a writer of recipe fair-rw cannot become a reader"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := scenario.Builtin(builtins, "read-write")
			if err != nil {
				t.Fatal(err)
			}
			if err := s.ApplyEnv(environ(tt.env)); err != nil {
				t.Fatal(err)
			}
			for _, kv := range tt.flags {
				if err := s.Set(kv[0], kv[1]); err != nil {
					t.Fatal(err)
				}
			}
			if got := s.OriginOf("downgrade-share"); s.DowngradeShare != tt.want || got != tt.origin {
				t.Errorf("a share of %v from %s, want %v from %s", s.DowngradeShare, got, tt.want, tt.origin)
			}
			switch err := s.Validate(); {
			case tt.err == "" && err != nil:
				t.Error(err)
			case tt.err != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.err)):
				t.Errorf("got %v, want %s…", err, tt.err)
			}
		})
	}
	file := mustLoad(t, "workload: read-write\nrecipe: fair-rw\ndowngrade-share: 0.2")
	if err := file.Validate(); err == nil ||
		!strings.Contains(err.Error(), "a writer of recipe fair-rw cannot become a reader") {
		t.Errorf("a file of the user: %v", err)
	}
}

// All clients run in one process unless something needs more of them.
func TestOneProcess(t *testing.T) {
	for _, c := range []struct {
		src  string
		want int
	}{
		{"hold: 5ms\n", 1},
		{"client-processes: 2\n", 2},
		{"faults: [{kind: pause, target: c1, at: 1s, for: 1s}]\n", 2},
		{"recipe: mutex,zk-lock\n", 2},
	} {
		s := mustLoad(t, c.src)
		if s.OneProcess(); s.ClientProcesses != c.want {
			t.Errorf("%q: %d client processes, want %d", c.src, s.ClientProcesses, c.want)
		}
	}
}

// Holds are made as long as the scenario says unless that is about the resource.
func TestLeaveResource(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"hold: 5ms\n", scenario.SectionNone},
		{"section: counter\n", scenario.SectionCounter},
		{"guard: fencing\n", scenario.SectionCounter},
		{"faults: [{kind: pause, target: c1, at: 1s, for: 1s}]\n", scenario.SectionCounter},
		{"thresholds: ['lost_updates == 0']\n", scenario.SectionCounter},
		{"expect: {effect: fail}\nrecipe: none\n", scenario.SectionCounter},
	} {
		s := mustLoad(t, c.src)
		if s.LeaveResource(); s.Section != c.want {
			t.Errorf("%q: section %s, want %s", c.src, s.Section, c.want)
		}
	}
}
