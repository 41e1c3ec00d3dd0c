package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"locklab/ensembles"
	"locklab/harness/check"
	"locklab/harness/check/counters"
	"locklab/harness/check/evidence"
	"locklab/harness/settings"
	"locklab/reports/words"
	"locklab/workloads"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
)

// rules are in the order of a file. To add one, add it here and a scenario that breaks it to testdata/refused.
var rules = []rule{
	// Clients, and the processes that they run in.
	{"clients client-processes", "{clients:client} for {client-processes:client process}",
		"at least one client in each process",
		func(s *Scenario) bool { return s.Clients < s.ClientProcesses }},
	{"victim-alone client-processes", "victim-alone leaves no process for {other-clients:other client}",
		"client-processes: 2 or more",
		func(s *Scenario) bool { return s.VictimAlone && s.ClientProcesses == 1 && s.Clients > 1 }},
	{"victims victim-alone", "victims says how many processes run one client, which needs victim-alone",
		"victim-alone: true",
		func(s *Scenario) bool { return s.Victims > 0 && !s.VictimAlone }},
	{"victims client-processes", "{victims:victim} of {client-processes:client process} leave none for the others",
		"more client-processes than victims",
		func(s *Scenario) bool { return s.VictimAlone && s.Victims >= s.ClientProcesses && s.Victims > 1 }},

	// An ensemble that locklab did not start.
	{"connect-ca connect-cert connect-key connect-auth connect",
		"connect-ca, connect-cert, connect-key and connect-auth say how to reach an ensemble, and connect names none",
		"connect: host:port",
		func(s *Scenario) bool {
			return s.Connect == "" && s.ConnectCA+s.ConnectCert+s.ConnectKey+s.ConnectAuth != ""
		}},
	{"connect-cert connect-key", "a certificate needs its key, and a key its certificate",
		"both connect-cert and connect-key",
		func(s *Scenario) bool { return (s.ConnectCert == "") != (s.ConnectKey == "") }},
	{"lab connect", "with connect, clients are processes of this machine or pods, and not of a lab of kind {lab}",
		"drop it, or lab: " + ensembles.LabKubernetes,
		func(s *Scenario) bool {
			return s.Connect != "" && s.Lab != ensembles.LabAuto && s.Lab != ensembles.LabKubernetes
		}},
	{"client-image connect", "with connect, clients are processes of this machine, which have no image",
		"drop it, or lab: " + ensembles.LabKubernetes,
		func(s *Scenario) bool {
			return s.Connect != "" && s.ClientImage != "" && s.Lab != ensembles.LabKubernetes
		}},
	{"recipe connect-auth", "recipe {recipe} connects without credentials", "another recipe, or drop connect-auth",
		func(s *Scenario) bool {
			return s.ConnectAuth != "" && slices.ContainsFunc(s.Recipes(), func(r lock.Recipe) bool { return r.Anonymous })
		}},
	{"connect servers", "connect names {connected:server}, and the scenario has {servers}",
		"drop servers, which is a setting of servers that locklab starts",
		func(s *Scenario) bool { return s.Connect != "" && s.connected() != s.Servers }},

	{"txnlog-dir connect", "txnlog-dir is of an ensemble that is already there, and connect names none",
		"connect: host:port", func(s *Scenario) bool { return s.TxnLogDir != "" && s.Connect == "" }},
	{"txnlog-dir connect", "txnlog-dir names {txnlog-dirs:path} for {connected:server}",
		"one directory for each server, or for the first ones, if they are a majority",
		func(s *Scenario) bool {
			n := len(s.TxnLogDirs())
			return s.Connect != "" && n > 0 && (n > s.connected() || n <= s.connected()/2)
		}},
	{"txnlog-dir", "txnlog-dir has an empty name", "one directory for each server, with commas in between",
		func(s *Scenario) bool { return slices.Contains(s.TxnLogDirs(), "") }},

	// When the run ends.
	{"iterations duration", "both duration and iterations say when the run ends", "give one of the two",
		func(s *Scenario) bool { return s.Duration > 0 && s.Iterations > 0 }},
	{"duration iterations", "neither duration nor iterations says when the run ends",
		"duration: 20s, or iterations: 100 for each client",
		func(s *Scenario) bool { return s.Duration == 0 && s.Iterations == 0 }},
	{"hold duration", "a hold of {hold} does not fit into a run of {duration}", "a shorter hold or a longer duration",
		func(s *Scenario) bool { return s.Duration > 0 && s.Hold.Mean() >= s.Duration }},
	{"term hold", "a term of {term} has no room for critical sections of {hold}",
		"a hold that is longer than 0 and shorter than the term",
		func(s *Scenario) bool { return s.Term > 0 && (s.Hold.Mean() == 0 || s.Hold.Mean() > s.Term) }},
	{"min-acquired iterations clients",
		"min-acquired is {min-acquired}, but the run has only {acquisitions:acquisition} in all",
		"at most clients × iterations",
		func(s *Scenario) bool { return s.Iterations > 0 && int64(s.MinAcquired) > s.acquisitions() }},

	// When acquisitions are due.
	{"rate arrivals", "in a closed loop a client asks again when it is done, so there is no rate",
		"arrivals: poisson, or think: 10ms for a pause between acquisitions",
		func(s *Scenario) bool { return !s.Open() && len(s.Rate.Rates) > 0 }},
	{"max-in-flight arrivals", "in a closed loop as many acquisitions are in flight as there are clients",
		"arrivals: poisson, or fewer clients",
		func(s *Scenario) bool { return !s.Open() && s.MaxInFlight > 0 }},
	{"queue arrivals", "in a closed loop nothing arrives that could wait", "arrivals: poisson, or drop it",
		func(s *Scenario) bool { return !s.Open() && s.Queue > 0 }},
	{"arrivals rate", "{arrivals} arrivals need a rate", "rate: 100 for 100 a second, over all clients",
		func(s *Scenario) bool { return s.Open() && len(s.Rate.Rates) == 0 }},
	{"think arrivals", "{arrivals} arrivals do not wait for clients to think", "drop it, or arrivals: closed",
		func(s *Scenario) bool { return s.Open() && s.Think != workloads.Distribution{} }},
	{"iterations arrivals", "{arrivals} arrivals come as long as the run lasts, not a number of times", "duration: 20s",
		func(s *Scenario) bool { return s.Open() && s.Iterations > 0 }},
	{"max-in-flight clients", "{max-in-flight} acquisitions cannot be in flight with {clients:client}",
		"at most as many as there are clients",
		func(s *Scenario) bool { return s.Open() && s.MaxInFlight > s.Clients }},
	{"max-in-flight client-processes",
		"max-in-flight of {max-in-flight} is too small for {client-processes:client process}",
		"at least one in each client process",
		func(s *Scenario) bool { return s.Open() && s.MaxInFlight > 0 && s.MaxInFlight < s.ClientProcesses }},

	// Which clients share a session, and which server they connect to.
	{"clients-per-session recipe", "clients of recipe {recipe}, which is a command, have a session each", "drop it",
		func(s *Scenario) bool { return s.ClientsPerSession > 1 && s.Foreign() }},
	{"clients-per-session clients",
		"{clients-per-session} clients should share a session, and the scenario has {clients:client}",
		"at most as many as there are clients",
		func(s *Scenario) bool { return s.ClientsPerSession > s.Clients }},
	// Only clients of one process can share a session.
	{"clients-per-session client-processes", "{clients-per-session} clients should share a session, " +
		"but no client process has more than {clients-of-a-process:client}",
		"fewer client-processes, or at most as many as a process has clients",
		func(s *Scenario) bool {
			return s.ClientsPerSession > s.clientsOfAProcess() && s.ClientsPerSession <= s.Clients &&
				s.Clients >= s.ClientProcesses
		}},
	{"placement servers", "a single server has no followers", "placement: spread, or servers: 3",
		func(s *Scenario) bool {
			return (s.Placement == PlacementFollowers || s.Placement == PlacementOwnFollower) && s.Servers == 1
		}},
	{"round-trip session-timeout",
		"a round trip of {round-trip} is more than a tenth of the session timeout of {negotiated}",
		"a shorter round-trip, or a longer session-timeout",
		func(s *Scenario) bool { return s.RoundTrip.Added > s.Negotiated()/10 }},
	{"round-trip fault-kinds schedule",
		"with round-trip, relays delay what clients send all the time, and schedule {schedule} may draw a latency",
		"fault-kinds: pause,kill, or others but latency",
		func(s *Scenario) bool { return s.RoundTrip.Relayed && s.planned().DrawsRelayed() }},
	{"min-session-timeout max-session-timeout tick",
		"min-session-timeout of {least-session} is above max-session-timeout of {longest-session}",
		"unset, they are 2 and 20 ticks",
		func(s *Scenario) bool { least, longest := s.SessionLimits(); return least > longest }},

	// How clients wait.
	{"try wait", "a try does not wait for {wait}", "give one of the two",
		func(s *Scenario) bool { return s.Try && s.Wait > 0 }},

	// What holders do with the resource.
	{"section workload", "no client writes under permits, so nothing is appended", "section: counter",
		func(s *Scenario) bool { return s.Section == SectionAppend && s.Workload == workloads.Semaphore }},
	{"guard section", "guard zk-multi keeps counters: a list in a znode would be written as a whole each time, " +
		"and a znode holds 1 MiB", "section: counter, or guard: fencing",
		func(s *Scenario) bool { return s.Section == SectionAppend && s.Guard == guard.ZKMulti }},
	{"section iterations rate",
		"up to {appended} elements would be appended, and the resource's lists hold {list-length}",
		"section: counter, or a shorter run",
		func(s *Scenario) bool { return s.Section == SectionAppend && s.appended() > workloads.MaxElements }},
	{"guard section", "guard {guard} has nothing to guard: section none leaves the resource alone",
		"guard: none, or section: counter",
		func(s *Scenario) bool { return s.Section == SectionNone && s.Guard != guard.None }},

	{"die-share recipe", "a client of recipe {recipe} has a connection that only it can cut", "recipe: mutex, or drop it",
		func(s *Scenario) bool {
			return s.DieShare > 0 && slices.ContainsFunc(s.Recipes(), func(r lock.Recipe) bool {
				return r.Foreign || r.OwnConnection
			})
		}},
	{"die-share clients-per-session", "{clients-per-session} clients share a session, which ends with the first that dies",
		"clients-per-session: 1", func(s *Scenario) bool { return s.DieShare > 0 && s.ClientsPerSession > 1 }},

	{"term section", "an element of a list is appended once in a hold, and a term has many critical sections",
		"section: counter",
		func(s *Scenario) bool { return s.Term > 0 && s.Section == SectionAppend }},

	// Permits.
	{"units permits", "an acquisition takes {units} units, and the semaphore has {permits:permit}",
		"at most as many as there are permits",
		func(s *Scenario) bool { return s.Workload == workloads.Semaphore && s.Units > s.Permits }},
	{"resize recipe", "the number of permits of recipe {recipe} does not change", "recipe: semaphore, or drop it",
		func(s *Scenario) bool {
			return s.resizes() && slices.ContainsFunc(s.Recipes(), func(r lock.Recipe) bool { return !r.Resizes })
		}},
	{"resize units", "an acquisition takes {units} units, and the semaphore has at times only {resized-permits:permit}",
		"at least as many permits as units",
		func(s *Scenario) bool { return s.resizes() && s.Units > s.Resize.To }},
	{"resize permits", "resize changes from {permits:permit} to {permits}, which is no change",
		"another number of permits",
		func(s *Scenario) bool { return s.resizes() && s.Resize.To == s.Permits }},
	{"resize duration", "a resize every {resize-interval} never happens in a run of {run-length}, warm-up included",
		"every 2s, or a longer duration",
		func(s *Scenario) bool {
			return s.resizes() && s.Iterations == 0 && s.Resize.Every >= s.Warmup+s.Duration
		}},

	// Readers and writers.
	{"downgrade-share read-share", "no client writes with a read-share of 1, so no writer goes on as a reader",
		"read-share: 0.9, or drop it",
		func(s *Scenario) bool { return s.readsOnly() && s.DowngradeShare > 0 }},

	// Servers.
	{"servers connect", "an ensemble of {servers:server} is not one that locklab starts", "1, 3 or 5",
		func(s *Scenario) bool { return s.Connect == "" && s.Servers != 1 && s.Servers != 3 && s.Servers != 5 }},
	{"zookeeper servers", "{versions} versions of ZooKeeper for {servers:server}",
		"one for all servers, or one for each; they are dealt in turn",
		func(s *Scenario) bool { return len(s.versions()) > s.Servers }},

	// Locks.
	{"locks-per-acquire locks", "an acquisition takes {locks-per-acquire} locks, and the scenario has {locks:lock}",
		"locks: 4",
		func(s *Scenario) bool { return s.Workload == workloads.MultiLock && s.LocksAtOnce > s.Locks }},
	{"lock-choice locks", "lock-choice {lock-choice} needs several locks to choose from", "locks: 16",
		func(s *Scenario) bool { return s.LockChoice.Zipf != 0 && s.Locks == 1 }},

	// What a recipe must be or have.
	{"client-image recipe", "client-image is for a recipe that is a command, and {recipe} is not", "recipe: exec:FILE",
		func(s *Scenario) bool { return s.ClientImage != "" && !s.Foreign() }},
	{"layout recipe", "layout is for a recipe that is a command, and {recipe} is not", "recipe: exec:FILE",
		func(s *Scenario) bool { return s.Layout != "" && s.Command() == nil }},
	{"layout workload", "workload {workload} has permits, and layout {layout} has none", "layout: semaphore, or drop it",
		func(s *Scenario) bool { return s.Layout != "" && !lock.Fits(s.Layout, s.Workload) }},
	{"observer recipe", "an observer sees which client is first, and the holders of recipe {recipe} have no order",
		"drop it",
		func(s *Scenario) bool { return s.Observer && s.Mix().Seen == lock.SeenNot }},

	// What the checks can find.
	{"expect.tokens recipe", "recipe {recipe} gives no tokens that could fail", "tokens: any",
		func(s *Scenario) bool { return s.Expect[evidence.Tokens] == ExpectFail && !s.HasTokens() }},
	{"expect.effect section", "effect must fail, but section none leaves the resource alone", "section: counter",
		func(s *Scenario) bool { return s.Expect[evidence.Effect] == ExpectFail && s.Section == SectionNone }},
	{"expect.service-exclusion clients", "service-exclusion must fail, but one client cannot overlap",
		"clients: 2 or more",
		func(s *Scenario) bool { return s.Expect[evidence.ServiceExclusion] == ExpectFail && s.Clients == 1 }},
	{"expect.belief-exclusion clients", "belief-exclusion must fail, but one client cannot overlap",
		"clients: 2 or more",
		func(s *Scenario) bool { return s.Expect[evidence.BeliefExclusion] == ExpectFail && s.Clients == 1 }},
	{"shown.overlaps clients", "overlaps must be shown, but one client cannot overlap", "clients: 2 or more",
		func(s *Scenario) bool { return s.Shown[counters.Overlaps] > 0 && s.Clients == 1 }},
	{"shown.lost_updates workload", "no client writes under permits, so no updates are lost", "shown: crowded",
		func(s *Scenario) bool {
			return s.Shown[counters.LostUpdates] > 0 && s.Workload == workloads.Semaphore
		}},
	{"expect", "any outcome of every check of the lock is accepted, no counter must be shown, and there are no " +
		"thresholds, so there is no verdict", "drop one, or give thresholds",
		func(s *Scenario) bool {
			decides := func(name string) bool { return name != evidence.ServiceLiveness && s.Expected(name) != ExpectAny }
			return !slices.ContainsFunc(check.Expectable(), decides) && len(s.Shown) == 0 && len(s.Thresholds) == 0
		}},
}

