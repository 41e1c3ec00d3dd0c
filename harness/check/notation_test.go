package check

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// The notation of the fixtures: one happening a line, times in seconds; # begins a comment.
//
//	run 0 20                         the measured window; drain, collect and end at 20
//	run 0 20 cut                     … of a history that stops at 20 without an end
//	run 0 20 unserved                … of a run that ended itself at 20 because servers that were up did not serve
//	1 c1/0 connect zk1 0x1           the client's session from now on
//	1 c1/0 acquire l1 -> 2 token 5   granted; also "-> 2 ok", "-> 2 fail timed out", "-> 2 unknown"
//	1 c1/0 acquire l1                still waiting at the end
//	1 c1/0 acquire l1 read -> 2 …    in a mode; "permit 2": that many permits
//	1 c1/0 also l2 -> 2 token 6      another lock of the same acquisition
//	3 c1/0 release -> 3.1            also "-> 3.1 fail gone", "-> 3.1 unknown", or no result
//	3 c1/0 release l2 -> 3.1         of that lock, or "release 1" of the acquisition of that number; else of the latest
//	3 c1/0 queued 2                  its place in the queue
//	3 c1/0 lost session expired
//	3 c1/0 write 7 -> 3.2            recorded by the client and, halfway, by the resource r1;
//	                                 "-> 3.2 refused"; "-> 3.2 unknown" (served);
//	                                 "-> 3.2 unserved" (unknown, never served)
//	3 c1/0 write 7 behind 6 -> 3.2   the same of a list
//	3 r1 write 7 by c1/0 token 5     the resource's record alone; "… refused";
//	                                 "… read", "… permit slot-1" for modes
//	3 c1/0 trigger f1                the client stops itself
//	3 c1/0 again                     its count of acquisitions begins anew
//	5 c1 exited                      a process; also started, stopped, done
//	0 c1 driver per-client pings     its lock has a driver, which greets so; also without pings, and "per-process"
//	5 c1 hiccup 2                    it stood still for 2 s
//	fault f1 pause c1 asked 4.9 injected 5 verified 5.1 healed 20 heal-verified 20.1
//	                                 "failed" before any of these times: "injected failed 5";
//	                                 "unsupported failed 5" or "missed failed 5" instead of injected: this machine
//	                                 does not support it, or there was nothing to strike;
//	                                 "session 0x1" before any of them: the session that it was done to;
//	                                 "of /l1/a" too: the znode
//	resize l1 2 5 -> 5.1             l1 gets two permits; "5": the call alone; "-> 5.1": the
//	                                 confirmation alone
//	look 12 zk3 leader 0x88e committed   how a server stood at a look at all of them, with its last transaction;
//	                                 without "committed": nothing was committed through it; also "follower", "mute"
//	                                 (it is up and serves nobody) and "down"
//	calm 20                          everything is healed; also "calm 20 failed" and "calm 20 leftover"
func parseHistory(text string) ([]history.Event, error) {
	p := notation{
		current:  map[string]*history.Event{},
		sessions: map[string]history.SessionID{},
		count:    map[string]int64{},
	}
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := p.line(strings.Fields(line)); err != nil {
			return nil, fmt.Errorf("line %d: %q: %w", i+1, line, err)
		}
	}
	return p.events, nil
}

type notation struct {
	events   []history.Event
	current  map[string]*history.Event // by client: its latest acquire; by client and lock or number: that one
	sessions map[string]history.SessionID
	count    map[string]int64
}

func (p *notation) add(e history.Event) { p.events = append(p.events, e) }

