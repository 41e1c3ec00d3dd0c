package chaos

import (
	"fmt"
	"slices"

	"locklab/ensembles/agent"
)

// Elsewhere returns why the fault cannot be injected in a run on an ensemble that locklab did not start, whose clients
// are processes of this machine; empty if it can. words are the four-letter words that the servers allow.
func (f Fault) Elsewhere(words []string) string {
	k := f.kind()
	switch {
	case f.HitsServer() && k.Family != FamilyZnode: // faults of znodes strike only the run's own
		return "it strikes servers, and the servers of --connect are not locklab's to harm"
	case f.relayed():
		return ""
	case slices.Contains(f.Capabilities(), agent.CapNetAdmin):
		return "it needs network rules, and the clients share the network of this machine, whose rules are not touched"
	case k.Word != "" && !slices.Contains(words, k.Word):
		return fmt.Sprintf("not all servers allow the four-letter word %s, which shows whether it is in force", k.Word)
	}
	return ""
}
