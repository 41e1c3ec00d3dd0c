package scenario

import "time"

// The kinds of faults that do harm to sessions.
const (
	FaultExpireSession = "expire-session" // closed by id and password from a second connection
	FaultMute          = "mute"           // of a server to its clients: network rules, cleared to heal
	FaultMoveClient    = "move-client"    // its connection reset, and its server refused to it meanwhile
)

func sessionFaults() []FaultKind {
	return []FaultKind{
		{Name: FaultExpireSession, Family: FamilySession, Targets: OnClient, Momentary: true, Triggers: true, Slot: slotProcess, Room: 2 * time.Second,
			Does:     "the real end of a client's session, which a second connection closes by its id and password; at a time, or by a trigger inside the critical section",
			Verified: "no server knows the session any more",
			check:    ownSessions},
		{Name: FaultMoveClient, Family: FamilySession, Targets: OnClient, Alive: true, Slot: slotProcess,
			Does:     "the reset of a client's connection, and its server refused to it, so that its session goes on at another server",
			Verified: "another server has the session's connection; after healing one has",
			check: func(v *validator, f Fault, key func(string) string) {
				if v.Servers == 1 {
					v.refuse(by(key("kind"), "servers"), "servers: 3 or 5", "with a single server there is no other to go to")
				}
				ownSessions(v, f, key)
			}},
		{Name: FaultMute, Family: FamilySession, Targets: OnServer,
			Does:     "a server accepts its clients' connections and never answers on them; to the other servers it is as always",
			Verified: "each client process's host connects to it, asks and hears nothing; after healing it is answered"},
	}
}

// ownSessions refuses what a client of ours does to its session where the session is a foreign lock's.
func ownSessions(v *validator, f Fault, key func(string) string) {
	n := hostNumber(f.Target, "c")
	if n == 0 || n > v.ClientProcesses {
		return // said elsewhere
	}
	if recipe := v.RecipeOf(n - 1); recipe.Foreign {
		v.refuse(by(key("kind"), "recipe"), "a recipe of ours, or another target", "the session of %s is recipe %s's own, and nobody else knows its password", f.Target, recipe.Name)
	}
}
