package check

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
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
	checks, kinds, counters, conditions := seen{}, seen{}, seen{}, seen{}
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
			for _, c := range Counters() {
				if n := c.Of(&r.Safety); n != nil && *n > 0 {
					counters.add(c.Name, "counted")
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
			demand("check", checks, c.Name, string(Pass), string(Unknown))
		} else {
			demand("check", checks, c.Name, string(Pass), string(Fail), string(Unknown), "violation")
		}
	}
	for _, kind := range findingKinds(t) {
		demand("finding", kinds, kind, "found")
	}
	for _, c := range Counters() {
		demand("counter", counters, c.Name, "counted")
	}
	for _, c := range Conditions() {
		demand("condition", conditions, c.Name, "true", "false")
	}
}

// findingKinds returns the kinds of findings that the package's source names: in the field Kind of a Finding, or as the
// first argument of a method that makes one.
func findingKinds(t *testing.T) []string {
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]string{}
	var named []ast.Expr
	note := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) {
					constants[name.Name] = text(n.Values[i])
				}
			}
		case *ast.CompositeLit:
			if id, is := n.Type.(*ast.Ident); is && id.Name == "Finding" {
				for _, e := range n.Elts {
					if kv, is := e.(*ast.KeyValueExpr); is && kv.Key.(*ast.Ident).Name == "Kind" {
						named = append(named, kv.Value)
					}
				}
			}
		case *ast.CallExpr:
			if f, is := n.Fun.(*ast.SelectorExpr); is && len(n.Args) > 0 &&
				slices.Contains([]string{"find", "findStale", "finding"}, f.Sel.Name) {
				named = append(named, n.Args[0])
			}
		case *ast.AssignStmt:
			if f, is := n.Lhs[0].(*ast.SelectorExpr); is && f.Sel.Name == "Kind" {
				named = append(named, n.Rhs[0])
			}
		}
		return true
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, note)
	}
	var kinds []string
	for _, e := range named {
		kind := text(e)
		if id, is := e.(*ast.Ident); is {
			kind = constants[id.Name]
		}
		if kind != "" && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
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