// A rule is a contradiction between keys. The table rules has those that depend on the values of keys alone.
type rule struct {
	keys string // with spaces between them; the first is at fault
	// msg is the message. In braces it names keys, and terms, whose values are put there. A noun after a colon, as in
	// {clients:client}, is what the value counts.
	msg    string
	hint   string
	broken func(s *Scenario) bool
}

// rules refuses what breaks the rules of the table.
func (v *validator) rules() {
	for _, r := range rules {
		if r.broken(v.Scenario) {
			v.refuse(strings.Fields(r.keys), r.hint, "%s", v.fill(r.msg))
		}
	}
}

var blank = regexp.MustCompile(`\{[a-z-]+(:[a-z ]+)?\}`)

// fill puts the values of keys and terms into a message.
func (s *Scenario) fill(msg string) string {
	return blank.ReplaceAllStringFunc(msg, func(name string) string {
		name, noun, counted := strings.Cut(strings.Trim(name, "{}"), ":")
		text := s.Text(name)
		if term, ok := terms[name]; ok {
			text = fmt.Sprint(term(s))
		}
		if n, err := strconv.ParseInt(text, 10, 64); counted && err == nil {
			return words.Count(n, noun)
		}
		return text
	})
}

// terms are values in messages that are computed from the values of keys.
var terms = map[string]func(*Scenario) any{
	"other-clients":        func(s *Scenario) any { return s.Clients - 1 },
	"txnlog-dirs":          func(s *Scenario) any { return len(s.TxnLogDirs()) },
	"versions":             func(s *Scenario) any { return len(s.versions()) },
	"connected":            func(s *Scenario) any { return s.connected() },
	"clients-of-a-process": func(s *Scenario) any { return s.clientsOfAProcess() },
	"acquisitions":         func(s *Scenario) any { return s.acquisitions() },
	"run-length":           func(s *Scenario) any { return settings.FormatDuration(s.Warmup + s.Duration) },
	"appended":             func(s *Scenario) any { return settings.FormatNumber(s.appended()) },
	"list-length":          func(*Scenario) any { return workloads.MaxElements },
	"resized-permits":      func(s *Scenario) any { return s.Resize.To },
	"resize-interval":      func(s *Scenario) any { return settings.FormatDuration(s.Resize.Every) },
	"negotiated":           func(s *Scenario) any { return settings.FormatDuration(s.Negotiated()) },
	"least-session": func(s *Scenario) any {
		least, _ := s.SessionLimits()
		return settings.FormatDuration(least)
	},
	"longest-session": func(s *Scenario) any {
		_, longest := s.SessionLimits()
		return settings.FormatDuration(longest)
	},
}

// acquisitions returns how many acquisitions a run of so many iterations has.
func (s *Scenario) acquisitions() int64 { return int64(s.Clients) * int64(s.Iterations) }

func (s *Scenario) clientsOfAProcess() int { return slices.Max(append(s.ClientsPerProcess(), 1)) }

// appended returns how many elements the clients append at most, as far as that is planned.
func (s *Scenario) appended() float64 {
	most := float64(s.acquisitions())
	if s.Open() {
		for _, r := range s.Rate.Rates {
			most = max(most, r*(s.Warmup+s.Duration).Seconds())
		}
	}
	if s.Workload == workloads.MultiLock {
		most *= float64(s.LocksAtOnce)
	}
	return most
}

// resizes reports whether the number of permits changes during the run.
func (s *Scenario) resizes() bool { return s.Workload == workloads.Semaphore && s.Resize.Every > 0 }

// readsOnly reports whether no client writes.
func (s *Scenario) readsOnly() bool { return s.Workload == workloads.ReadWrite && s.ReadShare == 1 }
