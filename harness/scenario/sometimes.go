package scenario

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/settings"
	"locklab/workloads"
	"locklab/workloads/lock"
)

// sometimesKey is the key of the conditions that must be met at least once.
const sometimesKey = "sometimes"

// sometimesOrigin names a condition in origins.
func sometimesOrigin(i int) string { return fmt.Sprintf("%s[%d]", sometimesKey, i) }

// conditions reads the list of conditions of a file.
func (l *loader) conditions(at *token.Token, v ast.Node) {
	known := check.ConditionNames()
	l.Sometimes = nil
	for _, entry := range l.list(sometimesKey, at, v, len(known), "entries like \"- "+known[0]+"\"") {
		name, ok := l.scalar(entry, named("a condition"))
		switch {
		case !ok:
		case !slices.Contains(known, name):
			l.refuse(entry.GetToken(), "unknown condition "+settings.Quote(name), settings.DidYouMean(name, known))
		case slices.Contains(l.Sometimes, name):
			l.refuse(entry.GetToken(), name+" is given twice", "once is enough")
		default:
			l.note(sometimesOrigin(len(l.Sometimes)), l.origin(entry.GetToken()))
			l.Sometimes = append(l.Sometimes, name)
		}
	}
}

// conditions checks that each condition is known and can be met.
func (v *validator) conditions() {
	for i, name := range v.Sometimes {
		at := sometimesOrigin(i)
		c, known := check.ConditionNamed(name)
		switch {
		case !known:
			v.refuse(by(at, sometimesKey), settings.DidYouMean(name, check.ConditionNames()), "unknown condition %s",
				settings.Quote(name))
		case slices.Contains(v.Sometimes[:i], name):
			v.refuse(by(at, sometimesKey), "once is enough", "%s is given twice", name)
		default:
			v.canMeet(at, c)
		}
	}
}

// withTokens is the hint for what only locks with tokens can show.
func (v *validator) withTokens() string {
	return "a recipe with tokens, such as " + lock.Default(v.Workload) + "; or leave it out of a copy of the scenario"
}

// canMeet refuses a condition that no run of the scenario can meet.
func (v *validator) canMeet(at string, c check.Condition) {
	never := func(key, hint, format string, args ...any) {
		v.refuse(by(at, key), hint, "%s can never be met: "+format, append([]any{c.Name}, args...)...)
	}
	switch {
	case c.Tokens && !v.HasTokens():
		never("recipe", v.withTokens(),
			"recipe %s gives no tokens by which an access is outdated", v.Recipe)
	case c.Accesses && v.Section == SectionNone:
		never("section", "section: counter", "section none leaves the resource alone")
	case c.Faults && !v.HasFaults():
		never("faults", "drop it, or add a fault", "the scenario has no faults")
	case c.Sharing && v.Workload != workloads.ReadWrite && v.Workload != workloads.Semaphore:
		never("workload", "workload: read-write or semaphore", "workload %s has only exclusive holds", v.Workload)
	case c.Several && v.Clients == 1:
		never("clients", "clients: 2 or more", "there is only one client")
	case c.Asks && !v.Protection().Asks():
		never("guard", "guard: lost-context or lease-clock", "guard %s never keeps a client from an access", v.Guard)
	case c.Fails == evidence.Effect && v.Protection().RefusesStale():
		never("guard", "guard: none, or drop it", "guard %s lets no outdated write through", v.Guard)
	case c.Fails != "" && v.Expected(c.Fails) == ExpectPass:
		v.refuse(by(at, "expect."+c.Fails), c.Fails+": fail, or any", "%s must pass, but then %s is never met",
			c.Fails, c.Name)
	}
}
