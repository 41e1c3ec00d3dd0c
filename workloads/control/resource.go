package control

import "net/netip"

// ResourcePort is where the resource serves clients, on its own host.
const ResourcePort = 7100

// ResourceConfig is what a resource process is started with, as JSON.
type ResourceConfig struct {
	Host string `json:"host"`
	// Address is the address of the host, on whose ResourcePort the resource serves.
	Address netip.Addr `json:"address"`
	// Fencing makes the resource refuse stale tokens: see resource.New.
	Fencing bool `json:"fencing"`
	// Resume lists the directories of the records of the resources that it takes over from, oldest first.
	Resume []string `json:"resume,omitempty"`
	// Lists makes each lock protect a list instead of a counter.
	Lists bool `json:"lists,omitempty"`

	_ struct{}
}
