package workloads

import "time"

// A Resize changes a number to To and back at each interval Every. The zero value changes nothing.
type Resize struct {
	To    int           `json:"to,omitempty"`
	Every time.Duration `json:"every_ns,omitempty"`
}
