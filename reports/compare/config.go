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

	"locklab/harness/records"
	"locklab/harness/scenario"
)

// notConfig are the keys that may differ between two runs of the same configuration: names and ids, the seed, times,
// the format of the record, and the code that is compared.
var notConfig = []string{
	"scenario.name", "scenario.about", "scenario.seed",
	"env.format", "env.run", "env.lab_id", "env.started_unix_ns", "env.ensemble_ready_ns", "env.locklab", "env.lock",
	"env.client_binary",
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
		key, text := strings.TrimPrefix(name, "scenario."), fmt.Sprint(v)
		if !slices.Contains(notConfig, name) && !scenario.Retired(key, text) {
			into[name] = text
		}
	}
}

// A Mismatch is a key in which two configurations differ. A configuration without the key has the value "".
type Mismatch struct {
	Key  string `json:"key"`
	Base string `json:"base"`
	Head string `json:"head"`
	// Why says why it is allowed; "" if it is not.
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

// mostLines is how many differences are listed at most.
const mostLines = 12

// inLines describes mismatches, the elements of one list in one line. There is one line for the whole list, because one
// element more would make all that follow differ.
func inLines(all []Mismatch) []string {
	var lines []string
	for i := 0; i < len(all); {
		list, rest, _ := strings.Cut(all[i].Key, "[")
		if !strings.HasSuffix(rest, "]") {
			lines = append(lines, all[i].String())
			i++
			continue
		}
		var base, head []string
		for ; i < len(all) && strings.HasPrefix(all[i].Key, list+"["); i++ {
			base, head = append(base, all[i].Base), append(head, all[i].Head)
		}
		lines = append(lines, Mismatch{Key: list, Base: without(base, head), Head: without(head, base)}.String())
	}
	if n := len(lines) - mostLines; n > 0 {
		lines = append(lines[:mostLines], fmt.Sprintf("and %d more", n))
	}
	return lines
}

// without joins the elements of a list that another does not have.
func without(list, other []string) string {
	list = slices.DeleteFunc(slices.Clone(list), func(e string) bool { return e == "" || slices.Contains(other, e) })
	return strings.Join(list, " ")
}

// names reports whether a key that a person wrote means a key of a configuration: the full key, the key without
// scenario. or env., or a block that contains it.
func names(key, full string) bool {
	_, short, _ := strings.Cut(full, ".")
	for _, f := range []string{full, short} {
		if f == key || strings.HasPrefix(f, key+".") || strings.HasPrefix(f, key+"[") {
			return true
		}
	}
	return false
}

// DesignFile is the file beside the base and head folders that says what they vary.
const DesignFile = "bench.json"

// DesignVersion is the schema_version of a design.
const DesignVersion = 1

// A Design says in what two sides differ on purpose.
type Design struct {
	SchemaVersion int      `json:"schema_version"`
	Varied        []string `json:"varied"` // keys
	// Paired says that runs with the same name were made next to each other.
	Paired bool `json:"paired,omitempty"`
	// Looks are the times at which what there was had been compared, if there was a budget.
	Looks []Look `json:"looks,omitempty"`
}

// ReadDesign returns the design beside the base and the head, or an empty one if they are not in the same folder or it
// has no design.
func ReadDesign(base, head string) (Design, error) {
	var in [2]string
	for i, dir := range []string{base, head} {
		full, err := filepath.Abs(dir)
		if err != nil {
			return Design{}, fmt.Errorf("%w: %w", ErrInput, err)
		}
		in[i] = filepath.Dir(full)
	}
	if in[0] != in[1] {
		return Design{}, nil
	}
	b, err := os.ReadFile(filepath.Join(in[0], DesignFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Design{}, nil
	}
	var d Design
	if err == nil {
		err = json.Unmarshal(b, &d)
	}
	if err == nil {
		err = records.CheckVersion(d.SchemaVersion, DesignVersion)
	}
	if err != nil {
		return Design{}, fmt.Errorf("%w: %s: %w", ErrInput, DesignFile, err)
	}
	return d, nil
}
