package chaos

import (
	"slices"
	"strings"

	"locklab/harness/settings"
)

// Targets is a set of classes of hosts that faults can strike.
type Targets uint8

// The classes of hosts that faults can strike.
const (
	OnServer   Targets = 1 << iota // one server or several
	OnClient                       // one client process or several
	OnResource                     // the resource
	OnAll                          // the ensemble as one, all of its servers
)

// A Target says where a fault strikes. It is the name of a host (c1…cN, zk1…zkN), or one of the roles below, which
// are looked up when the fault strikes.
type Target string

// The roles.
const (
	TargetLeader    Target = "leader"
	TargetFollower  Target = "follower"  // one of them
	TargetFollowers Target = "followers" // all of them
	TargetAny       Target = "any"       // a server, drawn
	TargetMajority  Target = "majority"  // more than half of the servers, drawn
	TargetMinority  Target = "minority"  // less than half of the servers, as many as there can be, drawn

	TargetHolder       Target = "holder"        // the process of a client that holds a lock
	TargetHeadWaiter   Target = "head-waiter"   // the process of the client that is next
	TargetWaiter       Target = "waiter"        // the process of a client that waits
	TargetAnyClient    Target = "any-client"    // a client process, drawn
	TargetAllClients   Target = "all-clients"   // all client processes
	TargetHolderServer Target = "holder-server" // the server that a holder's session is connected to

	TargetResource Target = "resource" // the host of the resource
	TargetAll      Target = "all"      // all servers
)

// A role describes a target that is not the name of a host.
type role struct {
	name Target
	is   Targets
	// ofSeveral says that a single server does not have the role.
	ofSeveral bool
	// undrawn says that random schedules do not use the role, because the fault would find no target, or would leave
	// no client to measure.
	undrawn bool
}

var roles = []role{
	{name: TargetLeader, is: OnServer, ofSeveral: true},
	{name: TargetFollower, is: OnServer, ofSeveral: true},
	{name: TargetFollowers, is: OnServer, ofSeveral: true},
	{name: TargetAny, is: OnServer},
	{name: TargetMajority, is: OnServer, ofSeveral: true},
	{name: TargetMinority, is: OnServer, ofSeveral: true},
	{name: TargetHolderServer, is: OnServer},
	{name: TargetHolder, is: OnClient},
	{name: TargetHeadWaiter, is: OnClient, undrawn: true},
	{name: TargetWaiter, is: OnClient},
	{name: TargetAnyClient, is: OnClient},
	{name: TargetAllClients, is: OnClient, undrawn: true},
	{name: TargetResource, is: OnResource},
	{name: TargetAll, is: OnAll},
}

// drawnTargets returns the roles that a random schedule uses for a kind.
func drawnTargets(t Targets) []Target {
	var names []Target
	for _, r := range roles {
		if t&r.is != 0 && !r.undrawn {
			names = append(names, r.name)
		}
	}
	return names
}

// role returns the target's role; not ok for the name of a host.
func (t Target) role() (role, bool) {
	i := slices.IndexFunc(roles, func(r role) bool { return r.name == t })
	if i < 0 {
		return role{}, false
	}
	return roles[i], true
}

// IsHost reports whether the target is the name of a host.
func (t Target) IsHost() bool {
	_, isRole := t.role()
	return !isRole
}

// class returns the class that the target belongs to; 0 if it is not a target.
func (t Target) class() Targets {
	switch {
	case t.number("c") > 0:
		return OnClient
	case t.number("zk") > 0:
		return OnServer
	}
	r, _ := t.role()
	return r.is
}

// number returns the N of the host prefixN, and 0 for other targets.
func (t Target) number(prefix string) int {
	digits, ok := strings.CutPrefix(string(t), prefix)
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

// mayBeSame reports whether two targets may be the same host.
func mayBeSame(a, b Target) bool {
	if a.IsHost() && b.IsHost() {
		return a == b
	}
	either := func(t Targets) Targets {
		if t&(OnServer|OnAll) != 0 {
			t |= OnServer | OnAll
		}
		return t
	}
	return either(a.class())&either(b.class()) != 0
}

// MarshalText implements [encoding.TextMarshaler].
func (t Target) MarshalText() ([]byte, error) { return []byte(t), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (t *Target) UnmarshalText(text []byte) error {
	if Target(text).class() == 0 {
		return settings.Errorf(anyTarget().choices(), "unknown target %s", settings.Quote(string(text)))
	}
	*t = Target(text)
	return nil
}

// Schema implements [settings.Schemer].
func (Target) Schema() settings.Schema { return anyTarget().Schema() }

// A targetClass describes one bit of Targets in words.
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

func (t Targets) classes() []targetClass {
	var in []targetClass
	for _, c := range targetClasses {
		if t&c.is != 0 {
			in = append(in, c)
		}
	}
	return in
}

// String names the classes: "client processes or servers".
func (t Targets) String() string {
	var words []string
	for _, c := range t.classes() {
		words = append(words, c.several)
	}
	return anyOf(words)
}

// Choices says what a scenario can have as the target: "a server zk1…zkN, leader or follower".
func (t Targets) choices() string {
	var words []string
	for _, c := range t.classes() {
		if c.hosts != "" {
			words = append(words, c.hosts)
		}
		for _, r := range roles {
			if r.is == c.is {
				words = append(words, string(r.name))
			}
		}
	}
	return anyOf(words)
}

// Schema returns the schema of the targets in the set.
func (t Targets) Schema() settings.Schema {
	var alternatives []string
	for _, c := range t.classes() {
		if c.pattern != "" {
			alternatives = append(alternatives, c.pattern)
		}
		for _, r := range roles {
			if r.is == c.is {
				alternatives = append(alternatives, string(r.name))
			}
		}
	}
	return settings.TextSchema(`^(` + strings.Join(alternatives, "|") + `)$`)
}

// anyTarget returns every class that some kind can strike.
func anyTarget() Targets {
	var all Targets
	for _, k := range known().kinds {
		all |= k.Targets
	}
	return all
}

// only names the one class of the set: "a server".
func (t Targets) only() string {
	if in := t.classes(); len(in) == 1 {
		return in[0].one
	}
	return t.String()
}