func (p *notation) line(f []string) (err error) {
	defer func() {
		if r := recover(); r != nil { // an index out of range: the line is too short
			err = fmt.Errorf("%v", r)
		}
	}()
	switch f[0] {
	case "run":
		p.add(history.Event{At: at(f[1]), Process: "harness", Op: history.OpPhase, Detail: string(history.PhaseMeasure)})
		if slices.Contains(f, "cut") {
			p.add(history.Event{At: at(f[2]), Process: "harness", Op: history.OpSnapshot})
			return nil
		}
		p.add(history.Event{At: at(f[2]), Process: "harness", Op: history.OpPhase, Detail: string(history.PhaseDrain)})
		p.add(history.Event{At: at(f[2]), Process: "harness", Op: history.OpPhase, Detail: string(history.PhaseCollect)})
		how := history.EndComplete
		if slices.Contains(f, string(history.EndUnserved)) {
			how = history.EndUnserved
		}
		p.add(history.Event{At: at(f[2]), Process: "harness", Op: history.OpEnd, Detail: string(how)})
		return nil
	case "calm": // from when on progress is demanded; "calm 20 failed"
		e := history.Event{At: at(f[1]), Process: "harness", Op: history.OpFinalHeal, Kind: history.OK}
		switch {
		case len(f) > 2 && f[2] == "leftover":
			e.Detail = "left over: zk1 was stopped"
		case len(f) > 2:
			e.Kind, e.Detail = history.Fail, "it did not work"
		}
		p.add(e)
		return nil
	case "fault":
		return p.fault(f)
	case "look":
		look := history.Standing{Server: f[2], Role: f[3], Up: f[3] != "down", Committed: f[len(f)-1] == "committed"}
		if !look.Up || look.Role == "mute" {
			look.Role = ""
		}
		if len(f) > 4 {
			look.Zxid = integer(f[4])
		}
		e := look.Event(at(f[1]))
		e.Process = "harness"
		p.add(e)
		return nil
	case "resize":
		p.resize(f[1], int(integer(f[2])), f[3:])
		return nil
	case "clock": // clock 5 3: at 5 s the wall clock is 3 s ahead of where it was
		p.add(history.Event{At: at(f[1]), Process: "harness", Op: history.OpClock, Value: at(f[1]) + at(f[2])})
		return nil
	case "same": // same c1: the host told that it has the run's clock
		p.add(history.ClockReading{Host: f[1], Same: true}.Event())
		return nil
	case "txn":
		return nil // see parseLog
	}
	e := history.Event{At: at(f[0]), Process: history.HostOf(f[1])}
	switch what := f[2]; {
	case what == "done":
		e.Op = history.OpDone
		p.add(e)
	case what == "ping": // 2 zk1 ping 3.5: sent at 2 s, answered at 3.5 s; 2 zk1 ping 3.5 fail
		ping := history.Ping{Server: f[1], Node: "/ping", Took: time.Duration(at(f[3]) - e.At)}
		if len(f) > 4 {
			ping.Node = ""
		}
		p.add(ping.Event(e.At))
	case what == "driver":
		e := history.Driver{Command: "lock", Scope: f[3], Declares: strings.Join(f[4:], " ")}.Event()
		e.At, e.Process = at(f[0]), f[1]
		p.add(e)
	case what == "hiccup":
		e.Op, e.Value = history.OpHiccup, at(f[3])
		p.add(e)
	case slices.Contains([]history.Op{history.OpEnter, history.OpRead, history.OpWrite, history.OpExit},
		history.Op(what)) && !strings.Contains(f[1], "/"): // the resource
		n, _ := strconv.ParseInt(f[3], 10, 64)
		e.Op, e.Value, e.Client, e.Token, e.Kind, e.Lock = history.Op(what), n, f[5], integer(f[7]), history.OK, "l1"
		if c := p.current[e.Client]; c != nil {
			e.Lock, e.Acq = c.Lock, c.Acq
		}
		for _, w := range f[8:] {
			switch {
			case w == "refused":
				e.Kind = history.Fail
			case strings.HasPrefix(w, "slot-"):
				e.Target = w
			default:
				e.Mode = history.Mode(w)
			}
		}
		p.add(e)
	case !strings.Contains(f[1], "/"):
		e.Op, e.Mode, e.Detail = history.OpProcess, history.Mode(what), strings.Join(f[3:], " ")
		p.add(e)
	default:
		e.Client = f[1]
		return p.client(e, what, f[3:])
	}
	return nil
}

