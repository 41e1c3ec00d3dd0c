package service

import (
	"math"
	"slices"
	"time"

	"locklab/harness/history"
)

// When the harness looks at the servers.
const (
	// LookAfter is how long nothing must have been committed for a client before it does.
	LookAfter = 3 * time.Second
	// LookEvery is how much time is between two looks, each of which costs a server a few requests.
	LookEvery = 2 * time.Second
	// LookCap is how long a write may take at a look. It takes milliseconds.
	LookCap = 3 * time.Second
)

// An Unserved is a time in which servers that were up did not serve in one way, by the looks at them.
type Unserved struct {
	Lack    history.Lack
	Servers []string       // those that did not serve
	Looks   []history.Look // at least one
	Next    int64          // when the next look was, the end of time if there was none
}

// Unserveds returns the times in which servers did not serve. A look after which the ensemble had committed something
// ends one that says that it commits nothing. So does what lies between two looks that are apart: the servers served,
// or a fault struck one, during which nobody looks at them.
func Unserveds(looks []history.Look, apart func(lack history.Lack, from, until int64) bool) []Unserved {
	var all []Unserved
	going := false
	for _, l := range looks {
		if n := len(all); n > 0 {
			all[n-1].Next = min(all[n-1].Next, l.At)
		}
		lack, servers := l.Lack()
		if lack == "" {
			going = false
			continue
		}
		if n := len(all) - 1; going && all[n].Lack == lack && slices.Equal(all[n].Servers, servers) &&
			(lack != history.CommitsNothing || all[n].Last().Zxid() == l.Zxid()) && !apart(lack, all[n].Last().At, l.At) {
			all[n].Looks, all[n].Next = append(all[n].Looks, l), math.MaxInt64
			continue
		}
		all = append(all, Unserved{Lack: lack, Servers: servers, Looks: []history.Look{l}, Next: math.MaxInt64})
		going = true
	}
	return all
}

// Last is the last look at it.
func (u *Unserved) Last() *history.Look { return &u.Looks[len(u.Looks)-1] }

// Lasted is how long it lasted for certain: between the first and the last of the looks.
func (u *Unserved) Lasted() time.Duration { return time.Duration(u.Last().At - u.Looks[0].At) }

// Some reports whether other servers served meanwhile.
func (u *Unserved) Some() bool { return OfSome(u.Lack) }

// OfSome reports whether servers lack service in a way that leaves others that serve.
func OfSome(l history.Lack) bool { return l == history.ServesNobody || l == history.NeverCatchesUp }

// ServedAfter is when the servers were first seen to serve after a lack of service, the end of time if they were not.
func ServedAfter(u *Unserved, seen []history.Look) int64 {
	for _, l := range seen {
		if l.At > u.Last().At && l.Serves() {
			return l.At
		}
	}
	return math.MaxInt64
}
