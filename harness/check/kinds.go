package check

import (
	"slices"

	"locklab/ensembles/txnlog"
)

// The kinds of faults of which the rules know what they do, as scenarios name them.
const (
	kindPause          = "pause"
	kindKill           = "kill"
	kindStop           = "stop"
	kindRestart        = "restart"
	kindCrashLoop      = "crash-loop"
	kindRollingRestart = "rolling-restart"
	kindSlowDisk       = "slow-disk"
	kindPartition      = "partition"
	kindReset          = "reset"
	kindLoss           = "loss"
	kindBandwidth      = "bandwidth"
	kindLatency        = "latency"
	kindExpireSession  = "expire-session"
	kindDeleteNode     = "delete-node"
	kindDeleteParent   = "delete-parent"
	kindForeign        = "foreign-children"
	kindClockStep      = "clock-step"
)

// silences reports whether f can keep a session's client, its server and the leader from hearing of each other. Znodes
// in a lock's directory cannot; nor can a wall clock, which sessions do not go by.
func (f *fault) silences() bool { return f.Kind != kindForeign && f.Kind != kindClockStep }

// silencesLeader reports whether f strikes whoever leads so that followers' word of their sessions does not
// reach it. One that is only slow to clients, or cut off from them, hears of all others' as ever.
func (f *fault) silencesLeader() bool {
	return f.Role == RoleLeader && !f.SparesServers &&
		slices.Contains([]string{kindPause, kindKill, kindStop, kindRestart, kindCrashLoop, kindSlowDisk, kindPartition}, f.Kind)
}

// hampersLeader reports whether f may have kept followers' word of their sessions from whoever leads for
// a while: what is lost on the way is sent again, sooner or later.
func (f *fault) hampersLeader() bool {
	return f.Role == RoleLeader && !f.SparesServers && slices.Contains([]string{kindLoss, kindBandwidth, kindLatency, kindReset, kindRollingRestart}, f.Kind)
}

// lingers reports whether what f broke is not back as soon as f is undone: a process has to come up,
// a connection to be made anew.
func (f *fault) lingers() bool {
	return slices.Contains([]string{kindKill, kindStop, kindRestart, kindCrashLoop, kindRollingRestart, kindReset}, f.Kind)
}

// ends reports whether a fault of an administrator's ends znodes in that way.
func (f *fault) ends(cause txnlog.Type) bool {
	if cause == txnlog.CloseSession {
		return f.Kind == kindExpireSession
	}
	return f.Kind == kindDeleteNode || f.Kind == kindDeleteParent
}
