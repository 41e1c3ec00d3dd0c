package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/remote"
	"locklab/harness/settings"
)

// Target returns the ensemble that the scenario names with connect.
func (s *Scenario) Target() remote.Target {
	return remote.Target{Connect: s.Connect, CA: s.ConnectCA, Cert: s.ConnectCert, Key: s.ConnectKey, Auth: s.ConnectAuth}
}

// connected is how many servers connect names.
func (s *Scenario) connected() int {
	servers, _, err := remote.ParseConnect(s.Connect)
	if err != nil {
		return 0
	}
	return len(servers)
}

// TxnLogDirs returns the directories of txnlog-dir: the i-th is of the i-th server that connect names.
func (s *Scenario) TxnLogDirs() []string {
	if s.TxnLogDir == "" {
		return nil
	}
	return strings.Split(s.TxnLogDir, ",")
}

// CheckConnect refuses, before anything of the ensemble that connect names is asked, what contradicts connect whatever
// the answer is.
func (s *Scenario) CheckConnect() error {
	if s.Connect == "" {
		return nil
	}
	if o := s.origins["servers"]; o.rank >= fromEnv && s.connected() != s.Servers {
		return s.at(s.fill("connect names {connected:server}, and the scenario has {servers}"),
			"drop servers, which is a setting of servers that locklab starts", "servers")
	}
	v := validator{Scenario: s}
	for _, r := range rules {
		if keys := strings.Fields(r.keys); slices.Contains(keys, "connect") && !slices.Contains(keys, "servers") &&
			r.broken(s) {
			v.refuse(keys, r.hint, "%s", s.fill(r.msg))
		}
	}
	return join(v.errs)
}

// adopted are the keys whose values a scenario takes from the ensemble of connect.
var adopted = []string{"servers", "tick", "min-session-timeout", "max-session-timeout"}

// Adopt makes the settings of the servers those of the ensemble that connect names. They replace what the scenario's
// file says, which was meant for servers that locklab starts. The error names a flag or a variable that contradicts
// them.
func (s *Scenario) Adopt(found *remote.Found) error {
	from := origin{rank: fromFlag, name: "--connect"}
	for key, value := range map[string]string{
		"servers":             fmt.Sprint(s.connected()),
		"tick":                settings.FormatDuration(min(max(found.Tick, 10*time.Millisecond), time.Minute)),
		"min-session-timeout": settings.FormatDuration(min(found.MinSessionTimeout, time.Hour)),
		"max-session-timeout": settings.FormatDuration(min(found.MaxSessionTimeout, time.Hour)),
	} {
		if o := s.origins[key]; o.rank >= fromEnv && s.Text(key) != value {
			return &InputError{Flag: o.name, Hint: "drop it",
				Msg: fmt.Sprintf("%s is a setting of the servers that connect names, which have %s", key, value)}
		}
		delete(s.origins, key)
		if err := s.override(key, value, from); err != nil {
			return err
		}
	}
	s.dropOwn()
	return nil
}

// AdoptCount gives the scenario as many servers as connect names, where they cannot be asked for anything else. Whoever
// reaches them then adopts the rest.
func (s *Scenario) AdoptCount() error {
	if s.Connect == "" {
		return nil
	}
	s.dropOwn()
	return s.override("servers", fmt.Sprint(s.connected()), origin{rank: fromFlag, name: "--connect"})
}

// dropOwn removes settings of servers that locklab starts from a scenario that uses others. Those that a flag or a
// variable gave stay, and Validate refuses them.
func (s *Scenario) dropOwn() {
	if s.Connect == "" {
		return
	}
	for _, k := range allKeys() {
		if k.own && s.origins[k.Name].rank < fromEnv {
			k.Clear(s)
			delete(s.origins, k.Name)
		}
	}
}

// Elsewhere returns a message for each thing in the scenario that a run on the ensemble of connect cannot do, with the
// place where it was given.
func (s *Scenario) Elsewhere(found *remote.Found) []string {
	var all []string
	refuse := func(msg, why string, key string) { all = append(all, s.at(msg, why, key).Error()) }
	for i, f := range s.Faults {
		if why := f.Elsewhere(found.Words); why != "" {
			refuse("fault "+f.Kind+" of "+string(f.Target), why, faultOrigin(i, "kind"))
		}
	}
	if s.Drawn() {
		refuse("schedule "+s.Schedule, "random faults strike servers too, and the servers of --connect are not locklab's to "+
			"harm", "schedule")
	}
	if s.Placement != PlacementSpread && !slices.Contains(found.Words, "srvr") {
		refuse("placement "+s.Placement, "not all servers allow the four-letter word srvr, which tells their roles",
			"placement")
	}
	if s.Placement == PlacementLeader && found.Silent != "" {
		refuse("placement "+s.Placement, found.Silent+" leads and serves no clients (leaderServes=no)", "placement")
	}
	if most, needs := found.MostConnections, s.Connections(found); most > 0 && needs > most {
		refuse(fmt.Sprintf("%d clients", s.Clients), fmt.Sprintf("a server takes %d connections from one address "+
			"(maxClientCnxns), and the run needs %d; use fewer clients, or let several share a session with "+
			"--clients-per-session", most, needs), "clients")
	}
	return all
}

// ownConnections are those that a run has with a server besides its clients' sessions, at most.
const ownConnections = 5

// Connections returns how many connections a server may get from one address. All processes of one machine share one,
// and each pod has its own.
func (s *Scenario) Connections(found *remote.Found) int {
	clients := s.Clients
	if s.Lab == ensembles.LabKubernetes {
		clients = slices.Max(s.ClientsPerProcess())
	}
	share := max(s.ClientsPerSession, 1)
	sessions := (clients + share - 1) / share
	serving := s.Servers
	switch {
	case s.Placement == PlacementLeader:
		serving = 1
	case s.Placement != PlacementSpread, found.Silent != "":
		serving = max(serving-1, 1)
	}
	return (sessions+serving-1)/serving + ownConnections
}
