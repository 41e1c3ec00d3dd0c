package scenario

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each rule names keys and terms that exist, and testdata has a scenario that breaks it.
func TestRules(t *testing.T) {
	var refused strings.Builder
	files, err := filepath.Glob("testdata/refused/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		refused.Write(b)
	}
	for _, r := range rules {
		for key := range strings.FieldsSeq(r.keys) {
			block, _, _ := strings.Cut(key, ".")
			if _, known := findKey(block); !known && block != "expect" && block != "shown" {
				t.Errorf("%q is about %s, which is not a key", r.msg, key)
			}
		}
		for _, name := range blank.FindAllString(r.msg, -1) {
			name, _, _ = strings.Cut(strings.Trim(name, "{}"), ":")
			_, key := findKey(name)
			if _, term := terms[name]; key == term {
				t.Errorf("%q: %s must be either a key or a term", r.msg, name)
			}
		}
		var example strings.Builder
		at := 0
		for _, b := range blank.FindAllStringIndex(r.msg, -1) {
			example.WriteString(regexp.QuoteMeta(r.msg[at:b[0]]) + `\S.*`)
			at = b[1]
		}
		example.WriteString(regexp.QuoteMeta(r.msg[at:] + " (" + r.hint + ")"))
		if !regexp.MustCompile(`(?m): ` + example.String() + `$`).MatchString(refused.String()) {
			t.Errorf("no scenario in testdata/refused is refused with %q", r.msg)
		}
	}
}