func (p *notation) client(e history.Event, what string, rest []string) error {
	e.Op = history.Op(what)
	c := p.current[e.Client]
	if what == "release" && len(rest) > 0 && rest[0] != "->" {
		c = p.current[e.Client+" "+rest[0]]
	}
	if c != nil {
		e.Lock, e.Acq, e.Token, e.Session, e.Mode = c.Lock, c.Acq, c.Token, c.Session, c.Mode
	}
	var arrow []string
	for i, w := range rest {
		if w == "->" {
			rest, arrow = rest[:i], rest[i+1:]
			break
		}
	}
	result := e
	if arrow != nil {
		result.At = at(arrow[0])
		result.Kind = history.OK
		result.Detail = strings.Join(arrow[min(2, len(arrow)):], " ")
		if len(arrow) > 1 {
			switch arrow[1] {
			case "fail", "refused":
				result.Kind = history.Fail
			case "unknown", "unserved":
				result.Kind = history.Info
			}
		}
	}
	switch what {
	case "connect":
		p.sessions[e.Client] = history.SessionID(integer(rest[1]))
		e.Op, e.Target, e.Session, e.Acq, e.Lock = history.OpConnected, rest[0], p.sessions[e.Client], 0, ""
		if e.Target == "-" { // the lock says no server
			e.Target = ""
		}
		if len(rest) > 2 { // the timeout that the lock says, in ms
			e.Value = integer(rest[2]) * 1e6
		}
		p.add(e)
	case "disconnect":
		e.Op, e.Session, e.Acq, e.Lock = history.OpDisconnected, p.sessions[e.Client], 0, ""
		p.add(e)
	case "again":
		p.count[e.Client] = 0
	case "lost":
		e.Detail = strings.Join(rest, " ")
		p.add(e)
	case "queued":
		e.Value = integer(rest[0])
		p.add(e)
	case "attempt": // attempt PREFIX
		e.Detail = rest[0]
		p.add(e)
	case "trigger":
		e.Fault = rest[0]
		p.add(e)
	case "acquire", "also":
		if what == "acquire" {
			p.count[e.Client]++
		}
		e.Op = history.OpAcquire
		e.Kind, e.Lock, e.Acq, e.Token, e.Session, e.Mode = history.Invoke, rest[0], p.count[e.Client], 0,
			p.sessions[e.Client], ""
		if len(rest) > 1 {
			e.Mode = history.Mode(rest[1])
		}
		if len(rest) > 2 {
			e.Value = integer(rest[2])
		}
		p.add(e)
		if arrow != nil {
			kind, t, detail := result.Kind, result.At, result.Detail
			result = e
			result.Kind, result.At = kind, t
			if arrow[min(1, len(arrow)-1)] == "token" {
				result.Token = integer(arrow[2])
			} else {
				result.Detail = detail
			}
			p.add(result)
			e.Token = result.Token
		}
		for _, key := range [...]string{"", " " + e.Lock, fmt.Sprintf(" %d", e.Acq)} {
			p.current[e.Client+key] = &e
		}
	case "release", "enter", "read", "write", "exit":
		e.Kind = history.Invoke
		if what != "release" {
			e.Value = integer(rest[0])
			if len(rest) > 2 { // write 7 behind 6
				e.Target = string(history.NewBehind(integer(rest[2])))
			}
			result.Value, result.Target = e.Value, e.Target
		}
		p.add(e)
		if arrow == nil {
			return nil
		}
		p.add(result)
		if what != "release" && arrow[len(arrow)-1] != "unserved" {
			served := e
			served.Process, served.At, served.Kind = "r1", (e.At+result.At)/2, history.OK
			if result.Kind == history.Fail {
				served.Kind = history.Fail
			}
			p.add(served)
		}
	default:
		return fmt.Errorf("no such happening")
	}
	return nil
}

// resize adds the events of a change of the number of permits: "5" the call, "-> 5.1" its confirmation, or both.
func (p *notation) resize(lock string, permits int, when []string) {
	add := func(e history.Event, t string) {
		e.At, e.Process = at(t), "c1"
		p.add(e)
	}
	if when[0] != "->" {
		add(history.Resizing(lock, permits), when[0])
		when = when[1:]
	}
	if len(when) > 0 {
		add(history.Resized(lock, permits), when[1])
	}
}

