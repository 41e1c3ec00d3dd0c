package workloads

import "time"

// A Burst is a recurring period: the first Length of each interval Every. The zero value never occurs.
type Burst struct {
	Length time.Duration `json:"length_ns,omitempty"`
	Every  time.Duration `json:"every_ns,omitempty"`
}

// In reports whether a time since the start is in the burst.
func (b Burst) In(elapsed time.Duration) bool { return b.Every > 0 && elapsed%b.Every < b.Length }

// A Resize changes a number to To and back at each interval Every. The zero value changes nothing.
type Resize struct {
	To    int           `json:"to,omitempty"`
	Every time.Duration `json:"every_ns,omitempty"`
}
