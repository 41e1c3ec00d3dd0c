package check

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/cockroachdb/datadriven"

	"locklab/harness/check/counters"
	"locklab/harness/check/evidence"
)

// seen is what the fixtures made of something.
type seen map[string]map[string]bool

func (s seen) add(what, how string) {
	if s[what] == nil {
		s[what] = map[string]bool{}
	}
	s[what][how] = true
}

// Some fixture shows every check red, and green; every kind of finding; every counter above zero; and every condition
// met and unmet.
func TestEverythingGoesRed(t *testing.T) {
	checks, kinds, counted, conditions := seen{}, seen{}, seen{}, seen{}
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no fixtures", err)
	}
	for _, path := range paths {
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			r := judgeFixture(t, td)
			for _, v := range r.Checks {
				checks.add(v.Name, string(v.Result))
				if v.Violation {
					checks.add(v.Name, "violation")
				}
				for _, f := range v.Findings {
					kinds.add(string(f.Kind), "found")
				}
			}
			for _, c := range counters.All() {
				if n := c.Of(&r.Safety); n != nil && *n > 0 {
					counted.add(c.Name, "counted")
				}
			}
			for _, c := range r.Sometimes {
				conditions.add(c.Condition, strconv.FormatBool(c.Met))
			}
			return td.Expected
		})
	}
	demand := func(family string, all seen, what string, hows ...string) {
		for _, how := range hows {
			if !all[what][how] {
				t.Errorf("no fixture has the %s %s: %s", family, what, how)
			}
		}
	}
	for _, c := range All() {
		if c.OfRun {
			demand("check", checks, c.Name, string(evidence.Pass), string(evidence.Unknown))
		} else {
			demand("check", checks, c.Name, string(evidence.Pass), string(evidence.Fail), string(evidence.Unknown), "violation")
		}
	}
	for _, kind := range findingKinds(t) {
		demand("finding", kinds, kind, "found")
	}
	for _, c := range counters.All() {
		demand("counter", counted, c.Name, "counted")
	}
	for _, c := range Conditions() {
		demand("condition", conditions, c.Name, "true", "false")
	}
}

// findingKinds returns the kinds of findings: the constants of the types Kind and Lack.
func findingKinds(t *testing.T) (kinds []string) {
	for _, path := range []string{"evidence/kind.go", "evidence/look.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if c, is := n.(*ast.ValueSpec); is && len(c.Values) == 1 {
				if of, is := c.Type.(*ast.Ident); is && (of.Name == "Kind" || of.Name == "Lack") {
					kinds = append(kinds, text(c.Values[0]))
				}
			}
			return true
		})
	}
	if len(kinds) < 20 {
		t.Fatalf("only %d kinds of findings: %v", len(kinds), kinds)
	}
	return kinds
}

// text is the value of a literal, or empty.
func text(e ast.Expr) string {
	if b, is := e.(*ast.BasicLit); is && b.Kind == token.STRING {
		s, _ := strconv.Unquote(b.Value)
		return s
	}
	return ""
}
