package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// notConfig are the keys that may differ between two runs of one configuration:
// names, what is drawn, when it was, and the code in question itself.
var notConfig = []string{
	"scenario.name", "scenario.about", "scenario.seed",
	"env.lab_id", "env.started_unix_ns", "env.ensemble_ready_ns", "env.locklab", "env.lock", "env.client_binary",
}

func flattenYAML(prefix string, b []byte, into map[string]string) error {
	var m map[string]any
	if err := yaml.Unmarshal(b, &m); err != nil {
		return err
	}
	if len(m) == 0 {
		return errors.New("it is empty")
	}
	flatten(prefix, m, into)
	return nil
}

func flattenJSON(prefix string, b []byte, into map[string]string) error {
	var m map[string]any
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber() // as written: 24684092, not 2.4684092e+07
	if err := dec.Decode(&m); err != nil {
		return err
	}
	flatten(prefix, m, into)
	return nil
}

// flatten writes every scalar below v under its path.
func flatten(name string, v any, into map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for k, below := range v {
			flatten(name+"."+k, below, into)
		}
	case []any:
		for i, below := range v {
			flatten(fmt.Sprintf("%s[%d]", name, i), below, into)
		}
	default:
		if !slices.Contains(notConfig, name) {
			into[name] = fmt.Sprint(v)
		}
	}
}

// A Mismatch is a key in which two configurations differ. "" is a key that one
// of them does not have.
type Mismatch struct {
	Key  string `json:"key"`
	Base string `json:"base"`
	Head string `json:"head"`
	// Why says who allowed it; "" if nobody did.
	Why string `json:"why"`
}

func (m Mismatch) String() string {
	show := func(v string) string {
		if v == "" {
			return "(none)"
		}
		return v
	}
	return fmt.Sprintf("%s: %s against %s", m.Key, show(m.Base), show(m.Head))
}

func mismatches(base, head map[string]string) []Mismatch {
	keys := maps.Clone(base)
	maps.Copy(keys, head)
	var all []Mismatch
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if base[k] != head[k] {
			all = append(all, Mismatch{Key: k, Base: base[k], Head: head[k]})
		}
	}
	return all
}

// names reports whether the key, as a person writes it, means the key of a
// configuration: in full, without scenario. or env., or as what it is below.
func names(key, full string) bool {
	_, short, _ := strings.Cut(full, ".")
	for _, f := range []string{full, short} {
		if f == key || strings.HasPrefix(f, key+".") || strings.HasPrefix(f, key+"[") {
			return true
		}
	}
	return false
}

// PlanFile is the file beside the base and head folders in which whoever made them
// says what they vary.
const PlanFile = "bench.json"

// PlanVersion is the schema_version of a plan.
const PlanVersion = 1

// A Plan says what two sides were made to differ in.
type Plan struct {
	SchemaVersion int      `json:"schema_version"`
	Varied        []string `json:"varied"` // keys
	// Paired says that the runs of one name were made next to each other.
	Paired bool `json:"paired,omitempty"`
}

// ReadPlan returns the plan beside the base and the head, if both lie in one folder
// that has one, else one that says nothing.
func ReadPlan(base, head string) (Plan, error) {
	var in [2]string
	for i, dir := range []string{base, head} {
		full, err := filepath.Abs(dir)
		if err != nil {
			return Plan{}, fmt.Errorf("%w: %w", ErrInput, err)
		}
		in[i] = filepath.Dir(full)
	}
	if in[0] != in[1] {
		return Plan{}, nil
	}
	b, err := os.ReadFile(filepath.Join(in[0], PlanFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Plan{}, nil
	}
	var p Plan
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err == nil && p.SchemaVersion != PlanVersion {
		err = fmt.Errorf("schema_version is %d, and this locklab reads %d", p.SchemaVersion, PlanVersion)
	}
	if err != nil {
		return Plan{}, fmt.Errorf("%w: %s: %w", ErrInput, PlanFile, err)
	}
	return p, nil
}
