package scenario_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"locklab/harness/scenario"
)

// victim is the least that a triggered pause needs.
const victim = "victim-alone: true\nclients: 4\nfaults:\n- kind: pause\n  target: c1\n  trigger: between-read-and-write\n"

// Each source is wrong in one way; want is the start of the whole error, and
// the hint is never empty.
var refused = []struct {
	name, src, want string
}{
	// What is not a scenario at all.
	{"not YAML", "clients: [1", `f.yaml:1:10: not YAML: `},
	{"tab", "faults:\n\t- kind: pause", `f.yaml:2:1: not YAML: `},
	{"scalar", "hello", `f.yaml:1:1: a scenario is a mapping, not a single value`},
	{"list", "- clients: 1", `f.yaml:1:1: a scenario is a mapping, not a list`},
	{"Windows line ends", "clients: 4\r\nlocks: x\r\n", `f.yaml:2:8: "x" is not a whole number`},
	{"byte order mark", "\ufeffclients: 4\nlocks: x", `f.yaml:2:8: "x" is not a whole number`},
	{"too many faults", "faults: [" + strings.Repeat("{},", 200) + "{}]", `f.yaml:1:1: 201 faults are too many (at most 200)`},
	{"two documents", "clients: 4\n---\nclients: 5", `f.yaml:2:1: a second document`},
	{"too large", strings.Repeat("# x\n", 1<<15), `f.yaml:1:1: file of 131072 bytes is too large`},

	// Keys.
	{"misspelt key", "lab: docker\nclinets: 4", `f.yaml:2:1: unknown key "clinets" (did you mean clients?)`},
	{"snake case", "session_timeout: 2s", `f.yaml:1:1: unknown key "session_timeout" (did you mean session-timeout?)`},
	{"far key", "frobnicate: 1", `f.yaml:1:1: unknown key "frobnicate" (known: name, about, `},
	{"no thresholds yet", "threshold: [acquire.p99<50ms]", `f.yaml:1:1: unknown key "threshold"`},
	{"number as key", "7: seven", `f.yaml:1:1: unknown key "7"`},
	{"merge key", "<<: {clients: 4}", `f.yaml:1:1: unknown key "<<"`},
	{"twice", "clients: 4\nlocks: 1\nclients: 5", `f.yaml:3:1: clients is given twice (it is already on line 1)`},
	{"nested", "session:\n  timeout: 2s", `f.yaml:1:1: unknown key "session"`},

	// Values.
	{"no value", "clients:\nlocks: 1", `f.yaml:1:9: clients has no value`},
	{"word for count", "clients: many", `f.yaml:1:10: "many" is not a whole number`},
	{"fraction for count", "clients: 2.5", `f.yaml:1:10: "2.5" is not a whole number`},
	{"quoted count", `clients: "4"`, `f.yaml:1:10: clients is not a text (without the quotes)`},
	{"list for count", "clients: [4]", `f.yaml:1:10: clients is a single value, not a list`},
	{"tag", "clients: !!int 4", `f.yaml:1:10: clients is a single value, not a tag`},
	{"alias", "clients: &n 4\nlocks: 2", `f.yaml:1:10: clients is a single value, not an anchor or alias`},
	{"no unit", "duration: 20", `f.yaml:1:11: "20" is not a duration (the unit is missing: 20s or 20ms)`},
	{"wrong unit", "duration: 20sec", `f.yaml:1:11: "20sec" is not a duration (a number and a unit`},
	{"bad size", "heap: 256MB", `f.yaml:1:7: "256MB" is not a size`},
	{"yes", "observer: yes", `f.yaml:1:11: "yes" is neither true nor false`},
	{"bad enum", "guard: fence", `f.yaml:1:8: unknown value "fence" (known: none, fencing)`},
	{"misspelt enum", "recipe: naive-mutx", `f.yaml:1:9: unknown value "naive-mutx" (did you mean naive-mutex?)`},
	{"no command", "recipe: 'exec:'", `f.yaml:1:9: "exec:" names no command`},
	{"space for a command", "recipe: 'exec: x'", `f.yaml:1:9: "exec: x" names no command`},
	{"image with a space", "client-image: a b", `f.yaml:1:15: "a b" is no image`},
	{"image without a command", "client-image: debian", `f.yaml:1:1: client-image is for a recipe that is a command, and mutex is none (recipe: exec:FILE)`},
	{"even ensemble", "servers: 4", `f.yaml:1:10: unknown value "4" (known: 1, 3, 5)`},
	{"name with slash", "name: ../x", `f.yaml:1:7: "../x" is not a name`},
	{"negative seed", "seed: -1", `f.yaml:1:7: "-1" is not a seed`},
	{"unprintable", "about: \"a\\tb\"", `f.yaml:1:8: unprintable character '\t'`},

	// Values out of bounds.
	{"no clients", "clients: 0", `f.yaml:1:1: clients of 0 is out of range (from 1 to 10000)`},
	{"negative clients", "clients: -4", `f.yaml:1:1: clients of -4 is out of range`},
	{"negative hold", "hold: -1s", `f.yaml:1:1: hold of -1s is out of range (from 0s to 24h)`},
	{"negative warmup", "warmup: -1ms", `f.yaml:1:1: warmup of -1ms is out of range`},
	{"absurd duration", "duration: 1000h", `f.yaml:1:1: duration of 1000h is out of range`},
	{"absurd heap", "heap: 1024GiB", `f.yaml:1:1: heap of 1024GiB is out of range (from 64MiB to 64GiB)`},
	{"tiny tick", "tick: 1ms", `f.yaml:1:1: tick of 1ms is out of range (from 10ms to 1m)`},
	{"too fine a timeout", "session-timeout: 1500500us", `f.yaml:1:1: session-timeout of 1.5005s is no whole number of milliseconds`},
	{"heap of half a MiB", "heap: 65537KiB", `f.yaml:1:1: heap of 65537KiB is no whole number of MiB`},

	// Contradictions.
	{"too few clients", "client-processes: 4\nclients: 3", `f.yaml:2:1: 3 clients for 4 client processes`},
	{"too many processes", "client-processes: 9", `f.yaml:1:1: 8 clients for 9 client processes`},
	{"both ends", "duration: 5s\niterations: 10", `f.yaml:2:1: both duration and iterations`},
	{"no end", "duration: 0s", `f.yaml:1:1: nothing says when the run ends`},
	{"endless hold", "hold: 10s", `f.yaml:1:1: a hold of 10s does not fit into a run of 10s`},
	{"victim crowded", "victim-alone: true\nclient-processes: 1", `f.yaml:1:1: victim-alone leaves no process for the other 7`},
	{"fencing without tokens", "recipe: none\nguard: fencing", `f.yaml:2:1: guard fencing needs tokens`},
	{"limits crossed", "tick: 200ms\nmin-session-timeout: 5s", `f.yaml:2:1: min-session-timeout of 5s is above max-session-timeout of 4s`},
	{"unreachable minimum", "clients: 2\niterations: 5\nmin-acquired: 11", `f.yaml:3:1: min-acquired of 11, where 2 clients acquire 10 times`},

	// Expectations.
	{"unknown check", "expect:\n  effects: pass", `f.yaml:2:3: unknown check "effects" (did you mean effect?)`},
	{"unknown expectation", "expect:\n  effect: failed", `f.yaml:2:11: unknown value "failed" (did you mean fail?)`},
	{"check twice", "expect:\n  effect: fail\n  effect: any", `f.yaml:3:3: effect is given twice`},
	{"expect a list", "expect: [effect]", `f.yaml:1:9: expect is a mapping, not a list`},
	{"unknown counter", "shown:\n  stale-accepted: 1", `f.yaml:2:3: unknown counter "stale-accepted" (did you mean stale_accepted?)`},
	{"show nothing", "shown:\n  overlaps: 0", `f.yaml:2:3: overlaps of 0 shows nothing`},
	{"passes and is shown", "expect:\n  effect: pass\nshown:\n  lost_updates: 1", `f.yaml:2:3: effect is to pass, but lost_updates are to be shown`},
	{"nothing rejects", "shown:\n  stale_rejected: 1", `f.yaml:2:3: guard none rejects nothing`},
	{"fenced damage", "guard: fencing\nshown:\n  stale_accepted: 1", `f.yaml:3:3: guard fencing leaves no stale_accepted`},
	{"stale without tokens", "recipe: none\nshown:\n  stale_accepted: 1", `f.yaml:3:3: stale_accepted cannot be told without tokens`},
	{"one overlaps with itself", "clients: 1\nclient-processes: 1\nshown:\n  overlaps: 1", `f.yaml:4:3: overlaps are to be shown, but one client`},

	// Faults.
	{"fault a word", "faults: pause", `f.yaml:1:9: faults is a list, not a single value`},
	{"fault a list", "faults: [[pause]]", `f.yaml:1:10: a fault is a mapping, not a list`},
	{"no kind", "faults:\n- target: c1\n  at: 1s\n  for: 1s", `f.yaml:2:3: a fault without kind (one of pause, kill, partition)`},
	{"no target", "faults:\n- kind: pause\n  at: 1s\n  for: 1s", `f.yaml:2:3: a fault without target`},
	{"unknown kind", "faults:\n- kind: paus\n  target: c1\n  at: 1s\n  for: 1s", `f.yaml:2:9: unknown value "paus" (did you mean pause?)`},
	{"unknown target", "faults:\n- kind: pause\n  target: c0\n  at: 1s\n  for: 1s", `f.yaml:3:11: unknown target "c0"`},
	{"misspelt fault key", "faults:\n- kind: pause\n  targt: c1\n  target: c1\n  at: 1s\n  for: 1s", `f.yaml:3:3: unknown key of a fault "targt" (did you mean target?)`},
	{"neither at nor trigger", "faults:\n- kind: pause\n  target: c1\n  for: 1s", `f.yaml:2:3: a fault with neither at nor trigger`},
	{"both at and trigger", victim + "  at: 1s\n  for: 1s", `f.yaml:6:3: a fault with both at and trigger`},
	{"neither for nor until", victim, `f.yaml:4:3: a fault with neither for nor until`},
	{"linger without until", victim + "  for: 3s\n  linger: 1s", `f.yaml:8:3: linger of 1s: it is how much longer a fault lasts`},
	{"negative linger", victim + "  until: superseded\n  linger: -1s", `f.yaml:8:3: linger of -1s`},
	{"superseded and lingering too late", "duration: 5s\n" + victim + "  until: superseded\n  linger: 1s", `f.yaml:8:3: pause c1 between read and write until superseded and 1s ends after 3.4s, and leaves`},
	{"both for and until", victim + "  for: 3s\n  until: superseded", `f.yaml:8:3: a fault with both for and until`},
	{"bad span", "faults:\n- kind: pause\n  target: c1\n  at: 1s\n  for: 2X", `f.yaml:5:8: "2X" is not a length of time (such as 3s, 1.5T`},
	{"span without unit", "faults:\n- kind: pause\n  target: c1\n  at: 1s\n  for: 2", `f.yaml:5:8: "2" is not a length of time (the unit is missing: 2s`},
	{"negative multiple", "faults:\n- kind: pause\n  target: c1\n  at: 1s\n  for: 0T", `f.yaml:5:8: "0T" is out of range`},
	{"no time at all", "faults:\n- kind: pause\n  target: c1\n  at: 1s\n  for: 0s", `f.yaml:5:3: a fault must last`},
	{"negative span", "faults:\n- kind: pause\n  target: c1\n  at: 1s\n  for: -1s", `f.yaml:5:3: a fault must last`},
	{"before the start", "faults:\n- kind: pause\n  target: c1\n  at: -1s\n  for: 1s", `f.yaml:4:3: at of -1s is before the measured window`},
	{"5s pause in a 2s run", "duration: 2s\nfaults:\n- kind: pause\n  target: c1\n  at: 1s\n  for: 5s", `f.yaml:6:3: pause c1 at 1s for 5s does not fit: it ends after 6s or later, the run after 2s (duration: 8s or more)`},
	{"no time to recover", "duration: 7s\nfaults:\n- kind: pause\n  target: c1\n  at: 1s\n  for: 5s", `f.yaml:6:3: pause c1 at 1s for 5s ends after 6s, and leaves no 2s for recovery in a run of 7s`},
	{"superseded too late", "duration: 4s\n" + victim + "  until: superseded", `f.yaml:8:3: pause c1 between read and write until superseded ends after 2.4s, and leaves`},
	{"too short to expire", "faults:\n- kind: pause\n  target: c1\n  at: 1s\n  for: 1T\n  expect: expiry", `f.yaml:5:3: 2s is too short for the session to expire, which takes up to 2.4s (for: expiry, or longer)`},
	{"server expires", "faults:\n- kind: pause\n  target: zk1\n  at: 1s\n  for: 3s\n  expect: expiry", `f.yaml:6:3: only a client's session can expire, and zk1 is a server`},
	{"no such process", "faults:\n- kind: pause\n  target: c3\n  at: 1s\n  for: 1s", `f.yaml:3:3: there is no client process c3: the lab has 2 (c1 to c2`},
	{"no such server", "faults:\n- kind: kill\n  target: zk4\n  at: 1s\n  for: 1s", `f.yaml:3:3: there is no server zk4: the ensemble has 3`},
	{"leader of one", "servers: 1\nfaults:\n- kind: kill\n  target: leader\n  at: 1s\n  for: 1s", `f.yaml:4:3: a single server is neither leader nor follower`},
	{"partition of one", "servers: 1\nfaults:\n- kind: partition\n  target: zk1\n  from: servers\n  at: 1s\n  for: 1s", `f.yaml:4:3: a single server has no other servers`},
	{"kill a client", "faults:\n- kind: kill\n  target: c1\n  at: 1s\n  for: 1s", `f.yaml:3:3: kill is for servers, and c1 is a client process`},
	{"partition from nothing", "faults:\n- kind: partition\n  target: c1\n  at: 1s\n  for: 1s", `f.yaml:2:3: a partition without from (from: servers)`},
	{"pause from", "faults:\n- kind: pause\n  target: c1\n  from: servers\n  at: 1s\n  for: 1s", `f.yaml:4:3: from is for partitions, not for pause`},
	{"until without trigger", "faults:\n- kind: pause\n  target: c1\n  at: 1s\n  until: superseded", `f.yaml:5:3: until superseded needs a victim that holds a lock`},
	{"trigger on a server", "faults:\n- kind: pause\n  target: zk1\n  trigger: between-read-and-write\n  for: 1s", `f.yaml:4:3: a trigger is for the pause of a client process, not for pause zk1`},
	{"victim in company", "clients: 4\nfaults:\n- kind: pause\n  target: c1\n  trigger: between-read-and-write\n  for: 1s", `f.yaml:5:3: the victim must be alone in its process, and c1 runs 2 clients (victim-alone: true`},
	{"wrong process alone", "victim-alone: true\nfaults:\n- kind: pause\n  target: c2\n  trigger: between-read-and-write\n  for: 1s", `f.yaml:5:3: the victim must be alone in its process, and c2 runs 7 clients (victim-alone: true and target: c1`},
	{"superseded without tokens", "recipe: none\n" + victim + "  until: superseded", `f.yaml:8:3: until superseded needs tokens, and recipe none`},
	{"superseded by itself", "clients: 1\nclient-processes: 1\nfaults:\n- kind: pause\n  target: c1\n  trigger: between-read-and-write\n  until: superseded", `f.yaml:7:3: nobody can supersede the only client (clients: 2 or more)`},
	{"overlap", "faults:\n- kind: pause\n  target: c1\n  at: 1s\n  for: 2s\n- kind: partition\n  target: c1\n  from: servers\n  at: 2s\n  for: 1s", `f.yaml:9:3: partition c1 from servers at 2s for 1s overlaps with pause c1 at 1s for 2s on c1`},
	{"overlap by role", "faults:\n- kind: kill\n  target: leader\n  at: 1s\n  for: 2s\n- kind: kill\n  target: zk2\n  at: 2s\n  for: 2s", `f.yaml:8:3: kill zk2 at 2s for 2s overlaps with kill leader at 1s for 2s on zk2, which may be leader`},
	{"overlap with a trigger", victim + "  for: 1s\n- kind: pause\n  target: c1\n  at: 5s\n  for: 1s", `f.yaml:10:3: pause c1 at 5s for 1s overlaps with`},
}

