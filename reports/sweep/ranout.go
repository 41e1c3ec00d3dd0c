package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"locklab/reports/capacity"
	"locklab/reports/result"
	"locklab/reports/words"
)

// RanOut says which resource of a series was used up first, as the load grew. It never guesses: where the numbers do
// not tell, Resource is empty and Why says so.
type RanOut struct {
	Resource string `json:"resource"` // one of the names of resources
	// At is the point with the lowest load at which a resource was used up, or else the highest load that was measured.
	At  string `json:"at"`
	Why string `json:"why"`
	// Uses is what was used there of each resource.
	Uses []Use `json:"uses"`
}

// A Use is what was used of a resource, as a share of what there is. Both are null if that was not measured, and differ
// if it was not measured exactly.
type Use struct {
	Resource string   `json:"resource"`
	Least    *float64 `json:"least"`
	Most     *float64 `json:"most"`

	text string // how it is said; empty = as a percentage
}

// The resources.
const (
	LoadCPU   = "load side CPU"
	ServerCPU = "server CPU"
	Fsync     = "fsync"
	HandOff   = "hand-off"
	TheLock   = "the lock itself"
)

// usesOf returns what runs with these medians used. The load side and the servers of a lab share the processors of one
// machine, so that they are used up together, and the lock is either held, handed over, or free.
func usesOf(medians map[string]float64) []Use {
	known := func(name string) *float64 {
		if v, ok := medians[name]; ok {
			return &v
		}
		return nil
	}
	of := func(resource, name string) Use {
		u := Use{Resource: resource}
		if used, all := known(name), known("processors"); used != nil && all != nil && *all > 0 {
			share := *used / *all
			u.Least, u.Most = &share, &share
			u.text = fmt.Sprintf("%s of %s processors", words.Digits3(*used), words.Digits3(*all))
		}
		return u
	}
	fsync := Use{Resource: Fsync, Least: known("fsync_share_least"), Most: known("fsync_share_most")}
	if fsync.Least != nil && fsync.Most != nil && *fsync.Least != *fsync.Most {
		fsync.text = words.Share(*fsync.Least) + " to " + words.Share(*fsync.Most) + " of the time"
	}
	same := func(resource, name string) Use { return Use{Resource: resource, Least: known(name), Most: known(name)} }
	return []Use{of(LoadCPU, "load_processors"), of(ServerCPU, "server_processors"), fsync,
		same(HandOff, "handoff_share"), same(TheLock, "held_share")}
}

// exhausted returns which resources were used up: of those that are used up together, the one that used most.
func exhausted(uses []Use) (all []string) {
	together := func(names ...string) {
		sum, most := 0.0, Use{}
		for _, u := range uses {
			if u.Least != nil && slices.Contains(names, u.Resource) {
				sum += *u.Least
				if most.Least == nil || *u.Least > *most.Least {
					most = u
				}
			}
		}
		if sum >= result.UsedUp {
			all = append(all, most.Resource)
		}
	}
	together(LoadCPU, ServerCPU)
	together(Fsync)
	together(HandOff, TheLock)
	return all
}

// perhaps returns the resources of which the numbers do not say whether they were used up: because nothing was
// measured, or not exactly.
func perhaps(uses []Use) (unmeasured, unclear []string) {
	for _, u := range uses {
		switch {
		case u.Least == nil || u.Most == nil:
			unmeasured = append(unmeasured, u.Resource)
		case *u.Least < result.UsedUp && *u.Most >= result.UsedUp:
			unclear = append(unclear, u.Resource)
		}
	}
	return unmeasured, unclear
}

func (u Use) String() string {
	switch {
	case u.Least == nil:
		return u.Resource + " not measured"
	case u.text != "":
		return u.Resource + " " + u.text
	}
	return u.Resource + " " + words.Share(*u.Least) + " of the time"
}

// saidOf lists what was used at a load, and says if sleeps came late, which also tells of other work on the machine.
func saidOf(uses []Use, l loaded) string {
	var all []string
	for _, u := range uses {
		all = append(all, u.String())
	}
	return strings.Join(all, ", ") + pressed(l.medians)
}

// pressed adds that the machine was short of processor time, if its sleeps show it.
func pressed(medians map[string]float64) string {
	if late := medians["hiccups.p99"]; late > 2e6 {
		return fmt.Sprintf(" (sleeps came late by %s at p99, so processors are busy)", words.Duration(int64(late)))
	}
	return ""
}

// A loaded is what was used at one load, in the order of loads.
type loaded struct {
	at      string
	medians map[string]float64
	struck  bool // faults struck
}

