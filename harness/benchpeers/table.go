package main

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
	"locklab/workloads/lock"
)

// A Result has the rounds of a peer with a number of clients, and their medians. With one client nothing contends.
type Result struct {
	Peer    string `json:"peer"`
	Clients int    `json:"clients"`
	Sample
	// Slowest and Fastest are the rounds' extremes of the acquisitions per second.
	Slowest float64 `json:"acquisitions_per_s_min"`
	Fastest float64 `json:"acquisitions_per_s_max"`
	// Ratio is the median of its acquisitions per second over Curator's in the same round.
	Ratio    *float64 `json:"over_curator,omitempty"`
	RatioMin *float64 `json:"over_curator_min,omitempty"`
	RatioMax *float64 `json:"over_curator_max,omitempty"`
	Rounds   []Sample `json:"rounds"`
}

// summarize computes the medians of all cells from their rounds. Curator's is the last of each row of peers.
func (c *Comparison) summarize() {
	for row := range slices.Chunk(c.Cells, len(Peers[c.Lock])) {
		curators := row[len(row)-1].Rounds
		for i := range row {
			row[i].summarize()
			var ratios []float64
			for round, s := range row[i].Rounds {
				if curators[round].PerSecond > 0 {
					ratios = append(ratios, s.PerSecond/curators[round].PerSecond)
				}
			}
			if len(ratios) > 0 {
				slices.Sort(ratios)
				row[i].Ratio, row[i].RatioMin, row[i].RatioMax = &ratios[(len(ratios)-1)/2], &ratios[0], &ratios[len(ratios)-1]
			}
		}
	}
}

func (r *Result) summarize() {
	r.Acquisitions = *medianOf(r.Rounds, func(s Sample) *int { return &s.Acquisitions })
	r.PerSecond = *medianOf(r.Rounds, func(s Sample) *float64 { return &s.PerSecond })
	r.AcquireMean = medianOf(r.Rounds, func(s Sample) *int64 { return s.AcquireMean })
	r.AcquireP50 = medianOf(r.Rounds, func(s Sample) *int64 { return s.AcquireP50 })
	r.AcquireP99 = medianOf(r.Rounds, func(s Sample) *int64 { return s.AcquireP99 })
	r.HandOffP50 = medianOf(r.Rounds, func(s Sample) *int64 { return s.HandOffP50 })
	r.CPU = medianOf(r.Rounds, func(s Sample) *int64 { return s.CPU })
	r.Resident = *medianOf(r.Rounds, func(s Sample) *int64 { return &s.Resident })
	r.Requests = *medianOf(r.Rounds, func(s Sample) *float64 { return &s.Requests })
	r.Watches = *medianOf(r.Rounds, func(s Sample) *float64 { return &s.Watches })
	rate := func(a, b Sample) int { return cmp.Compare(a.PerSecond, b.PerSecond) }
	r.Slowest, r.Fastest = slices.MinFunc(r.Rounds, rate).PerSecond, slices.MaxFunc(r.Rounds, rate).PerSecond
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
	fmt.Fprintln(t, "clients\tpeer\tacquired/s\tmin…max\tover Curator\tacquire mean\tp50\tp99\thand-off p50\t"+
		"requests\twatches\tCPU/acquisition\tresident\t")
	for _, r := range c.Cells {
		ratio := ""
		if r.Ratio != nil {
			ratio = fmt.Sprintf("%.2f× (%.2f…%.2f)", *r.Ratio, *r.RatioMin, *r.RatioMax)
		}
		fmt.Fprintf(t, "%d\t%s\t%.0f\t%.0f…%.0f\t%s\t%s\t%s\t%s\t%s\t%.2f\t%.2f\t%s\t%d MiB\t\n",
			r.Clients, nameOf(r.Peer), r.PerSecond, r.Slowest, r.Fastest, ratio,
			duration(r.AcquireMean), duration(r.AcquireP50), duration(r.AcquireP99), duration(r.HandOffP50),
			r.Requests, r.Watches, duration(r.CPU), r.Resident>>20)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	medians := "medians"
	if c.Rounds%2 == 0 {
		medians = "low medians" // see medianOf
	}
	locks := "one lock"
	if c.Locks != 1 {
		locks = fmt.Sprintf("%d locks", c.Locks)
	}
	_, err := fmt.Fprintf(w, "\n%s%s; ZooKeeper %s, %d servers; %s of %d rounds of %s after %s of warm-up; "+
		"requests and watches are per acquisition, by the servers' counters.\n", locks, terms[c.Lock], c.ZooKeeper,
		c.Servers, medians, c.Rounds, time.Duration(c.MeasureNs), time.Duration(c.WarmupNs))
	return err
}

// nameOf returns the name of a peer in the table.
func nameOf(peer string) string {
	if r, ok := lock.Find(peer); ok && r.Version != "" {
		return names[r.Unversioned()] + " " + r.Version
	}
	return names[peer]
}

// names has the names of the peers in the table, without their versions.
var names = map[string]string{
	Mutex:            "recipes.Mutex",
	ZKLock:           "zk.Lock",
	KazooLock:        "kazoo's Lock",
	CuratorMutex:     "InterProcessMutex",
	RW:               "recipes.RW",
	CuratorRW:        "InterProcessReadWriteLock",
	Semaphore:        "recipes.Semaphore",
	CuratorSemaphore: "InterProcessSemaphoreV2",
}

// terms says how the clients use a lock, where that is not plain.
var terms = map[string]string{
	RW:        fmt.Sprintf(", one of %d acquisitions is a writer's", writeEvery),
	Semaphore: fmt.Sprintf(" of %d permits, acquired one at a time", permits),
}

func duration(ns *int64) string { return words.Known(ns, words.Duration) }

// Write replaces the JSON file.
func (c *Comparison) Write(name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return rundir.WriteJSON(name, c)
}