func (p *notation) fault(f []string) error {
	ops := map[string]history.Op{
		"asked":         history.OpFaultInject,
		"injected":      history.OpFaultInject,
		"verified":      history.OpFaultVerify,
		"healed":        history.OpFaultHeal,
		"heal-verified": history.OpFaultHealVerify,
		"unsupported":   history.OpFaultUnsupported,
		"missed":        history.OpFaultMissed,
	}
	var session history.SessionID
	var done string
	for i := 4; i < len(f); i += 2 {
		if f[i] == "session" {
			session = history.SessionID(integer(f[i+1]))
			continue
		}
		if f[i] == "of" {
			done = f[i+1]
			continue
		}
		e := history.Event{
			Process: "harness",
			Session: session,
			Fault:   f[1],
			Mode:    history.Mode(f[2]),
			Target:  f[3],
			Op:      ops[f[i]],
			Kind:    history.OK,
		}
		if e.Op == "" {
			return fmt.Errorf("no such stage %q", f[i])
		}
		if f[i] == "asked" {
			e.Kind = history.Invoke
		}
		if f[i+1] == "failed" {
			i++
			e.Kind, e.Detail = history.Fail, "it did not work"
		}
		if e.Op == history.OpFaultInject && e.Kind == history.OK {
			e.Detail = done
		}
		e.At = at(f[i+1])
		p.add(e)
	}
	return nil
}

// at reads seconds.
func at(s string) int64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(err)
	}
	return int64(math.Round(v * 1e9))
}

func integer(s string) int64 {
	v, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		panic(err)
	}
	return v
}

// natures are those of the kinds of faults that fixtures name, where they are not zero.
var natures = map[string]evidence.FaultNature{
	"pause":            {SilencesLeader: true},
	"kill":             {SilencesLeader: true, Lingers: true},
	"restart":          {Cause: evidence.CauseKill, SilencesLeader: true, Lingers: true},
	"slow-disk":        {SilencesLeader: true},
	"partition":        {SilencesLeader: true},
	"drop":             {Cause: "partition"},
	"latency":          {HampersLeader: true, Passes: true},
	"foreign-children": {SparesSessions: true},
	"clock-step":       {SparesSessions: true},
	"expire-session":   {Cause: evidence.CauseAdministrator, EndsSessions: true},
	"delete-node":      {Cause: evidence.CauseAdministrator, DeletesZnodes: true},
	"delete-parent":    {Cause: evidence.CauseAdministrator, DeletesZnodes: true, DeletesAll: true},
}

// recipes are the promises that a fixture names with recipe=.
var recipes = map[string]evidence.Facts{
	"queue":  {Tokens: true, Queue: true, Exclusive: true}, // and the default
	"barge":  {Tokens: true, Exclusive: true},
	"other":  {Tokens: true, MayToken: true, Exclusive: true}, // somebody's, behind the lock protocol
	"opaque": {Queue: true, Exclusive: true},                  // a queue that shows no tokens
	"none":   {},
}

