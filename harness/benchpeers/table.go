package benchpeers

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"locklab/harness/rundir"
	"locklab/reports/words"
)

// A cell names what is measured together: a peer with a number of clients.
type cell struct {
	peer    string
	clients int
}

// A Result has the rounds of a peer with a number of clients, and their medians. With one client nothing contends.
type Result struct {
	Peer    string `json:"peer"`
	Clients int    `json:"clients"`
	Sample
	// Slowest and Fastest are the rounds' extremes of the acquisitions per second.
	Slowest float64 `json:"acquisitions_per_s_min"`
	Fastest float64 `json:"acquisitions_per_s_max"`
	// Ratio is its acquisitions per second over Curator's.
	Ratio  *float64 `json:"over_curator,omitempty"`
	Rounds []Sample `json:"rounds"`
}

// add computes the results in the order of the table.
func (c *Comparison) add(clients []int, samples map[cell][]Sample) {
	for _, n := range clients {
		for _, peer := range Peers {
			c.Cells = append(c.Cells, summarize(peer, n, samples[cell{peer, n}]))
		}
		row := c.Cells[len(c.Cells)-len(Peers):]
		for i := range row {
			if curators := row[len(row)-1].PerSecond; curators > 0 {
				ratio := row[i].PerSecond / curators
				row[i].Ratio = &ratio
			}
		}
	}
}

func summarize(peer string, clients int, rounds []Sample) Result {
	r := Result{Peer: peer, Clients: clients, Rounds: rounds}
	r.Acquisitions = *medianOf(rounds, func(s Sample) *int { return &s.Acquisitions })
	r.PerSecond = *medianOf(rounds, func(s Sample) *float64 { return &s.PerSecond })
	r.AcquireP50 = medianOf(rounds, func(s Sample) *int64 { return s.AcquireP50 })
	r.AcquireP99 = medianOf(rounds, func(s Sample) *int64 { return s.AcquireP99 })
	r.HandOffP50 = medianOf(rounds, func(s Sample) *int64 { return s.HandOffP50 })
	r.CPU = medianOf(rounds, func(s Sample) *int64 { return s.CPU })
	r.Resident = *medianOf(rounds, func(s Sample) *int64 { return &s.Resident })
	r.Requests = *medianOf(rounds, func(s Sample) *float64 { return &s.Requests })
	r.Watches = *medianOf(rounds, func(s Sample) *float64 { return &s.Watches })
	rate := func(a, b Sample) int { return cmp.Compare(a.PerSecond, b.PerSecond) }
	r.Slowest, r.Fastest = slices.MinFunc(rounds, rate).PerSecond, slices.MaxFunc(rounds, rate).PerSecond
	return r
}

// medianOf returns the middle value; of an even number, the lower of the two in the middle; nil if a round does not
// know its value.
func medianOf[T cmp.Ordered](rounds []Sample, of func(Sample) *T) *T {
	var all []T
	for _, s := range rounds {
		v := of(s)
		if v == nil {
			return nil
		}
		all = append(all, *v)
	}
	slices.Sort(all)
	return &all[(len(all)-1)/2]
}

// Print writes the table.
func (c *Comparison) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "clients\tpeer\tacquired/s\tmin…max\tover Curator\tacquire p50\tp99\thand-off p50\t"+
		"requests\twatches\tCPU/acquisition\tresident\t")
	for _, r := range c.Cells {
		ratio := ""
		if r.Ratio != nil {
			ratio = fmt.Sprintf("%.2f×", *r.Ratio)
		}
		fmt.Fprintf(t, "%d\t%s\t%.0f\t%.0f…%.0f\t%s\t%s\t%s\t%s\t%.2f\t%.2f\t%s\t%d MiB\t\n",
			r.Clients, names[r.Peer], r.PerSecond, r.Slowest, r.Fastest, ratio,
			duration(r.AcquireP50), duration(r.AcquireP99), duration(r.HandOffP50),
			r.Requests, r.Watches, duration(r.CPU), r.Resident>>20)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	medians := "medians"
	if c.Rounds%2 == 0 {
		medians = "low medians" // see medianOf
	}
	_, err := fmt.Fprintf(w, "\nZooKeeper %s, %d servers; %s of %d rounds of %s after %s of warm-up; "+
		"requests and watches are per acquisition, by the servers' counters.\n", c.ZooKeeper, c.Servers,
		medians, c.Rounds, time.Duration(c.MeasureNs), time.Duration(c.WarmupNs))
	return err
}

// names has the names of the peers in the table.
var names = map[string]string{
	Mutex:        "recipes.Mutex",
	SparseMutex:  "… SparseLists",
	ZKLock:       "zk.Lock",
	CuratorMutex: "InterProcessMutex",
}

func duration(ns *int64) string {
	if ns == nil {
		return words.Absent
	}
	return words.Duration(*ns)
}

// Write replaces the JSON file.
func (c *Comparison) Write(name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return rundir.WriteJSON(name, c)
}
