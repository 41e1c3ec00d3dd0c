package evidence

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"locklab/harness/history"
)

// A Look is how all servers of an ensemble stood at one instant, see [history.Standing].
type Look struct {
	At      int64
	Servers []history.Standing
}

// A Lack is a way in which servers are up without serving.
type Lack string

// The lacks.
const (
	// CommitsNothing says that a leader and a quorum of followers are up, and that no server commits a write.
	CommitsNothing Lack = "commits-nothing"
	// Leaderless says that a quorum of servers is up, and that none of them leads.
	Leaderless Lack = "leaderless"
	// ServesNobody says of some servers that they are up and serve nobody, beside others that do.
	ServesNobody Lack = "serves-nobody"
	// NeverCatchesUp says of some servers that they follow, and that nothing is committed through them, beside others
	// through which it is.
	NeverCatchesUp Lack = "never-catches-up"
)

// Bound is how long a lack must last, with no fault of a server in force, to be a finding. An ensemble with a leader
// and a quorum commits within milliseconds, and several requests time out meanwhile, so 10 s leave no doubt. An
// election, or a server that has been started and reads its snapshot, may take its time on a busy machine.
func (l Lack) Bound() time.Duration {
	if l == CommitsNothing {
		return 10 * time.Second
	}
	return 45 * time.Second
}

// Lack returns how servers that are up did not serve, and which; "" if each server through which nothing was committed
// was down, or if fewer than a quorum were up, which explains it.
func (l Look) Lack() (Lack, []string) {
	var up, leads, follow, committed int
	var mute, behind, all []string
	for _, s := range l.Servers {
		if !s.Up && s.Role == "" {
			continue
		}
		up++
		all = append(all, s.Server)
		switch {
		case s.Committed:
			committed++
		case s.Role == "":
			mute = append(mute, s.Server)
		default:
			behind = append(behind, s.Server)
		}
		switch s.Role {
		case history.RoleLeader, history.RoleStandalone:
			leads++
		case history.RoleFollower:
			follow++
		}
	}
	quorum := len(l.Servers)/2 + 1
	switch {
	case up < quorum || committed == up:
		return "", nil
	case committed > 0 && len(mute) > 0:
		return ServesNobody, mute
	case committed > 0:
		return NeverCatchesUp, behind
	case leads > 0 && leads+follow >= quorum:
		return CommitsNothing, all
	}
	return Leaderless, all
}

// Serves reports whether a write was committed through each server that was up. One at which a quorum was down has no
// lack, and no service either.
func (l Look) Serves() bool {
	lack, _ := l.Lack()
	return lack == "" && slices.ContainsFunc(l.Servers, func(s history.Standing) bool { return s.Committed })
}

// Zxid is the last transaction that any server had carried out.
func (l Look) Zxid() int64 {
	var last int64
	for _, s := range l.Servers {
		last = max(last, s.Zxid)
	}
	return last
}

// Words says how the servers stood.
func (l Look) Words() string {
	var all []string
	for _, s := range l.Servers {
		is := "was down"
		switch {
		case s.Role == history.RoleLeader, s.Role == history.RoleStandalone:
			is = "led"
		case s.Role == history.RoleFollower:
			is = "followed"
		case s.Role != "":
			is = "was " + s.Role
		case s.Up:
			is = "answered ruok and served nobody"
		}
		if s.Counters != "" {
			is += " (" + s.Counters + ")"
		}
		all = append(all, s.Server+" "+is)
	}
	return strings.Join(all, ", ")
}

// Looks returns the looks at the servers in the order of time.
func Looks(events *history.Log) []Look {
	var all []Look
	for _, e := range events.Of(history.OpStanding) {
		if len(all) == 0 || all[len(all)-1].At != e.At {
			all = append(all, Look{At: e.At})
		}
		last := &all[len(all)-1]
		last.Servers = append(last.Servers, e.Standing())
	}
	return all
}

// An Unserved is a time in which servers that were up did not serve in one way, by the looks at them.
type Unserved struct {
	Lack    Lack
	Servers []string // those that did not serve
	Looks   []Look   // at least one
}

