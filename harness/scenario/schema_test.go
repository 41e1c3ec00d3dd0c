package scenario_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"locklab/harness/scenario"
)

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	src, err := scenario.Schema(metrics)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("scenario.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("scenario.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON returns what an editor reads from a YAML file; false if the source is not YAML.
func asJSON(src string) (any, bool) {
	var v any
	if err := yaml.Unmarshal([]byte(src), &v); err != nil {
		return nil, false
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, false
	}
	v, err = jsonschema.UnmarshalJSON(bytes.NewReader(b))
	return v, err == nil
}

// The built-in scenarios fit the schema, both as files and as Marshal writes them.
func TestBuiltinsFitTheSchema(t *testing.T) {
	schema := compiledSchema(t)
	all, err := scenario.Builtins(builtins)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(all, scenario.Defaults()) {
		sources := []string{string(s.Marshal())}
		if src, err := scenario.BuiltinSource(builtins, s.Name); err == nil {
			sources = append(sources, string(src))
		}
		for _, src := range sources {
			v, ok := asJSON(src)
			if !ok {
				t.Fatalf("%s is not YAML:\n%s", s.Name, src)
			}
			if err := schema.Validate(v); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
	}
}

// Every form of a value that Load accepts fits the schema.
func TestSchemaAccepts(t *testing.T) {
	schema := compiledSchema(t)
	for _, src := range []string{
		"{}", "hold: 0", "hold: 1h2m3.5s", "hold: 1.s", "heap: 2GiB", "seed: 18446744073709551615", "servers: 5",
		"about: why?", "liveness: auto", "recipe: mutex, curator-mutex", "recipe: curator-mutex@5.4.0",
		"recipe: curator-mutex@5.4.0,curator-mutex@5.7.1",
		"recipe: exec:./lock -v", "round-trip: 0",
		"observer: TRUE", "observer: \"yes\"", "victim-alone: 1", "try: off", "observer: n", "round-trip: 2ms",
		"workload: read-write\nrecipe: rw\nread-share: 1",
		"thresholds: [acquire.p99<50ms, overlaps == 0, acquired_per_s >= 1e3, fairness.jain!=.5]",
		"thresholds: [latency.acquire.p99_ns < 50ms, throughput.acquired_per_s > 5, safety.overlaps == 0]",
		"schedule: swarm\nfault-kinds: pause:3, kill\nfault-length: 0.5T .. expiry+1s\nfault-interval: 1s\nliveness: 4s",
		`faults:
- {kind: pause, target: c12, at: 0, for: 1.5T}
- {kind: kill, target: zk3, at: 1s, for: expiry+1s}
- {kind: partition, target: leader, from: servers, at: 1s, for: 2s}`,
		`faults:
- {kind: pause, target: holder, at: 1s, for: 1s, every: 3s, repeat: 2}
- {kind: kill, target: minority, at: 1s, for: 1s}`,
		"faults: [{kind: pause, target: holder, at: 1s, until: superseded}]",
		victim + "  until: superseded\n  linger: 300ms\n  expect: expiry",
		victim + "  for: 1s\n  repeat: 3",
	} {
		if _, err := scenario.Load("f.yaml", []byte(src)); err != nil {
			t.Errorf("%s: not a scenario: %v", src, err)
		}
		v, _ := asJSON(src)
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", src, err)
		}
	}
}

// beyond names the refused scenarios that fit the schema nevertheless. Add a new refusal here if a schema cannot
// express it.
var beyond = []string{
	// These differ in a way that is lost when YAML is read.
	"second-document", "anchored-mapping", "hexadecimal", "underscored", "two documents", "merge key", "tag",
	"alias", "unprintable", "text that is not UTF-8",
	// A schema cannot compare values that have units.
	"duration-beyond-64-bits", "threshold-that-never-holds", "threshold-that-always-holds", "threshold-too-large",
	"threshold-of-days", "absurd duration", "absurd heap", "tiny tick", "too fine a timeout",
	"heap of half a MiB", "negative multiple", "no time at all", "ends before it begins", "too wide a deviation",
	"choice too steep", "rate too high", "resizing all the time", "exponential of zero",
	"log-normal of zero", "uniform of zero", "fairer than fair", "as fair as can be, or less", "no such fairness",
	"more than fair", "exactly too fair",
	// A schema cannot compare keys with each other.
	"all the same", "all the same by default", "damage by readers", "readers who exclude each other",
	"torn by readers", "damage without a resource", "as long as it waits", "just as long as it waits",
	"readers, as long as they wait", "service, as long as it waits", "threshold-twice",
	"thresholds-that-exclude-each-other", "threshold-against-what-is-shown", "threshold-of-another-workload",
	"arrivals' lag in a closed loop", "drops in a closed loop", "damage that nobody can do",
	"readers' latency without readers", "image without a command", "too few clients", "too many processes",
	"no end", "endless hold", "victim crowded", "fencing without tokens", "limits crossed", "unreachable minimum",
	"downgrade without one", "too many units", "too many locks", "nobody takes several", "unlike recipes",
	"recipe without company", "twice the same recipe", "more recipes than processes", "fencing Curator's leases",
	"fencing permits without slots", "fencing several slots", "observing permits", "no write to stop before",
	"passes and is shown", "nothing rejects", "fenced damage", "stale without tokens", "one overlaps with itself",
	"torn without readers", "lost without writers", "superseded and lingering too late", "5s pause in a 2s run",
	"no time to recover", "superseded too late", "too short to expire", "no such process", "no such server",
	"leader of one", "partition of one", "victims that are not alone", "victims leave no process",
	"victim in company", "wrong process alone", "superseded without tokens",
	"layout that is none", "ambiguous layout", "layout of a recipe", "layout without permits",
	"superseded by itself", "roll one server", "roll too late",
	"expire a foreign session", "move where there is no other", "tiny step", "overlap", "overlap of repetitions",
	"overlap by role", "overlap with a trigger", "anew before it is over", "again without end", "all the time",
	"the last one too late", "more often at a trigger than fits", "drawn without an end",
	"drawn backwards", "drawn backwards here", "drawn too long",
	"drawn of no length", "drawn all the time", "kind drawn twice", "endless liveness", "followers of nobody",
	"holder of nothing", "triggered waiter", "moving a holder",
	"endless on average", "choice of one", "arrivals at no rate", "rate in a closed loop",
	"in flight in a closed loop", "queue in a closed loop", "think in an open loop", "iterations in an open loop",
	"more in flight than clients", "less in flight than processes", "sharing a command's session",
	"more sharing than clients", "more sharing than a process has", "resizing to the same",
	"resizing after the end", "downgrading nobody", "a try that waits",
	"control that shares sessions", "trying a control", "fencing a control",
	"lease clock of a control", "resizing a control",
	"a session for several of zk.Lock's", "trying zk.Lock", "fencing zk.Lock", "lease clock of a peer",
	"lease clock of zk.Lock", "lease clock of no lock", "lease clock of a command",
	"zk-multi on one znode for all", "zk-multi of zk.Lock", "zk-multi of no lock", "zk-multi of a peer",
	"zk-multi of a command", "zk-multi of permits", "zk-multi of nothing", "damage past zk-multi",
	"too short for a lease clock", "capped for a lease clock", "rejected by clients",
	"followers of one", "own follower of nobody",
	"own follower and a move",
	"nothing to guard", "nothing to show", "appending under permits", "appending to a znode",
	"appending more than there is room for", "appending at too high a rate", "no such point",
	"resizing Curator's", "resizing below an acquisition",
	"failing tokens of a recipe without tokens", "two holders of one client", "one client that believes alone",
	"nothing is outdated", "nothing is accessed",
	"deaths of Curator's clients", "deaths in a shared session",
	"term of one section", "term without pauses", "term of a list", "more often at a trigger than fits",
	"nothing breaks", "nothing is shared", "waiting alone", "nothing is asked", "a loss behind a fence",
	"an overlap that must not be",
	"even ensemble", "way to nowhere", "certificate for nobody", "certificate without its key", "lab beside an ensemble",
	"image of a process", "recipe without credentials", "two servers of an ensemble", "server without a port",
	"credential in the open", "no latency at all",
	"more versions than servers", "upgrade to the same", "upgrade to the default", "upgrade of one", "upgrade too late",
	"upgrade twice",
	"as far as the Moon", "far for a short session", "far and slow", "far and drawn", "far and drawn slow",
	"logs of nobody", "logs of a minority", "logs of more", "logs nowhere",
}

// The schema refuses every refused scenario that is not beyond it.
func TestSchemaRefuses(t *testing.T) {
	schema := compiledSchema(t)
	left := slices.Clone(beyond)
	for _, tt := range refusals(t) {
		left = slices.DeleteFunc(left, func(name string) bool { return name == tt.name })
		v, ok := asJSON(tt.src)
		if !ok || strings.Contains(tt.want, "not YAML") {
			continue // an editor has nothing to compare with the schema
		}
		if fits := schema.Validate(v) == nil; fits != slices.Contains(beyond, tt.name) {
			t.Errorf("%q fits the schema: %t; it is refused with %s", tt.name, fits, tt.want)
		}
	}
	if len(left) > 0 {
		t.Errorf("beyond names %q, which are not refused scenarios", left)
	}
}

// Every key says what its values look like and what it means.
func TestSchemaKnowsEveryKey(t *testing.T) {
	src, err := scenario.Schema(metrics)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct{ Properties map[string]map[string]any }
	if err := json.Unmarshal(src, &schema); err != nil {
		t.Fatal(err)
	}
	for _, k := range scenario.Keys() {
		p := schema.Properties[k.Name]
		if p["description"] == nil || p["type"] == nil && p["$ref"] == nil && p["anyOf"] == nil && p["enum"] == nil {
			t.Errorf("%s: %v (the type of its value lacks a method schema)", k.Name, p)
		}
	}
	for _, name := range []string{"name", "about", "faults", "expect", "shown", "thresholds"} {
		if schema.Properties[name] == nil {
			t.Errorf("no %s", name)
		}
	}
}
