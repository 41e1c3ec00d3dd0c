package scenario_test

import (
	"fmt"
	"strings"
	"testing"

	"locklab/harness/scenario"
)

// victim is the least that a triggered pause needs.
const victim = "victim-alone: true\nclients: 4\nfaults:\n- kind: pause\n  target: c1\n  trigger: between-read-and-write\n"

// Each source is wrong in one way; want is the start of the whole error, and
// the hint is never empty.
var refused = []refusal{
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
	{"threshold in the singular", "threshold: [acquire.p99<50ms]", `f.yaml:1:1: unknown key "threshold"`},
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
	{"bad enum", "guard: fence", `f.yaml:1:8: unknown value "fence" (known: none, lost-context, lease-clock, fencing, zk-multi)`},
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
	{"negative hold", "hold: -1s", `f.yaml:1:7: "-1s" is out of range (from 0s to 24h)`},
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

	// Load.
	{"no distribution", "hold: gauss(5ms)", `f.yaml:1:7: "gauss(5ms)" is neither a duration nor a distribution (a duration such as 5ms, or exponential(5ms), `},
	{"exponential of nothing", "hold: exponential()", `f.yaml:1:7: "" is not a duration`},
	{"one end of two", "hold: uniform(5ms)", `f.yaml:1:7: "uniform(5ms)" is neither`},
	{"unclosed", "think: exponential(5ms", `f.yaml:1:8: "exponential(5ms" is neither`},
	{"distribution without unit", "think: exponential(5)", `f.yaml:1:8: "5" is not a duration (the unit is missing: 5s or 5ms)`},
	{"hold without unit", "hold: 5", `f.yaml:1:7: "5" is not a duration (the unit is missing: 5s or 5ms)`},
	{"ends before it begins", "hold: uniform(9ms..1ms)", `f.yaml:1:7: "uniform(9ms..1ms)" ends before it begins (uniform(1ms..9ms))`},
	{"too wide a deviation", "hold: log-normal(5ms, 50)", `f.yaml:1:7: "50" is out of range (from 0 to 5)`},
	{"deviation in words", "hold: log-normal(5ms, NaN)", `f.yaml:1:7: "NaN" is not a number`},
	{"endless on average", "hold: exponential(11s)", `f.yaml:1:1: a hold of exponential(11s) does not fit into a run of 10s`},
	{"no choice", "locks: 4\nlock-choice: zipf", `f.yaml:2:14: "zipf" is no choice of locks (uniform, or zipf(1.1)`},
	{"choice too steep", "locks: 4\nlock-choice: zipf(99)", `f.yaml:2:14: "99" is out of range (from 0.01 to 10)`},
	{"choice of one", "lock-choice: zipf(1.1)", `f.yaml:1:1: a choice of one lock, by zipf(1.1) (locks: more`},
	{"unknown arrivals", "arrivals: poison", `f.yaml:1:11: unknown value "poison" (did you mean poisson?)`},
	{"arrivals at no rate", "arrivals: poisson", `f.yaml:1:1: poisson arrivals need a rate (rate: 100 a second`},
	{"rate in a closed loop", "rate: 100", `f.yaml:1:1: in a closed loop clients ask when they are done, at no rate of their own (arrivals: poisson`},
	{"in flight in a closed loop", "max-in-flight: 4", `f.yaml:1:1: in a closed loop as many acquisitions are in flight as there are clients`},
	{"rate of nothing", "arrivals: poisson\nrate: 0", `f.yaml:2:7: a rate of 0 brings nothing`},
	{"negative rate", "arrivals: poisson\nrate: -5", `f.yaml:2:7: "-5" is not a number (arrivals per second: 100, a ramp`},
	{"rate per second", "arrivals: poisson\nrate: 100/s", `f.yaml:2:7: "100/s" is not a number (arrivals per second: 100, a ramp`},
	{"ramp with a corner", "arrivals: poisson\nrate: 100..400..100", `f.yaml:2:7: "100..400..100" is not a rate (arrivals per second: 100, a ramp`},
	{"rate too high", "arrivals: poisson\nrate: 100,10000000", `f.yaml:2:7: "10000000" is out of range`},
	{"think in an open loop", "arrivals: poisson\nrate: 100\nthink: 5ms", `f.yaml:3:1: poisson arrivals do not wait for clients to think`},
	{"iterations in an open loop", "arrivals: uniform\nrate: 100\nduration: 0s\niterations: 10", `f.yaml:4:1: uniform arrivals are for as long as the run lasts`},
	{"more in flight than clients", "arrivals: uniform\nrate: 100\nmax-in-flight: 9", `f.yaml:3:1: 9 acquisitions in flight, of 8 clients`},
	{"less in flight than processes", "arrivals: uniform\nrate: 100\nmax-in-flight: 1", `f.yaml:3:1: 1 acquisitions in flight in 2 client processes`},

	{"sharing a command's session", "recipe: curator-mutex\nclients-per-session: 4", `f.yaml:2:1: clients of recipe curator-mutex, which is a command, have a session each`},
	{"more sharing than clients", "clients-per-session: 9", `f.yaml:1:1: 9 clients-per-session, of 8 clients`},
	{"more sharing than a process has", "clients-per-session: 5", `f.yaml:1:1: 5 clients-per-session, of 4 clients in a process at most`},
	{"resizing to the same", "workload: semaphore\nresize: 4 every 2s", `f.yaml:2:1: a change from 4 permits to 4`},
	{"resizing after the end", "workload: semaphore\nresize: 8 every 12s", `f.yaml:2:1: a resize every 12s never comes in a run of 12s with its warm-up`},
	{"downgrading nobody", "workload: read-write\nread-share: 1\ndowngrade-share: 0.5", `f.yaml:3:1: nobody writes with a read-share of 1`},
	{"a burst of nothing else", "workload: read-write\nread-share: 1\nread-burst: 500ms every 5s", `f.yaml:3:1: everybody reads all the time`},
	{"a try that waits", "wait: 1s\ntry: true", `f.yaml:2:1: a try does not wait for 1s`},
	{"trying for several of a command's", "workload: multi-lock\nlocks: 3\nrecipe: curator-multi\ntry: true", `f.yaml:4:1: recipe curator-multi, which is a command, does not say`},
	{"followers of one", "servers: 1\nplacement: followers", `f.yaml:2:1: a single server has no followers`},
	{"unknown placement", "placement: follower", `f.yaml:1:12: unknown value "follower" (did you mean followers?)`},
	{"nothing to guard", "section: none\nguard: fencing", `f.yaml:2:1: guard fencing has nothing to guard`},
	{"appending under permits", "workload: semaphore\nsection: append", `f.yaml:2:1: nobody writes under permits, so nothing is appended (section: counter)`},
	{"appending to a znode", "section: append\nguard: zk-multi", `f.yaml:2:1: guard zk-multi keeps counters: a list in a znode would be written as a whole each time`},
	{"appending more than there is room for", "section: append\nclients: 1000\niterations: 2000", `f.yaml:1:1: 2000000 elements to append, and the resource's lists hold 1048576 (section: counter, or a shorter run)`},
	{"appending at too high a rate", "section: append\narrivals: poisson\nrate: 20000\nduration: 1m", `f.yaml:1:1: 1240000 elements to append`},
	{"nothing to show", "section: none\nshown:\n  lost_updates: 1", `f.yaml:3:3: section none leaves the resource alone, so no lost_updates`},
	{"no such point", "section: none\n" + victim + "  for: 3s", `f.yaml:7:3: section none does not come to between-read-and-write`},

	// Workloads and their recipes.
	{"misspelt workload", "workload: read-writes", `f.yaml:1:11: unknown value "read-writes" (did you mean read-write?)`},
	{"recipe of another workload", "workload: semaphore\nrecipe: rw", `f.yaml:2:1: recipe rw does not serve workload semaphore (one of semaphore, none, curator-semaphore; or workload: read-write)`},
	{"key of another workload", "permits: 3", `f.yaml:1:1: permits is of workload semaphore, not of mutex (workload: semaphore, or drop it)`},
	{"flag of another workload", "workload: read-write\nordered: false", `f.yaml:2:1: ordered is of workload multi-lock, not of read-write`},
	{"share above one", "workload: read-write\nread-share: 90", `f.yaml:2:13: "90" is not a share (a number from 0 to 1`},
	{"no share", "workload: read-write\ndowngrade-share: NaN", `f.yaml:2:18: "NaN" is not a share`},
	{"downgrade without one", "workload: read-write\nrecipe: fair-rw\ndowngrade-share: 0.5", `f.yaml:3:1: a writer of recipe fair-rw cannot become a reader`},
	{"resizing Curator's", "workload: semaphore\nrecipe: curator-semaphore\nresize: 8 every 2s", `f.yaml:3:1: the permits of recipe curator-semaphore are as many as there are`},
	{"resizing below an acquisition", "workload: semaphore\nunits: 3\nresize: 2 every 2s", `f.yaml:3:1: an acquisition of 3 units, of 2 permits at times`},
	{"resizing once", "workload: semaphore\nresize: 8", `f.yaml:2:9: "8" says not how often (such as 8 every 2s)`},
	{"resizing to none", "workload: semaphore\nresize: 0 every 2s", `f.yaml:2:9: "0" is out of range (from 1 to 10000)`},
	{"resizing all the time", "workload: semaphore\nresize: 8 every 0s", `f.yaml:2:9: "0s" is out of range (from 1ms to 24h)`},
	{"a burst without end", "workload: read-write\nread-burst: 5s every 5s", `f.yaml:2:13: a burst of 5s never ends (shorter than every 5s)`},
	{"a burst of a mutex", "read-burst: 1s every 5s", `f.yaml:1:1: read-burst is of workload read-write, not of mutex`},
	{"too many units", "workload: semaphore\nunits: 5", `f.yaml:2:1: an acquisition of 5 units, of 4 permits`},
	{"too many locks", "workload: multi-lock\nlocks-per-acquire: 3\nlocks: 2", `f.yaml:2:1: 3 locks-per-acquire, of 2 locks (locks: more`},
	{"nobody takes several", "workload: multi-lock\nlocks: 4\nrecipe: mutex", `f.yaml:3:1: recipe mutex takes one lock at a time`},
	{"unlike recipes", "recipe: mutex,naive-mutex", `f.yaml:1:1: recipes mutex and naive-mutex do not share a layout of znodes, so they would not see each other (mutex goes with zk-lock, curator-mutex)`},
	{"several of zk.Lock's", "recipe: zk-lock\nlocks: 2", `f.yaml:2:1: 2 locks, but a client of recipe zk-lock has one, on a connection of its own (locks: 1)`},
	{"a session for several of zk.Lock's", "recipe: zk-lock\nclients-per-session: 2", `f.yaml:2:1: clients of recipe zk-lock have a connection each`},
	{"trying zk.Lock", "recipe: mutex,zk-lock\ntry: true", `f.yaml:2:1: recipe zk-lock does not say whether it waits (wait: a time)`},
	{"unknown control", "recipe: broken-name-ordr", `f.yaml:1:9: unknown value "broken-name-ordr" (did you mean broken-name-order?)`},
	{"control of another workload", "workload: read-write\nrecipe: broken-name-order", `f.yaml:2:1: recipe broken-name-order does not serve workload read-write (one of rw, fair-rw, naive-rw, none, curator-rw; or workload: mutex)`},
	{"control that shares sessions", "recipe: broken-missing-own\nclients-per-session: 2", `f.yaml:2:1: clients of recipe broken-missing-own have a connection each`},
	{"trying a control", "recipe: broken-missing-own\ntry: true", `f.yaml:2:1: recipe broken-missing-own does not say whether it waits (wait: a time)`},
	{"fencing a control", "workload: semaphore\nrecipe: broken-dead-lease\nguard: fencing", `f.yaml:3:1: guard fencing needs tokens, and recipe broken-dead-lease gives none`},
	{"lease clock of a control", "recipe: broken-missing-own\nguard: lease-clock", `f.yaml:2:1: guard lease-clock needs holds that a clock ends, and recipe broken-missing-own has none`},
	{"resizing a control", "workload: semaphore\nrecipe: broken-dead-lease\nresize: 2 every 1s", `f.yaml:3:1: the permits of recipe broken-dead-lease are as many as there are`},
	{"fencing zk.Lock", "recipe: mutex,zk-lock\nguard: fencing", `f.yaml:2:1: guard fencing needs tokens, and recipe zk-lock gives none`},
	{"lease clock of a peer", "recipe: mutex,curator-mutex\nguard: lease-clock", `f.yaml:2:1: guard lease-clock needs holds that a clock ends, and recipe curator-mutex has none (guard: lost-context`},
	{"lease clock of zk.Lock", "recipe: zk-lock\nguard: lease-clock", `f.yaml:2:1: guard lease-clock needs holds that a clock ends, and recipe zk-lock has none`},
	{"lease clock of no lock", "recipe: none\nguard: lease-clock", `f.yaml:2:1: guard lease-clock needs holds that a clock ends, and recipe none has none`},
	{"lease clock of a command", "recipe: exec:./lock\nguard: lease-clock", `f.yaml:2:1: guard lease-clock needs holds that a clock ends, and recipe exec:./lock has none`},
	{"zk-multi on one znode for all", "recipe: naive-mutex\nguard: zk-multi", `f.yaml:2:1: guard zk-multi writes in a transaction that checks the hold's znode, and recipe naive-mutex has one znode for all holders, so a check of it passes on the next one's (guard: fencing`},
	{"zk-multi of zk.Lock", "recipe: mutex,zk-lock\nguard: zk-multi", `f.yaml:2:1: guard zk-multi writes in a transaction that checks the hold's znode, and recipe zk-lock does not say which znode is its hold's`},
	{"zk-multi of no lock", "recipe: none\nguard: zk-multi", `f.yaml:2:1: guard zk-multi writes in a transaction that checks the hold's znode, and recipe none has no znode to check`},
	{"zk-multi of a peer", "recipe: mutex,curator-mutex\nguard: zk-multi", `f.yaml:2:1: guard zk-multi writes in a transaction that checks the hold's znode, and recipe curator-mutex is a command with a session of its own`},
	{"zk-multi of a command", "recipe: exec:./lock\nguard: zk-multi", `f.yaml:2:1: guard zk-multi writes in a transaction that checks the hold's znode, and recipe exec:./lock is a command`},
	{"zk-multi of permits", "workload: semaphore\nguard: zk-multi", `f.yaml:2:1: guard zk-multi guards writes, and nobody writes under permits (guard: fencing)`},
	{"zk-multi of nothing", "section: none\nguard: zk-multi", `f.yaml:2:1: guard zk-multi has nothing to guard`},
	{"damage past zk-multi", "guard: zk-multi\nshown:\n  lost_updates: 1", `f.yaml:3:3: guard zk-multi leaves no lost_updates to be shown (guard: none`},
	{"too short for a lease clock", "guard: lease-clock\nsession-timeout: 600ms", `f.yaml:1:1: a lease clock needs a session timeout of more than 3 ticks (600ms), and clients get 600ms (a session-timeout of 1.6s, or a shorter tick)`},
	{"capped for a lease clock", "guard: lease-clock\nmax-session-timeout: 500ms", `f.yaml:1:1: a lease clock needs a session timeout of more than 3 ticks (600ms), and clients get 500ms`},
	{"rejected by clients", "guard: lease-clock\nshown:\n  stale_rejected: 1", `f.yaml:3:3: guard lease-clock rejects nothing`},
	{"recipe without company", "recipe: none,mutex", `f.yaml:1:1: recipes none and mutex do not share`},
	{"one unknown of two", "recipe: mutex,curator-mutx", `f.yaml:1:9: unknown value "curator-mutx" (did you mean curator-mutex?)`},
	{"twice the same recipe", "recipe: mutex, mutex", `f.yaml:1:9: mutex is given twice`},
	{"a command in company", "recipe: mutex,exec:./lock", `f.yaml:1:9: a command cannot be mixed with other recipes (its znodes are not known`},
	{"more recipes than processes", "recipe: mutex,curator-mutex\nclient-processes: 1", `f.yaml:2:1: 1 client processes for 2 recipes`},
	{"fencing Curator's leases", "workload: semaphore\nrecipe: semaphore,curator-semaphore\nguard: fencing", `f.yaml:3:1: guard fencing needs tokens, and recipe curator-semaphore gives none`},
	{"fencing permits without slots", "workload: semaphore\nrecipe: exec:./lock\nguard: fencing", `f.yaml:3:1: guard fencing tells permits apart by their slots`},
	{"fencing several slots", "workload: semaphore\nunits: 2\nguard: fencing", `f.yaml:3:1: guard fencing goes by one slot of a hold, and a hold of 2 units has 2`},
	{"observing permits", "workload: semaphore\nobserver: true", `f.yaml:2:1: an observer sees who is first`},
	{"no write to stop before", "workload: semaphore\n" + victim + "  for: 3s", `f.yaml:7:3: no critical section of workload semaphore comes to between-read-and-write (trigger: between-reads)`},
	{"negative wait", "wait: -1s", `f.yaml:1:1: wait of -1s is out of range`},

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

	// What cannot fail.
	{"all the same", "expect: {service-exclusion: any, belief-exclusion: any, effect: any, tokens: any, fairness: any, liveness: any}", `f.yaml:1:1: every check may come out as any, and nothing is to be shown or kept to, so there is no verdict`},
	{"all the same by default", "recipe: none\nexpect: {service-exclusion: any, belief-exclusion: any, effect: any, tokens: any, liveness: any}", `f.yaml:2:1: every check may come out as any`},
	{"damage by readers", "workload: read-write\nread-share: 1\nexpect: {effect: fail}", `f.yaml:3:10: effect is to fail, but nobody writes with a read-share of 1 (read-share: 0.9)`},
	{"readers who exclude each other", "workload: read-write\nread-share: 1\nexpect: {belief-exclusion: fail}", `f.yaml:3:10: belief-exclusion is to fail, but nobody writes`},
	{"torn by readers", "workload: read-write\nread-share: 1\nshown: {torn_reads: 1}", `f.yaml:3:9: torn_reads are to be shown, but nobody writes`},
	{"damage without a resource", "section: none\nexpect: {effect: fail}", `f.yaml:2:10: effect is to fail, but section none leaves the resource alone`},
	{"exponential of zero", "hold: exponential(0)", `f.yaml:1:7: "exponential(0)" is always 0s (0s, or exponential of more than that)`},
	{"log-normal of zero", "think: log-normal(0s, 2)", `f.yaml:1:8: "log-normal(0s, 2)" is always 0s`},
	{"uniform of zero", "think: uniform(0s..0s)", `f.yaml:1:8: "uniform(0s..0s)" is always 0s`},
	{"as long as it waits", "wait: 50ms\nthresholds: [acquire.p99 < 60ms]", `f.yaml:2:14: acquire.p99 < 60ms cannot be missed: acquisitions are given up after 50ms, and latencies are of those granted (a limit below wait, or operations.timed_out == 0)`},
	{"just as long as it waits", "wait: 50ms\nthresholds: [wait.p99 <= 50ms]", `f.yaml:2:14: wait.p99 <= 50ms cannot be missed`},
	{"readers, as long as they wait", "workload: read-write\nwait: 50ms\nthresholds: [acquire_read.p99 < 1s]", `f.yaml:3:14: acquire_read.p99 < 1s cannot be missed`},
	{"service, as long as it waits", "arrivals: poisson\nrate: 9\nwait: 50ms\nthresholds: [service.p99 < 1s]", `f.yaml:4:14: service.p99 < 1s cannot be missed`},
	{"fairer than fair", "thresholds: [fairness.jain < 1.5]", `f.yaml:1:14: "fairness.jain < 1.5" always holds: fairness.jain is from 0 to 1 (a limit below 1)`},
	{"as fair as can be, or less", "thresholds: [fairness.jain <= 1]", `f.yaml:1:14: "fairness.jain <= 1" always holds`},
	{"no such fairness", "thresholds: [fairness.jain != 2]", `f.yaml:1:14: "fairness.jain != 2" always holds`},
	{"more than fair", "thresholds: [fairness.jain > 1]", `f.yaml:1:14: "fairness.jain > 1" can never hold`},
	{"exactly too fair", "thresholds: [fairness.jain == 1.1]", `f.yaml:1:14: "fairness.jain == 1.1" can never hold`},

	// Numbers that the run will not have.
	{"arrivals' lag in a closed loop", "thresholds: [arrival.p99 < 1ms]", `f.yaml:1:14: arrival.p99 is of an open loop, and arrivals are closed (arrivals: poisson`},
	{"drops in a closed loop", "thresholds:\n- overlaps == 0\n- dropped == 0", `f.yaml:3:3: dropped is of an open loop`},
	{"damage that nobody can do", "section: none\nthresholds: [lost_updates == 0]", `f.yaml:2:14: section none leaves the resource alone, so there are no lost_updates`},
	{"readers' latency without readers", "thresholds: [acquire_read.p99 < 1ms]", `f.yaml:1:14: acquire_read.p99 is of workload read-write, not of mutex`},

	{"torn without readers", "shown:\n  torn_reads: 1", `f.yaml:2:3: workload mutex has no torn_reads to be shown (workload: read-write)`},
	{"lost without writers", "workload: semaphore\nshown:\n  lost_updates: 1", `f.yaml:3:3: nobody writes under permits`},

	// Faults.
	{"fault a word", "faults: pause", `f.yaml:1:9: faults is a list, not a single value`},
	{"fault a list", "faults: [[pause]]", `f.yaml:1:10: a fault is a mapping, not a list`},
	{"no kind", "faults:\n- target: c1\n  at: 1s\n  for: 1s", `f.yaml:2:3: a fault without kind (one of pause, kill, `},
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
	{"old directory of no queue", "recipe: naive-mutex\nsequence-left: 9", `f.yaml:2:1: sequence-left is of the directory in which contenders queue`},
	{"roll a client", "faults:\n- kind: rolling-restart\n  target: c1\n  at: 1s", `f.yaml:3:3: rolling-restart is for all servers, and c1 is a client process`},
	{"roll one server", "servers: 1\nfaults:\n- kind: rolling-restart\n  target: all\n  at: 1s", `f.yaml:3:3: a single server is not restarted one after the other`},
	{"roll too late", "duration: 10s\nfaults:\n- kind: rolling-restart\n  target: all\n  at: 5s", `f.yaml:5:3: the restart of 3 servers one after the other takes 6s at least (duration: 11s or more)`},
	{"lasting restart", "faults:\n- kind: restart\n  target: zk1\n  at: 1s\n  for: 2s", `f.yaml:5:3: for is for faults that last, and a restart is over at once`},
	{"expire a server", "faults:\n- kind: expire-session\n  target: zk1\n  at: 1s", `f.yaml:3:3: expire-session is for client processes, and zk1 is a server`},
	{"expire a foreign session", "recipe: curator-mutex\nfaults:\n- kind: expire-session\n  target: c1\n  at: 1s", `f.yaml:3:3: the session of c1 is recipe curator-mutex's own, and nobody else knows its password`},
	{"move where there is no other", "servers: 1\nfaults:\n- kind: move-client\n  target: c1\n  at: 1s\n  for: 1s", `f.yaml:3:3: with a single server there is no other to go to`},
	{"trigger for a move", "victim-alone: true\nfaults:\n- kind: move-client\n  target: c1\n  trigger: before-write\n  for: 1s", `f.yaml:5:3: a trigger is for the pause or expire-session`},
	{"foreign children of a client", "faults:\n- kind: foreign-children\n  target: c1\n  at: 1s\n  for: 1s", `f.yaml:3:3: foreign-children is for all servers, and c1 is a client process (target: all`},
	{"clock without a step", "faults:\n- kind: clock-step\n  target: zk1\n  at: 1s\n  for: 1s", `f.yaml:2:3: a clock-step without by`},
	{"tiny step", "faults:\n- kind: clock-step\n  target: zk1\n  by: -1s\n  at: 1s\n  for: 1s", `f.yaml:4:3: a clock-step of -1s: it must be more than 2s`},
	{"clock of a client", "faults:\n- kind: clock-step\n  target: c1\n  by: 1h\n  at: 1s\n  for: 1s", `f.yaml:3:3: clock-step is for servers or all servers, and c1 is a client process`},
	{"step of a disk", "faults:\n- kind: slow-disk\n  target: zk1\n  by: 1h\n  at: 1s\n  for: 1s", `f.yaml:4:3: by is for clock-steps, not for slow-disk`},
	{"partition from nothing", "faults:\n- kind: partition\n  target: c1\n  at: 1s\n  for: 1s", `f.yaml:2:3: a partition without from (from: servers, leader, clients)`},
	{"pause from", "faults:\n- kind: pause\n  target: c1\n  from: servers\n  at: 1s\n  for: 1s", `f.yaml:4:3: from is for partitions, losses, bandwidths, latencies or resets, not for pause`},
	{"until without trigger", "faults:\n- kind: pause\n  target: c1\n  at: 1s\n  until: superseded", `f.yaml:5:3: until superseded needs a victim that holds a lock`},
	{"trigger on a server", "faults:\n- kind: pause\n  target: zk1\n  trigger: between-read-and-write\n  for: 1s", `f.yaml:4:3: a trigger is for the pause or expire-session of a client process, not for pause zk1`},
	{"victim in company", "clients: 4\nfaults:\n- kind: pause\n  target: c1\n  trigger: between-read-and-write\n  for: 1s", `f.yaml:5:3: the victim must be alone in its process, and c1 runs 2 clients (victim-alone: true`},
	{"wrong process alone", "victim-alone: true\nfaults:\n- kind: pause\n  target: c2\n  trigger: between-read-and-write\n  for: 1s", `f.yaml:5:3: the victim must be alone in its process, and c2 runs 7 clients (victim-alone: true and target: c1`},
	{"superseded without tokens", "recipe: none\n" + victim + "  until: superseded", `f.yaml:8:3: until superseded needs tokens, and recipe none`},
	{"superseded by itself", "clients: 1\nclient-processes: 1\nfaults:\n- kind: pause\n  target: c1\n  trigger: between-read-and-write\n  until: superseded", `f.yaml:7:3: nobody can supersede the only client (clients: 2 or more)`},
	{"overlap", "faults:\n- kind: pause\n  target: zk1\n  at: 1s\n  for: 2s\n- kind: kill\n  target: zk1\n  at: 2s\n  for: 1s", `f.yaml:8:3: kill zk1 at 2s for 1s overlaps with pause zk1 at 1s for 2s on zk1`},
	{"overlap of repetitions", "duration: 20s\nfaults:\n- kind: pause\n  target: zk1\n  at: 1s\n  for: 2s\n  every: 4s\n- kind: kill\n  target: zk1\n  at: 14s\n  for: 1s", `f.yaml:10:3: kill zk1 at 14s for 1s overlaps with pause zk1 at 1s and every 4s for 2s on zk1`},
	{"overlap by role", "faults:\n- kind: pause\n  target: leader\n  at: 1s\n  for: 2s\n- kind: kill\n  target: zk2\n  at: 2s\n  for: 2s", `f.yaml:8:3: kill zk2 at 2s for 2s overlaps with pause leader at 1s for 2s on zk2, which may be leader`},
	{"overlap with a trigger", victim + "  for: 1s\n- kind: pause\n  target: c1\n  trigger: before-write\n  for: 1s", `f.yaml:10:3: pause c1 before write for 1s overlaps with`},

	// What is done again and again.
	{"again and again by a trigger", victim + "  for: 1s\n  every: 3s", `f.yaml:8:3: a trigger fires once, so pause cannot be repeated`},
	{"how often without when", "faults:\n- kind: pause\n  target: c1\n  at: 1s\n  for: 1s\n  repeat: 2", `f.yaml:6:3: repeat without every (every: 5s`},
	{"anew before it is over", "faults:\n- kind: pause\n  target: c1\n  at: 1s\n  for: 1T\n  every: 2s", `f.yaml:6:3: every 2s begins anew before 2s is over (every: 3s or more)`},
	{"again without end", "iterations: 9\nfaults:\n- kind: pause\n  target: c1\n  at: 1s\n  for: 1s\n  every: 2s", `f.yaml:7:3: every 2s without repeat needs to know when the run ends`},
	{"repeated too often", "faults:\n- kind: pause\n  target: c1\n  at: 1s\n  for: 1s\n  every: 2s\n  repeat: 1000", `f.yaml:7:3: repeat of 1000 is out of range`},
	{"all the time", "duration: 1h\nfaults:\n- kind: pause\n  target: c1\n  at: 1s\n  for: 1s\n  every: 2s", `f.yaml:7:3: every 2s is more than 200 times in a run of 1h`},
	{"the last one too late", "faults:\n- kind: pause\n  target: c1\n  at: 1s\n  for: 1s\n  every: 3s\n  repeat: 4", `f.yaml:5:3: pause c1 at 1s and every 3s for 1s does not fit: it ends after 11s`},

	// What is drawn.
	{"unknown schedule", "schedule: swarms", `f.yaml:1:11: unknown value "swarms" (did you mean swarm?)`},
	{"nothing to draw for", "fault-interval: 2s", `f.yaml:1:1: fault-interval is of faults that are drawn, and schedule explicit draws none (schedule: random or swarm`},
	{"drawn without an end", "schedule: random\niterations: 9", `f.yaml:1:1: a schedule that is drawn needs to know when the run ends`},
	{"drawn backwards", "schedule: random\nfault-length: 3s..1s", `f.yaml:2:1: fault-length of 3s..1s, which is 3s to 1s`},
	{"drawn backwards here", "schedule: random\nfault-length: 3s..1T", `f.yaml:2:1: fault-length of 3s..1T, which is 3s to 2s`},
	{"drawn too long", "schedule: random\nfault-length: 9s", `f.yaml:2:1: no fault of 9s fits into a run of 10s that leaves 2s for recovery (duration: 12s or more)`},
	{"drawn of no length", "schedule: random\nfault-length: 0..1s", `f.yaml:2:1: fault-length of 0s..1s: a fault must last`},
	{"drawn all the time", "schedule: random\nfault-interval: 10ms", `f.yaml:2:1: a fault every 10ms is more than 200 in a run of 10s`},
	{"half a range", "schedule: random\nfault-length: 1s..", `f.yaml:2:15: "" is not a length of time`},
	{"unknown kind to draw", "schedule: random\nfault-kinds: pause,kil", `f.yaml:2:14: unknown value "kil" (did you mean kill?)`},
	{"kind drawn twice", "schedule: random\nfault-kinds: pause,pause:2", `f.yaml:2:14: pause is given twice`},
	{"no weight", "schedule: random\nfault-kinds: pause:0", `f.yaml:2:14: "0" is not a weight`},
	{"weight a word", "schedule: random\nfault-kinds: pause:often", `f.yaml:2:14: "often" is not a weight`},
	{"endless liveness", "liveness: 2h", `f.yaml:1:11: liveness of 2h is out of range`},
	{"negative liveness", "liveness: -1s", `f.yaml:1:11: liveness of -1s is out of range`},

	// What is aimed at.
	{"followers of nobody", "servers: 1\nfaults:\n- kind: kill\n  target: minority\n  at: 1s\n  for: 1s", `f.yaml:4:3: a single server is neither leader nor follower`},
	{"holder of nothing", "section: none\nfaults:\n- kind: pause\n  target: holder\n  at: 1s\n  for: 1s", `f.yaml:4:3: section none comes to no point at which a holder could be hit`},
	{"triggered waiter", "faults:\n- kind: pause\n  target: waiter\n  trigger: before-write\n  for: 1s", `f.yaml:4:3: a trigger is for a client process by name, or for the holder, and not for waiter`},
	{"moving a holder", "faults:\n- kind: move-client\n  target: holder\n  at: 1s\n  for: 1s", `f.yaml:3:3: move-client is done by a client that runs`},
	{"holder's slow disk", "faults:\n- kind: slow-disk\n  target: holder\n  at: 1s\n  for: 1s", `f.yaml:3:3: slow-disk is for servers or all servers, and holder is a client process`},
}

func TestSeveralErrorsAtOnce(t *testing.T) {
	_, err := scenario.Load("f.yaml", []byte("clients: many\nguard: fnecing\nfaults:\n- kind: pause\n"))
	const want = `f.yaml:1:10: "many" is not a whole number (digits only, such as 16)
f.yaml:2:8: unknown value "fnecing" (did you mean fencing?)
f.yaml:4:3: a fault without target (a client process c1…cN, holder, head-waiter, waiter, any-client, all-clients, a server zk1…zkN, leader, follower, followers, any, majority, minority, holder-server, resource or all)
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