// Unserveds returns the times in which servers did not serve. A look after which the ensemble had committed something
// ends one that says that it commits nothing.
func Unserveds(looks []Look) []Unserved {
	var all []Unserved
	going := false
	for _, l := range looks {
		lack, servers := l.Lack()
		if lack == "" {
			going = false
			continue
		}
		if n := len(all) - 1; going && all[n].Lack == lack && slices.Equal(all[n].Servers, servers) &&
			(lack != CommitsNothing || all[n].Last().Zxid() == l.Zxid()) {
			all[n].Looks = append(all[n].Looks, l)
			continue
		}
		all = append(all, Unserved{Lack: lack, Servers: servers, Looks: []Look{l}})
		going = true
	}
	return all
}

func (u *Unserved) Last() *Look { return &u.Looks[len(u.Looks)-1] }

// Lasted is how long it lasted for certain: between the first and the last of the looks.
func (u *Unserved) Lasted() time.Duration { return time.Duration(u.Last().At - u.Looks[0].At) }

// String says what was seen, without a fault that may have preceded it.
func (u *Unserved) String() string {
	from, until := Seconds(u.Looks[0].At), Seconds(u.Last().At)
	who := strings.Join(u.Servers, " and ")
	var what string
	switch u.Lack {
	case CommitsNothing:
		what = fmt.Sprintf("the ensemble had a leader and a quorum and committed nothing from %s to %s; its last "+
			"transaction was %s", from, until, Zxid(u.Last().Zxid()))
	case Leaderless:
		what = fmt.Sprintf("a quorum of servers was up without a leader from %s to %s", from, until)
	case ServesNobody:
		what = fmt.Sprintf("%s answered ruok and served nobody from %s to %s", who, from, until)
	case NeverCatchesUp:
		what = fmt.Sprintf("%s followed, and no write was committed through it, from %s to %s", who, from, until)
	}
	return what + "; at the last look " + u.Last().Words()
}

// Unserved are the times in which servers that were up did not serve, each from the last time that they served a
// client, and those in which all servers of an ensemble elsewhere kept writes of the harness waiting. Nothing is
// demanded of a lock then. They are found once for all checks, which must not change them.
func (d *Digest) Unserved() []Span {
	d.unserved.once.Do(func() {
		all := Looks(d.Events)
		var times []Span
		for _, u := range Unserveds(all) {
			times = append(times, Span{d.lastServed(u.Looks[0].At), min(ServedAfter(&u, all), d.End)})
		}
		d.unserved.all = append(times, d.unanswered()...)
	})
	return d.unserved.all
}

// unanswered are the times in which each server of an ensemble elsewhere kept a write of the harness waiting for at
// least a tick, or did not carry it out.
func (d *Digest) unanswered() []Span {
	slow := map[string][]Span{}
	for _, e := range d.Events.Of(history.OpPing) {
		p := e.Ping()
		all := slow[p.Server]
		if e.Kind == history.Fail || p.Took >= Standstill(d.Facts.Tick) {
			all = append(all, Span{e.At - int64(p.Took), e.At})
		}
		slow[p.Server] = all
	}
	var common Spans
	for i, server := range SortedKeys(slow) {
		of := Merged(slow[server])
		if i == 0 {
			common = of
			continue
		}
		var both []Span
		for _, s := range of {
			both = slices.AppendSeq(both, common.Cut(s.From, s.Until))
		}
		common = both
	}
	return common
}

// ServedAfter is when the servers were first seen to serve after a lack of service, the end of time if they were not.
func ServedAfter(u *Unserved, seen []Look) int64 {
	for _, l := range seen {
		if l.At > u.Last().At && l.Serves() {
			return l.At
		}
	}
	return math.MaxInt64
}

// lastServed is the last instant before another at which the servers had committed something for a client: it had its
// place in a queue, a lock, or its release. It is the run's beginning if there is none.
func (d *Digest) lastServed(before int64) int64 {
	var last int64
	note := func(at int64) {
		if at <= before {
			last = max(last, at)
		}
	}
	for i := range d.Acquisitions {
		a := &d.Acquisitions[i]
		note(a.Queued)
		if a.Granted() {
			note(a.Returned)
		}
		if a.ReleaseOutcome == history.OK {
			note(a.ReleaseReturned)
		}
	}
	return last
}