// setFact sets one fact from a fixture's argument.
func setFact(f *evidence.Facts, key string, vals []string) error {
	pairs := func(set func(k, v string)) {
		for _, kv := range vals {
			k, v, _ := strings.Cut(kv, ":")
			set(k, v)
		}
	}
	plan := func(id string) *evidence.PlannedFault {
		for i := range f.Faults {
			if f.Faults[i].ID == id {
				return &f.Faults[i]
			}
		}
		f.Faults = append(f.Faults, evidence.PlannedFault{ID: id, Kind: "pause", Target: "c1"})
		return &f.Faults[len(f.Faults)-1]
	}
	var err error
	switch key {
	case "recipe":
		r, ok := recipes[vals[0]]
		if !ok {
			return fmt.Errorf("no such recipe %s", vals[0])
		}
		f.Tokens, f.MayToken, f.Queue, f.Exclusive = r.Tokens, r.MayToken, r.Queue, r.Exclusive
	case "guard":
		f.Guard = vals[0]
	case "permits":
		f.Permits = int(integer(vals[0]))
	case "T":
		f.SessionTimeout, err = time.ParseDuration(vals[0])
	case "tick":
		f.Tick, err = time.ParseDuration(vals[0])
	case "expect":
		f.Expect = map[string]evidence.Expectation{}
		pairs(func(k, v string) { f.Expect[k] = evidence.Expectation(v) })
	case "atleast":
		f.AtLeast = map[string]int64{}
		pairs(func(k, v string) { f.AtLeast[k] = integer(v) })
	case "sometimes":
		f.Sometimes = vals
	case "final":
		f.FinalValues = map[string]int64{}
		pairs(func(k, v string) { f.FinalValues[k] = integer(v) })
	case "versions":
		f.FinalVersions = map[string]int64{}
		pairs(func(k, v string) { f.FinalVersions[k] = integer(v) })
	case "lists":
		f.Lists = true
		if len(vals) > 0 { // lists=(l1:1-2-3,l2:)
			f.FinalLists = map[string][]int64{}
		}
		pairs(func(k, v string) {
			f.FinalLists[k] = []int64{}
			for _, element := range strings.FieldsFunc(v, func(r rune) bool { return r == '-' }) {
				f.FinalLists[k] = append(f.FinalLists[k], integer(element))
			}
		})
	case "min":
		f.MinAcquired = int(integer(vals[0]))
	case "planned":
		for _, id := range vals {
			plan(id)
		}
	case "holder":
		for _, id := range vals {
			plan(id).HitsHolder = true
		}
	case "waiter":
		for _, id := range vals {
			plan(id).HitsWaiter = true
		}
	case "head":
		for _, id := range vals {
			plan(id).HitsWaiter, plan(id).HitsHead = true, true
		}
	case "drawn":
		for _, id := range vals {
			plan(id).Drawn = true
		}
	case "tries":
		f.Tries = true
	case "progress":
		f.Progress = true
	case "recovers":
		f.Recovers = true
	case "leader":
		for _, id := range vals {
			plan(id).Role = evidence.RoleLeader
		}
	case "spares":
		for _, id := range vals {
			plan(id).SparesServers = true
		}
	case "replies":
		for _, id := range vals {
			plan(id).OnlyReplies = true
		}
	case "delays": // delays=(f1:3s)
		pairs(func(k, v string) { plan(k).Delays, err = time.ParseDuration(v) })
	case "permanent":
		for _, id := range vals {
			plan(id).Permanent = true
		}
	case "layout":
		f.Servers = &evidence.ServerLog{Layout: nodes.Layout(vals[0])}
	case "nolayout": // there are logs, but it is not known by which znodes clients contend
		f.Servers = &evidence.ServerLog{}
	case "nologs":
		f.Servers = &evidence.ServerLog{Missing: vals[0]}
	case "doubt":
		f.Servers.Doubts = vals
	case "contradiction":
		pairs(func(k, v string) {
			f.Servers.Contradictions = append(
				f.Servers.Contradictions,
				evidence.Contradiction{Server: "zk1", Session: history.SessionID(integer(k)), Zxid: integer(v),
					Text: "server zk1 has a znode of session " + k + " that was closed"},
			)
		})
	case "twice": // the transaction of that number creates the znode at that path, which exists
		pairs(func(k, v string) {
			f.Servers.Contradictions = append(f.Servers.Contradictions, evidence.Contradiction{Path: v, Zxid: integer(k),
				Text: "the servers' transactions do not fit: zxid " + k + ": " + v + " is created, but has existed since 0x1"})
		})
	case "elsewhere": // of a znode of that session, at that path
		pairs(func(k, v string) {
			f.Servers.Contradictions = append(f.Servers.Contradictions, evidence.Contradiction{
				Server:  "zk1",
				Session: history.SessionID(integer(k)),
				Path:    v,
				Zxid:    4,
				Text:    "zk1 has " + v + " of session " + k,
			})
		})
	case "stale":
		f.Servers.Contradictions = append(f.Servers.Contradictions, evidence.Contradiction{
			Server:  "zk3",
			Session: 0xdead,
			Path:    vals[0],
			Zxid:    9,
			Text:    "zk3 has " + vals[0] + " of a dead session",
		})
	case "partial":
		f.Partial = true
	case "torn":
		f.Incomplete = vals
	case "events":
	default:
		return fmt.Errorf("no such fact %s", key)
	}
	return err
}