// ranOut says which resource of a series was used up first. loads ascend; nil if there are none.
func ranOut(loads []loaded) *RanOut {
	if len(loads) == 0 {
		return nil
	}
	last := loads[len(loads)-1]
	if slices.ContainsFunc(loads, func(l loaded) bool { return l.struck }) {
		return &RanOut{At: last.at, Uses: usesOf(last.medians),
			Why: "cannot be told, because faults struck: what was idle may have waited for them"}
	}
	for i, l := range loads {
		uses := usesOf(l.medians)
		full := exhausted(uses)
		if len(full) == 0 {
			continue
		}
		r := &RanOut{At: l.at, Uses: uses}
		if len(full) > 1 {
			r.Why = fmt.Sprintf("cannot be told: %s were used up at the same load%s (%s)", strings.Join(full, " and "),
				lower(i), saidOf(uses, l))
			return r
		}
		r.Resource, r.Why = full[0], saidOf(uses, l)
		unmeasured, unclear := perhaps(uses)
		if doubts := slices.Concat(unmeasured, unclear); len(doubts) > 0 {
			r.Why += "; whether " + strings.Join(doubts, " or ") + " was used up too is not known"
		}
		return r
	}
	uses := usesOf(last.medians)
	r := &RanOut{At: last.at, Uses: uses}
	unmeasured, unclear := perhaps(uses)
	switch {
	case len(unmeasured) > 0:
		r.Why = "cannot be told: " + strings.Join(unmeasured, ", ") + " not measured, and none of the others was used up"
	case len(unclear) > 0:
		r.Why = "cannot be told: " + strings.Join(unclear, ", ") + " was not measured exactly enough, and none of the " +
			"others was used up"
	default:
		r.Why = "nothing was used up"
	}
	r.Why += " (" + saidOf(uses, last) + ")"
	return r
}

// lower adds that a lower load might tell, if the one of that index is the lowest.
func lower(i int) string {
	if i == 0 {
		return ", the lowest that was measured"
	}
	return ""
}

// ranOut says for each series which resource was used up first.
func (s *Sweep) ranOut() {
	for i := range s.Series {
		series := &s.Series[i]
		var loads []loaded
		for k := range series.Points {
			p := &series.Points[k]
			if m := p.used; m != nil {
				loads = append(loads, loaded{at: s.loadOf(p), medians: m, struck: p.struck})
			}
		}
		if !slices.Contains(loadKeys, s.Load) && len(loads) > 1 {
			// The values are no load, so the highest throughput is the highest load.
			best := slices.MaxFunc(loads, func(a, b loaded) int { return compareThroughput(a.medians, b.medians) })
			loads = []loaded{best}
		}
		series.RanOut = ranOut(loads)
	}
}

// loadKeys are the keys whose higher values are a higher load of the same locks.
var loadKeys = []string{"clients", "rate"}

func compareThroughput(a, b map[string]float64) int {
	switch x, y := a["acquired_per_s"], b["acquired_per_s"]; {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// loadOf names the load of a point; of a search it is the lowest rate that is too high.
func (s *Sweep) loadOf(p *Point) string {
	var all []string
	if s.Load != "" {
		all = append(all, s.Load+" "+s.label(p.Load))
	}
	if p.Limit != nil && p.Limit.Upper != nil {
		all = append(all, s.amount(p.Limit.Upper))
	}
	return cmp.Or(strings.Join(all, ", "), s.Scenario)
}

// tried returns the results that tell what was used up at a point: the sound ones, or of a search those of the full
// windows at its upper bound. The runs of a search are its trials, in order.
func (p *Point) tried(runs []Run) []*result.Result {
	var all []*result.Result
	for i, r := range runs {
		if r.Result == nil {
			continue
		}
		if l := p.Limit; l != nil && (l.Upper == nil || i >= len(l.Trials) || l.Trials[i].Level != *l.Upper ||
			l.Trials[i].Kind != capacity.Full) {
			continue
		}
		all = append(all, r.Result)
	}
	if p.Limit == nil {
		return sound(all)
	}
	return all
}

// sound leaves out the results of runs in which a check failed, because a lock that lets something through is fast. If
// there are no others, it returns all: the point's verdict stands beside their numbers.
func sound(all []*result.Result) []*result.Result {
	kept := slices.DeleteFunc(slices.Clone(all), func(r *result.Result) bool { return FailedCheck(r) != "" })
	if len(kept) == 0 {
		return all
	}
	return kept
}

// resources says what ran out first, series by series.
func (s *Sweep) resources() []string {
	var all []string
	for i := range s.Series {
		r := s.Series[i].RanOut
		if r == nil {
			continue
		}
		name := s.Series[i].Name
		if name != "" {
			name += ": "
		}
		if r.Resource == "" {
			all = append(all, fmt.Sprintf("%sat %s, %s", name, r.At, r.Why))
			continue
		}
		all = append(all, fmt.Sprintf("%s%s, at %s: %s", name, r.Resource, r.At, r.Why))
	}
	return all
}