func TestRefused(t *testing.T) {
	for _, tt := range refused {
		t.Run(tt.name, func(t *testing.T) {
			s, err := scenario.Load("f.yaml", []byte(tt.src))
			if err == nil {
				err = s.Validate()
			}
			e, ok := errors.AsType[*scenario.InputError](err)
			if !ok {
				t.Fatalf("got %v, want an InputError", err)
			}
			if !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got  %s\nwant %s…", err, tt.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one error: %s", err)
			}
			if e.Hint == "" {
				t.Errorf("no hint: %s", e)
			}
			lines := strings.Count(tt.src, "\n") + 1
			if e.File != "f.yaml" || e.Line < 1 || e.Line > lines || e.Column < 1 {
				t.Errorf("no position: %+v", e)
			}
		})
	}
}

func TestSeveralErrorsAtOnce(t *testing.T) {
	_, err := scenario.Load("f.yaml", []byte("clients: many\nguard: fnecing\nfaults:\n- kind: pause\n"))
	const want = `f.yaml:1:10: "many" is not a whole number (digits only, such as 16)
f.yaml:2:8: unknown value "fnecing" (did you mean fencing?)
f.yaml:4:3: a fault without target (a client process c1…cN, a server zk1…zkN, leader or follower)
f.yaml:4:3: a fault with neither at nor trigger (give one of the two)
f.yaml:4:3: a fault with neither for nor until (give one of the two)`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}

	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "k%d: 1\n", i)
	}
	_, err = scenario.Load("f.yaml", []byte(b.String()))
	if err == nil || !strings.HasSuffix(err.Error(), "\nand 10 more") {
		t.Errorf("got %v, want the rest counted", err)
	}
}
