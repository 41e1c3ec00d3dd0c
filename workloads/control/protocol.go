package control

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Protocol is the version of how a harness talks with client processes: what their configuration means, the commands on
// their standard input, and the events that they record. A benchmark runs client processes of another binary beside
// ours if both have the same version. It rises with each change that the other side would misunderstand. A new field of
// [ClientConfig] is not such a change, since a process refuses fields that it does not know and is only given those
// that are needed.
const Protocol = 2

// Needed is the configuration as JSON without the fields that say nothing.
func (c ClientConfig) Needed() json.RawMessage {
	full, zero := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for _, f := range []struct {
		of   ClientConfig
		into *map[string]json.RawMessage
	}{{c, &full}, {ClientConfig{}, &zero}} {
		b, err := json.Marshal(f.of)
		if err == nil {
			err = json.Unmarshal(b, f.into)
		}
		if err != nil {
			panic(fmt.Sprintf("client: configuration: %v", err)) // it is plain values
		}
	}
	for name, nothing := range zero {
		if bytes.Equal(full[name], nothing) {
			delete(full, name)
		}
	}
	b, err := json.Marshal(full)
	if err != nil {
		panic(fmt.Sprintf("client: configuration: %v", err)) // it was JSON before
	}
	return b
}
