package history

import (
	"slices"
	"strings"
	"time"
)

// A Look is how all servers of an ensemble stood at one instant, see [Standing].
type Look struct {
	At      int64
	Servers []Standing
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
		case RoleLeader, RoleStandalone:
			leads++
		case RoleFollower:
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
	return lack == "" && slices.ContainsFunc(l.Servers, func(s Standing) bool { return s.Committed })
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
		case s.Role == RoleLeader, s.Role == RoleStandalone:
			is = "led"
		case s.Role == RoleFollower:
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
func (l *Log) Looks() []Look {
	var all []Look
	for _, e := range l.Of(OpStanding) {
		if len(all) == 0 || all[len(all)-1].At != e.At {
			all = append(all, Look{At: e.At})
		}
		last := &all[len(all)-1]
		last.Servers = append(last.Servers, e.Standing())
	}
	return all
}
