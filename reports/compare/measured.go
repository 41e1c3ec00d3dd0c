package compare

import (
	"cmp"
	"fmt"
	"strconv"
)

// measured says in one sentence what the runs of a configuration measured: on which servers, storage and cores.
func measured(config map[string]string) string {
	count := func(key, one string) string {
		n, err := strconv.Atoi(config[key])
		switch {
		case err != nil:
			return "an unknown number of " + one + "s"
		case n == 1:
			return "one " + one
		}
		return fmt.Sprintf("%d %ss", n, one)
	}
	ensemble := count("scenario.servers", "server") + " without a quorum"
	if n, err := strconv.Atoi(config["scenario.servers"]); err != nil || n > 1 {
		ensemble = count("scenario.servers", "server")
		if err == nil {
			ensemble += fmt.Sprintf(" (each write waits for %d)", n/2+1)
		}
	}
	storage := map[string]string{"disk": "on disk", "tmpfs": "in memory (tmpfs)"}[config["scenario.storage"]]
	return fmt.Sprintf("Measured: %s for %s, on %s whose logs are %s; %s in all.", count("scenario.clients", "client"),
		count("scenario.locks", "lock"), ensemble, cmp.Or(storage, "on storage that is not known"),
		count("env.cpus", "core"))
}
