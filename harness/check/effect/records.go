package effect

import (
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// A FaultRecord is one fault as it really happened, from the harness's events.
type FaultRecord struct {
	ID           string `json:"id"`
	Kind         string `json:"kind"`
	Target       string `json:"target"` // hosts, separated by commas
	RequestedNs  *int64 `json:"requested_ns"`
	InjectedNs   *int64 `json:"injected_ns"` // nil if it never was injected
	Verified     bool   `json:"verified"`
	HealedNs     *int64 `json:"healed_ns"`
	HealVerified bool   `json:"heal_verified"`
	Unsupported  bool   `json:"unsupported,omitempty"` // the machine could not do it
	Detail       string `json:"detail,omitempty"`      // what went wrong
	// Done says to which znodes or sessions it was done, or which version of ZooKeeper came in the place of which; empty
	// for faults that harm only hosts.
	Done string         `json:"done,omitempty"`
	Harm *evidence.Harm `json:"harm,omitempty"` // nil if it never was injected, or if that could not be judged
	// Holders are the clients that held a lock when the fault struck the server that they were connected to.
	Holders []HolderHarm `json:"holders,omitempty"`
}

// HolderHarm is what the checks put down to one fault and one client that held a lock when it struck.
type HolderHarm struct {
	Client string `json:"client"`
	evidence.Harm
}

// FaultRecords returns the faults of a run, without their harm.
func FaultRecords(d *evidence.Digest) []FaultRecord {
	all := make([]FaultRecord, 0, len(d.Faults))
	for _, f := range d.Faults {
		all = append(all, FaultRecord{
			ID: f.ID, Kind: f.Kind, Target: f.Target, Detail: f.Detail, Done: f.Done, Unsupported: f.Unsupported,
			RequestedNs: instant(f.Requested), InjectedNs: instant(f.Injected), HealedNs: instant(f.Healed),
			Verified: f.Verified != history.None, HealVerified: f.HealVerified != history.None,
		})
	}
	return all
}

func instant(at int64) *int64 {
	if at == history.None {
		return nil
	}
	return &at
}
