package runpage

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/words"
	"locklab/workloads"
)

// Environment lists the names and values of a run's environment and settings, as far as they are known.
func Environment(sc *scenario.Scenario, env rundir.Env) [][2]string {
	var all [][2]string
	add := func(known bool, name, value string) {
		if known {
			all = append(all, [2]string{name, value})
		}
	}
	add(env.Lab != "", "lab", env.Lab)
	add(sc.Connect != "", "ensemble", sc.Connect)
	add(env.ZooKeeper != "", "ZooKeeper", env.ZooKeeper)
	add(!oneVersion(env.ZooKeepers), "ZooKeeper of each server at the start", byServer(env.ZooKeepers))
	add(sc.Servers > 0, "servers", strconv.Itoa(sc.Servers))
	add(sc.Storage != "", "servers’ storage", sc.Storage)
	add(sc.Tick > 0, "tick", words.Duration(int64(sc.Tick)))
	add(sc.Negotiated() > 0, "session timeout", words.Duration(int64(sc.Negotiated())))
	add(sc.Clients > 0, "clients", fmt.Sprintf("%d in %d processes", sc.Clients, sc.ClientProcesses))
	add(sc.ClientsPerSession > 1, "clients per session", strconv.Itoa(sc.ClientsPerSession))
	add(sc.Placement != "", "placement of sessions", sc.Placement)
	add(sc.RoundTrip.Relayed, "round trip that relays add between clients and servers", sc.Text("round-trip"))
	add(len(env.Relayed) > 0, "clients connected through relays", relayed(env.Relayed))
	add(sc.Locks > 0, "locks", strconv.Itoa(sc.Locks))
	for _, d := range []struct {
		key, name string
		of        workloads.Distribution
	}{{"hold", "planned hold", sc.Hold}, {"think", "planned pause between acquisitions", sc.Think}} {
		switch length, isFixed := d.of.Fixed(); {
		case !isFixed:
			add(true, d.name, sc.Text(d.key))
		case length > 0:
			add(true, d.name, words.Duration(int64(length)))
		}
	}
	add(sc.LockChoice != workloads.Choice{}, "choice of locks", sc.Text("lock-choice"))
	add(sc.Arrivals != "", "arrivals", sc.Text("arrivals"))
	add(sc.Open(), "rate, a second", sc.Text("rate"))
	add(sc.MaxInFlight > 0, "acquisitions in flight, at most", sc.Text("max-in-flight"))
	add(sc.Queue > 0, "arrivals that wait while all clients are busy, at most", sc.Text("queue"))
	add(sc.Workload != "", "workload", sc.Workload)
	add(sc.Section != "", "what a holder does", sc.Section)
	add(sc.Recipe != "", "recipe", sc.Recipe)
	add(sc.Guard != "", "guard", sc.Guard)
	add(env.CPUs > 0, "CPUs", strconv.Itoa(env.CPUs))
	add(env.Go != "", "Go", env.Go)
	add(len(env.JavaOptions) > 0, "Java options", strings.Join(env.JavaOptions, " "))
	if env.WarmUp != nil {
		add(true, "servers warmed up", env.WarmUp.String())
	}
	add(env.EnsembleReadyNs > 0, "ensemble ready after", words.Duration(env.EnsembleReadyNs))
	add(env.Image != "", "image", env.Image)
	add(env.Kernel != "", "kernel", env.Kernel)
	add(env.Locklab != "", "locklab", env.Locklab)
	add(env.MemoryKiB > 0, "memory", fmt.Sprintf("%d MiB", env.MemoryKiB>>10))
	add(env.StartedUnixNs > 0, "started", time.Unix(0, env.StartedUnixNs).UTC().Format(time.RFC3339))
	return all
}

// oneVersion reports whether all servers told the same version.
func oneVersion(of map[string]string) bool {
	told := slices.Sorted(maps.Values(of))
	return len(slices.Compact(told)) < 2
}

// byServer lists the versions of servers.
func byServer(versions map[string]string) string {
	var all []string
	for _, server := range slices.Sorted(maps.Keys(versions)) {
		all = append(all, server+" "+versions[server])
	}
	return strings.Join(all, "; ")
}

// relayed lists the connections that pass through relays.
func relayed(servers map[string][]string) string {
	var all []string
	for _, client := range slices.Sorted(maps.Keys(servers)) {
		all = append(all, client+" to "+strings.Join(servers[client], ", "))
	}
	return strings.Join(all, "; ")
}
