package index

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/rundir"
	"locklab/reports/internal/synth"
	"locklab/reports/result"
)

var keep = flag.String("keep", "", "write the index of the test there too, for a person to look at")

// record leaves a run with a result, and with a report if it is drawn.
func record(t *testing.T, dir string, r result.Result, drawn bool) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, rundir.ScenarioFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := rundir.WriteJSON(filepath.Join(dir, rundir.ResultFile), r); err != nil {
		t.Fatal(err)
	}
	if drawn {
		if err := rundir.WriteReport(dir, []byte("<!DOCTYPE html>")); err != nil {
			t.Fatal(err)
		}
	}
}

// results are those of a sound run, of one with damage and of one that broke off.
func results() (calm, damage, partial result.Result) {
	summarize := func(run *rundir.Run, facts evidence.Facts) result.Result {
		return result.NewInput(run, check.Run(run.Events, facts)).Result
	}
	calm, damage = summarize(synth.BusyRun(12, 4, false)), summarize(synth.Act2Run(false))
	broken, facts := synth.Act2Run(false)
	broken.Partial, facts.Partial = true, true
	return calm, damage, summarize(broken, facts)
}

// The index leads to every run, in the natural order, with its verdict and a picture, and refers to nothing else.
func TestIndex(t *testing.T) {
	dir := t.TempDir()
	calm, damage, partial := results()
	record(t, filepath.Join(dir, "points", "clients=2"), calm, true)
	record(t, filepath.Join(dir, "points", "clients=10"), damage, true)
	record(t, filepath.Join(dir, "base", "001"), calm, false)
	record(t, filepath.Join(dir, "act 3#?%"), partial, true)
	const evil = `"><img src=x onerror=alert(1)><script>1</script>`
	named := calm
	named.Scenario, named.Headline = evil, evil
	record(t, filepath.Join(dir, "evil"), named, true)
	record(t, filepath.Join(dir, "torn"), calm, true)
	if err := os.WriteFile(filepath.Join(dir, "torn", rundir.ResultFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if n, err := Write(dir, "Runs"); n != 6 || err != nil {
		t.Fatalf("%d runs, %v", n, err)
	}
	page, err := os.ReadFile(filepath.Join(dir, rundir.IndexFile))
	if err != nil {
		t.Fatal(err)
	}
	if *keep != "" {
		if err := os.WriteFile(*keep, page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var links []string
	pictures, ids := 0, map[string]bool{}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if slices.Contains([]string{"script", "img", "link", "iframe"}, n.Data) {
			t.Errorf("the index has a <%s>", n.Data)
		}
		if n.Data == "svg" {
			pictures++
		}
		for _, a := range n.Attr {
			if a.Key == "href" && a.Val != "#main" {
				links = append(links, a.Val)
				if _, err := os.Stat(filepath.Join(dir, strings.NewReplacer("%20", " ", "%23", "#", "%3F", "?", "%25",
					"%").Replace(a.Val))); err != nil {
					t.Errorf("a link leads nowhere: %v", err)
				}
			}
			if a.Key == "id" && ids[a.Val] {
				t.Errorf("two elements are #%s", a.Val)
			}
			ids[a.Val] = true
		}
	}
	want := []string{"./act%203%23%3F%25/report.html", "./base/001/result.json", "./evil/report.html",
		"./points/clients=2/report.html", "./points/clients=10/report.html", "./torn/report.html"}
	if !slices.Equal(links, want) || pictures != 5 {
		t.Errorf("%d pictures, links %q, want %q", pictures, links, want)
	}
	for _, says := range []string{"(partial run)", "the result cannot be read", "Damage shown, as expected", "3 × Pass",
		"&lt;img src=x"} {
		if !bytes.Contains(page, []byte(says)) {
			t.Errorf("the index does not say %q", says)
		}
	}
}

// Whoever makes runs need not know whether the first got as far as having a directory; whoever asks for an index does.
func TestIndexOfNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	if err := Update(dir, "Runs"); err != nil {
		t.Errorf("update: %v", err)
	}
	if _, err := Write(dir, "Runs"); err == nil {
		t.Error("an index of a folder that is not there")
	}
}

// An index of many runs stays small, and a folder without runs gets none.
func TestIndexSize(t *testing.T) {
	dir := t.TempDir()
	if n, err := Write(dir, "Runs"); n != 0 || err != nil {
		t.Errorf("%d runs, %v", n, err)
	}
	if _, err := os.Stat(filepath.Join(dir, rundir.IndexFile)); err == nil {
		t.Error("a folder without runs has an index")
	}
	calm, _, _ := results()
	for i := range 100 {
		record(t, filepath.Join(dir, fmt.Sprint(i)), calm, false)
	}
	if n, err := Write(dir, "Runs"); n != 100 || err != nil {
		t.Fatalf("%d runs, %v", n, err)
	}
	info, err := os.Stat(filepath.Join(dir, rundir.IndexFile))
	if err != nil || info.Size() > 200<<10 {
		t.Errorf("%v, %v; want at most 2 KB for each run", info, err)
	}
}
