package scenario

import (
	"slices"
	"strings"

	"locklab/ensembles"
	"locklab/harness/settings"
)

// parseVersions reads a version of ZooKeeper, or several with commas.
func parseVersions(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	names := strings.Split(text, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
		if err := ensembles.CheckVersion(names[i]); err != nil {
			hint := "a number such as 3.9.3, an image such as zookeeper:3.9, a directory such as ./zk, or default; several " +
				"with commas"
			return "", settings.Errorf(hint, "%v", err)
		}
	}
	return strings.Join(names, ","), nil
}

// versions returns the versions of ZooKeeper that the servers start with; they are dealt to the servers in turn.
func (s *Scenario) versions() []string {
	if s.ZooKeeper == "" {
		return []string{ensembles.DefaultVersion}
	}
	return strings.Split(s.ZooKeeper, ",")
}

// VersionsOf returns the versions of ZooKeeper that a server needs, numbered from 0: the one that it starts with, then
// those that upgrades bring.
func (s *Scenario) VersionsOf(server int) []string {
	start := s.versions()
	all := []string{start[server%len(start)]}
	for _, f := range s.Faults {
		if v := f.Version(); v != "" && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// Upgrades reports whether the servers have another version at the end of a run than at its start.
func (s *Scenario) Upgrades() bool { return s.planned().Stays() }

// RefuseVersion returns an [*InputError] about a version or an image that a lab cannot run, with the place where it was
// given.
func (s *Scenario) RefuseVersion(e *ensembles.VersionError) error {
	var keys []string
	if slices.Contains(s.versions(), e.Version) {
		keys = append(keys, "zookeeper")
	}
	for i, f := range s.Faults {
		if f.Version() == e.Version {
			keys = append(keys, faultOrigin(i, "to"))
		}
	}
	if s.ClientImage == e.Version {
		keys = append(keys, "client-image")
	}
	return s.at(e.Msg, e.Hint, keys...)
}

// upgrades refuses a first upgrade that changes nothing.
func (v *validator) upgrades() {
	first := -1
	for i, f := range v.Faults {
		if f.Version() != "" && (first < 0 || f.At < v.Faults[first].At) {
			first = i
		}
	}
	if first < 0 {
		return
	}
	to := v.Faults[first].Version()
	if !slices.ContainsFunc(v.versions(), func(name string) bool { return name != to }) {
		v.refuse(by(faultOrigin(first, "to"), "zookeeper"),
			"another version to upgrade to, or the one before it for zookeeper",
			"every server starts with %s, so there is nothing to upgrade", to)
	}
}
