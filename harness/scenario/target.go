package scenario

import (
	"slices"
	"strings"
)

// Targets is a set of what faults can be aimed at.
type Targets uint8

// What faults can be aimed at.
const (
	OnServer   Targets = 1 << iota // one server or several
	OnClient                       // one client process or several
	OnResource                     // the resource
	OnAll                          // the ensemble as one, all of its servers
)

// The targets that are selectors, resolved when the fault strikes. The others are hosts: c1…cN
// and zk1…zkN.
const (
	TargetLeader    = "leader"
	TargetFollower  = "follower"  // one of them
	TargetFollowers = "followers" // all of them
	TargetAny       = "any"       // a server, drawn
	TargetMajority  = "majority"  // more than half of the servers, drawn
	TargetMinority  = "minority"  // less than half of the servers, as many as there can be, drawn

	TargetHolder       = "holder"        // the process of a client that holds a lock
	TargetHeadWaiter   = "head-waiter"   // the process of the client that is next
	TargetWaiter       = "waiter"        // the process of a client that waits
	TargetAnyClient    = "any-client"    // a client process, drawn
	TargetAllClients   = "all-clients"   // all client processes
	TargetHolderServer = "holder-server" // the server that a holder's session is connected to

	TargetResource = "resource" // the host of the resource
	TargetAll      = "all"      // all servers
)

// A targetName is a target that is not a host's name.
type targetName struct {
	name string
	is   Targets
	// company says that it makes sense only beside other servers.
	company bool
	// undrawn says that a random schedule does not aim at it: the run would come to nothing
	// if it is not there, or nothing would be left.
	undrawn bool
}

var targetNames = []targetName{
	{name: TargetLeader, is: OnServer, company: true},
	{name: TargetFollower, is: OnServer, company: true},
	{name: TargetFollowers, is: OnServer, company: true},
	{name: TargetAny, is: OnServer},
	{name: TargetMajority, is: OnServer, company: true},
	{name: TargetMinority, is: OnServer, company: true},
	{name: TargetHolderServer, is: OnServer},
	{name: TargetHolder, is: OnClient},
	{name: TargetHeadWaiter, is: OnClient, undrawn: true},
	{name: TargetWaiter, is: OnClient},
	{name: TargetAnyClient, is: OnClient},
	{name: TargetAllClients, is: OnClient, undrawn: true},
	{name: TargetResource, is: OnResource},
	{name: TargetAll, is: OnAll},
}

// drawnTargets are those that a random schedule aims a kind at.
func drawnTargets(t Targets) []string {
	var names []string
	for _, n := range targetNames {
		if t&n.is != 0 && !n.undrawn {
			names = append(names, n.name)
		}
	}
	return names
}

// mayBeSame reports whether two targets may come to the same host.
func mayBeSame(a, b string) bool {
	isHost := func(name string) bool { return Fault{Target: name}.HitsHost() }
	if isHost(a) && isHost(b) {
		return a == b
	}
	either := func(t Targets) Targets {
		if t&(OnServer|OnAll) != 0 {
			t |= OnServer | OnAll
		}
		return t
	}
	return either(targetsOf(a))&either(targetsOf(b)) != 0
}

// targetsOf returns what the name of a target is one of; 0 for no target.
func targetsOf(name string) Targets {
	switch {
	case hostNumber(name, "c") > 0:
		return OnClient
	case hostNumber(name, "zk") > 0:
		return OnServer
	}
	if i := slices.IndexFunc(targetNames, func(t targetName) bool { return t.name == name }); i >= 0 {
		return targetNames[i].is
	}
	return 0
}

// A targetClass is what is said of one bit of Targets.
type targetClass struct {
	is           Targets
	one, several string // "a client process", "client processes"
	hosts        string // as in hints
	pattern      string // of its hosts, as in schemas
}

var targetClasses = []targetClass{
	{OnClient, "a client process", "client processes", "a client process c1…cN", `c[1-9][0-9]{0,5}`},
	{OnServer, "a server", "servers", "a server zk1…zkN", `zk[1-9][0-9]{0,5}`},
	{OnResource, "the resource", "the resource", "", ""},
	{OnAll, "all servers", "all servers", "", ""},
}

// classes returns those of the set.
func (t Targets) classes() []targetClass {
	var in []targetClass
	for _, c := range targetClasses {
		if t&c.is != 0 {
			in = append(in, c)
		}
	}
	return in
}

// String says what they are: "client processes or servers".
func (t Targets) String() string {
	var words []string
	for _, c := range t.classes() {
		words = append(words, c.several)
	}
	return oneOfWords(words)
}

// choices says what can be written: "a server zk1…zkN, leader or follower".
func (t Targets) choices() string {
	var words []string
	for _, c := range t.classes() {
		if c.hosts != "" {
			words = append(words, c.hosts)
		}
		for _, n := range targetNames {
			if n.is == c.is {
				words = append(words, n.name)
			}
		}
	}
	return oneOfWords(words)
}

// pattern matches what can be written.
func (t Targets) pattern() string {
	var alternatives []string
	for _, c := range t.classes() {
		if c.pattern != "" {
			alternatives = append(alternatives, c.pattern)
		}
		for _, n := range targetNames {
			if n.is == c.is {
				alternatives = append(alternatives, n.name)
			}
		}
	}
	return `^(` + strings.Join(alternatives, "|") + `)$`
}

// anyTarget is what some kind can be aimed at.
func anyTarget() Targets {
	var all Targets
	for _, k := range faultTable() {
		all |= k.Targets
	}
	return all
}

// only names the one class of a target: "a server".
func (t Targets) only() string {
	if in := t.classes(); len(in) == 1 {
		return in[0].one
	}
	return t.String()
}

// HitsClient reports whether the target is a client process.
func (f Fault) HitsClient() bool { return targetsOf(f.Target) == OnClient }

// HitsServer reports whether the target is a server, by name or by role, or all of them.
func (f Fault) HitsServer() bool { return targetsOf(f.Target)&(OnServer|OnAll) != 0 }

// HitsHost reports whether the target is the name of a host.
func (f Fault) HitsHost() bool {
	return !slices.ContainsFunc(targetNames, func(t targetName) bool { return t.name == f.Target })
}

// HitsHolder reports whether the fault is aimed at a client while it holds a lock.
func (f Fault) HitsHolder() bool { return f.Trigger != "" || f.Target == TargetHolder }

// HitsWaiter reports whether the fault is aimed at a client while it waits for a lock.
func (f Fault) HitsWaiter() bool { return f.Target == TargetWaiter || f.Target == TargetHeadWaiter }

// needsCompany reports whether the target is a role that a single server does not have.
func (f Fault) needsCompany() bool {
	return slices.ContainsFunc(targetNames, func(t targetName) bool { return t.name == f.Target && t.company })
}

// hostNumber returns the N of prefixN, 0 if that is not what name is.
func hostNumber(name, prefix string) int {
	digits, ok := strings.CutPrefix(name, prefix)
	if !ok || digits == "" || len(digits) > 6 || digits[0] == '0' {
		return 0
	}
	n := 0
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0
		}
		n = 10*n + int(c-'0')
	}
	return n
}

type targetValue struct{ p *string }

func (v targetValue) String() string { return *v.p }
func (v targetValue) Set(text string) error {
	if targetsOf(text) == 0 {
		return &valueError{msg: "unknown target " + quote(text), hint: anyTarget().choices()}
	}
	*v.p = text
	return nil
}

func (targetValue) schema(Key) object { return text(anyTarget().pattern()) }
