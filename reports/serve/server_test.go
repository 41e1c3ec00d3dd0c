package serve

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"locklab/harness/check/evidence"
	"locklab/harness/rundir"
	"locklab/reports/result"
	"locklab/reports/words"
)

// A madeRun is a run directory to make.
type madeRun struct {
	name, scenario, recipe string
	outcome                result.Outcome
	started                time.Time
	rate                   float64
	html, picture          string
}

// make makes the run directory below dir.
func (m madeRun) make(t *testing.T, dir string) {
	t.Helper()
	at := filepath.Join(dir, m.name)
	p50 := int64(1e9 / m.rate)
	r := result.Result{SchemaVersion: result.SchemaVersion, Scenario: m.scenario, Recipe: m.recipe, Outcome: m.outcome,
		Verdict: evidence.Pass, Headline: "A headline of " + m.scenario + ".",
		Checks: []result.CheckLine{{Name: evidence.Effect, Result: evidence.Pass, Outcome: evidence.Pass}}}
	if m.outcome == result.Violation {
		r.Verdict, r.Checks[0].Outcome = evidence.Fail, evidence.Fail
	}
	r.Throughput.AcquiredPerS = &m.rate
	r.Latency.Acquire.P50Ns = &p50
	yaml := fmt.Sprintf("name: %q\nclients: %d\n", m.scenario, int(m.rate)/10)
	for name, content := range map[string]string{rundir.ResultFile: marshal(t, r), rundir.ScenarioFile: yaml,
		rundir.EnvFile:    marshal(t, rundir.Env{StartedUnixNs: m.started.UnixNano(), LabID: m.name}),
		rundir.ReportFile: m.html, "plots/timeline.svg": m.picture} {
		if content != "" {
			write(t, filepath.Join(at, name), content)
		}
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)

// serve serves a directory and returns the server's address.
func serve(t *testing.T, dir string, names ...string) string {
	t.Helper()
	s, err := New(Config{Dir: dir, Names: names})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return h.URL
}

// get asks for a path as it stands, with headers, and returns status and body.
func get(t *testing.T, server, path string, headers ...string) (int, http.Header, string) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(server, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	host := "Host: " + strings.TrimPrefix(server, "http://")
	for i, h := range headers {
		if strings.HasPrefix(h, "Host:") {
			host, headers[i] = h, "X-Unused: 1"
		}
	}
	method, path, other := strings.Cut(path, " ")
	if !other {
		method, path = "GET", method
	}
	fmt.Fprintf(c, "%s %s HTTP/1.0\r\n%s\r\n", method, path, strings.Join(append(headers, host), "\r\n")+"\r\n")
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(path, err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, a.Header, string(b)
}

// Only requests to this server's own address or name are answered, and those of other sites' pages are not.
func TestGuard(t *testing.T) {
	dir := t.TempDir()
	madeRun{name: "a", scenario: "mutex", started: noon, rate: 100, html: "<p>report"}.make(t, dir)
	server := serve(t, dir, "lab.example:8000", "proxy.example")
	own := strings.TrimPrefix(server, "http://")
	_, port, _ := net.SplitHostPort(own)
	for _, c := range []struct {
		path    string
		headers []string
		want    int
	}{
		{"/", nil, 200},
		{"/", []string{"Host: localhost:" + port}, 200},
		{"/", []string{"Host: LOCALHOST:" + port}, 200},
		{"/", []string{"Host: lab.example:8000"}, 200},
		{"/", []string{"Host: proxy.example"}, 200},
		{"/", []string{"Host: proxy.example:99"}, 200},
		{"/", []string{"Host: lab.example"}, 403},
		{"/", []string{"Host: evil.example:" + port}, 403},
		{"/", []string{"Host: localhost.evil.example:" + port}, 403},
		{"/", []string{"Host: 127.0.0.1.evil.example:" + port}, 403},
		{"/", []string{"Host: localhost"}, 403},
		{"/", []string{"Host: localhost:1"}, 403},
		{"/", []string{"Host: 127.0.0.2:" + port}, 403},
		{"/", []string{"Host: [::1]:" + port}, 403},
		{"/", []string{"Host: "}, 403},
		{"/files/a/report.html", []string{"Host: evil.example"}, 403},
		{"/live/events?run=a", []string{"Host: evil.example"}, 403},
		{"/", []string{"Origin: " + server}, 200},
		{"/", []string{"Origin: http://evil.example"}, 403},
		{"/", []string{"Origin: null"}, 403},
		{"/", []string{"Origin: https://" + own}, 403},
		{"/", []string{"Origin: http://localhost:" + port}, 403},
		{"/", []string{"Origin: " + server, "Origin: http://evil.example"}, 403},
		{"/live/events?run=a", []string{"Origin: http://evil.example"}, 403},
		{"/", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, 200},
		{"/live?run=a", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"}, 403},
		{"/files/a/report.html", []string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors"}, 403},
		{"POST /", nil, 405},
		{"DELETE /files/a/report.html", nil, 405},
		{"HEAD /", nil, 200},
	} {
		if code, h, body := get(t, server, c.path, c.headers...); code != c.want {
			t.Errorf("%s with %q: %d %s, want %d", c.path, c.headers, code, body, c.want)
		} else if !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s with %q has the policy %q", c.path, c.headers, h.Get("Content-Security-Policy"))
		}
	}
}

// No path leads out of the directory, whatever way it is written, and no link does.
func TestFilesStayInside(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "runs")
	madeRun{name: "a b", scenario: "mutex", started: noon, rate: 100, html: "<p>the report"}.make(t, dir)
	write(t, filepath.Join(top, "secret.txt"), "secret")
	for name, to := range map[string]string{"out": top, "a b/out.txt": filepath.Join(top, "secret.txt"),
		"up.txt": "../secret.txt", "inside.txt": "a b/report.html"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	server := serve(t, dir)
	for path, want := range map[string]int{
		"/files/a%20b/report.html": 200, "/files/inside.txt": 200,
		"/files/../secret.txt": 404, "/files/..%2fsecret.txt": 404, "/files/%2e%2e/secret.txt": 404,
		"/files/%2e%2e%2fsecret.txt": 404, "/files/a%20b/../../secret.txt": 404, "/files/a%20b/..%2f..%2fsecret.txt": 404,
		"/files/..%5csecret.txt": 404, "/files//etc/passwd": 404, "/files/%2fetc%2fpasswd": 404,
		"/files/a%20b%00/report.html": 404, "/files/out/secret.txt": 404, "/files/a%20b/out.txt": 404,
		"/files/up.txt": 404, "/files/": 404, "/files/a%20b": 403, "/assets/..%2fpage.go": 404,
		"/live?run=../runs/a%20b": 404, "/live?run=" + strings.ReplaceAll(dir, "/", "%2f"): 404, "/live/events?run=..": 404,
		"/compare?run=..&run=a+b": 404, "/compare?run=a+b": 400, "/nothing": 404,
	} {
		code, _, body := get(t, server, path)
		if code != want && !(want == 404 && (code == 301 || code == 307)) || strings.Contains(body, "secret\n") ||
			body == "secret" || strings.Contains(body, "root:") {
			t.Errorf("%s: %d, want %d: %s", path, code, want, body)
		}
	}
}

// A report may be anybody's page, so it is shown in a sandbox. Files that are no pages are text.
func TestFilesAreSandboxed(t *testing.T) {
	dir := t.TempDir()
	madeRun{name: "a", scenario: "mutex", started: noon, rate: 100, html: "<p>x", picture: "<svg/>"}.make(t, dir)
	server := serve(t, dir)
	for path, kind := range map[string]string{"report.html": "text/html", "plots/timeline.svg": "image/svg+xml",
		"scenario.yaml": "text/plain", "result.json": "application/json"} {
		_, h, _ := get(t, server, "/files/a/"+path)
		if p := h.Get("Content-Security-Policy"); !strings.HasPrefix(p, "sandbox allow-scripts; default-src 'none'") ||
			strings.Contains(p, "allow-same-origin") || strings.Contains(p, "connect-src") {
			t.Errorf("%s has the policy %q", path, p)
		}
		if got := h.Get("Content-Type"); !strings.HasPrefix(got, kind) || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s is of type %q", path, got)
		}
	}
}

// The list shows what the filter chooses, the latest run first, whatever has become of the runs.
func TestList(t *testing.T) {
	dir := t.TempDir()
	madeRun{"one", "mutex", "mutex", result.AsExpected, noon, 100, "<p>", ""}.make(t, dir)
	madeRun{"two", "mutex", "curator-mutex", result.Violation, noon.Add(24 * time.Hour), 50, "<p>", ""}.make(t, dir)
	madeRun{"sweep/points/p/01", "rw", "rw", result.DamageShown, noon.Add(48 * time.Hour), 70, "", ""}.make(t, dir)
	write(t, filepath.Join(dir, "sweep/report.html"), "<p>sweep")
	write(t, filepath.Join(dir, "sweep/sweep.json"), "{}")
	write(t, filepath.Join(dir, "curve/report.html"), "<p>danger")
	write(t, filepath.Join(dir, "curve/danger.json"), marshal(t, map[string]any{"kind": "x",
		"headline": "Not measured <i>\x1b (--panels worst). " + strings.Repeat("More of it. ", 50)}))
	unclear := result.Result{SchemaVersion: 1, Scenario: "unclear", Outcome: result.Inconclusive,
		Verdict: evidence.Unknown, Headline: "A headline.", Checks: []result.CheckLine{
			{Name: evidence.Fairness, Outcome: evidence.Pass, Summary: "not this"},
			{Name: evidence.Effect, Outcome: evidence.Unknown, Summary: "c1 has no record; see --txnlog-dir"},
			{Name: evidence.ServiceExclusion, Outcome: evidence.Unknown, Summary: "nor this"}}}
	write(t, filepath.Join(dir, "unclear/result.json"), marshal(t, unclear))
	unclear.Checks = []result.CheckLine{{Name: evidence.Effect, Outcome: evidence.Pass}}
	unclear.Headline = "Unknown whether p99 is below 1 ms."
	write(t, filepath.Join(dir, "limit/result.json"), marshal(t, unclear))
	write(t, filepath.Join(dir, "bench-mutex/bench.json"), "{}")
	danger := result.Result{SchemaVersion: 1, Scenario: "danger", Outcome: result.AsExpected, Guard: "fencing", Clients: 5,
		Checks: []result.CheckLine{{Name: evidence.Effect}}}
	danger.Safety.Overlaps = new(int64(106))
	write(t, filepath.Join(dir, "danger-1/result.json"), marshal(t, danger))
	write(t, filepath.Join(dir, "broken/result.json"), "{")
	write(t, filepath.Join(dir, "begun/result.json"), marshal(t, result.Result{SchemaVersion: 1, Scenario: "begun"}))
	write(t, filepath.Join(dir, "lasts/result.json"), marshal(t, result.Result{SchemaVersion: 1, Scenario: "lasts"}))
	defer rundir.Occupy(filepath.Join(dir, "lasts"))()
	server := serve(t, dir)
	shown := func(query string) string {
		code, _, page := get(t, server, "/"+query)
		if code != 200 {
			t.Fatalf("%s: %d %s", query, code, page)
		}
		var names []string
		for _, row := range strings.Split(page, `name="run" value="`)[1:] {
			name, _, _ := strings.Cut(row, `"`)
			names = append(names, name)
		}
		return strings.Join(names, " ")
	}
	for query, want := range map[string]string{
		"?scenario=mutex":                  "two one",
		"?recipe=rw":                       "sweep/points/p/01",
		"?verdict=violation":               "two",
		"?verdict=running":                 "lasts",
		"?verdict=not-judged":              "begun",
		"?verdict=unreadable":              "broken",
		"?from=2026-03-02&to=2026-03-02":   "two",
		"?to=2026-03-01":                   "one",
		"?scenario=mutex&verdict=rw":       "",
		"?scenario=nowhere%22%3E%3Cscript": "",
	} {
		if got := shown(query); got != want {
			t.Errorf("%s shows %q, want %q", query, got, want)
		}
	}
	if all := strings.Fields(shown("")); len(all) != 9 {
		t.Errorf("all runs: %q", all)
	}
	_, _, page := get(t, server, "/")
	for _, want := range []string{`href="/files/one/report.html"`, `href="/live?run=lasts"`,
		`href="/files/sweep/report.html"`, `href="/files/sweep/points/p/01/result.json"`, "9 runs, the latest first",
		`sweep or search: <a href="/files/sweep/report.html"`, `bench: <a href="/files/bench-mutex/bench.json"`,
		`danger curve: <a href="/files/curve/report.html">curve/report.html</a><small>Not measured &lt;i&gt;\x1b ` +
			`(<span class="flag">--panels</span> worst). More of it.`, "…</small></li>",
		words.Upper(result.PlainName(evidence.Effect)) +
			`: c1 has no record; see <span class="flag">--txnlog-dir</span></small>`,
		"<small>Unknown whether p99 is below 1 ms.</small>",
		"Pass, though 106 overlaps were seen", `data-label="guard">fencing</td>`, `data-label="clients">5</td>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the list lacks %s", want)
		}
	}
	for _, not := range []string{"not this", "nor this", "A headline."} {
		if strings.Contains(page, not) {
			t.Errorf("the list says %q", not)
		}
	}
	if strings.Contains(page, `data-label="locks"`) {
		t.Error("the list shows a setting in which the runs do not differ")
	}
	if code, _, page := get(t, server, "/?from=yesterday"); code != 400 || !strings.Contains(page, "is not a day") {
		t.Errorf("a bad day: %d", code)
	}
	// A run that changes is read again.
	madeRun{"begun", "judged", "mutex", result.AsExpected, noon, 100, "<p>", ""}.make(t, dir)
	if got := shown("?scenario=judged"); got != "begun" {
		t.Errorf("after begun was judged: %q", got)
	}
}

// Two runs are shown beside each other, with what they differ in.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	madeRun{"a", "mutex", "mutex", result.AsExpected, noon, 100, "<p>", "<svg/>"}.make(t, dir)
	madeRun{"b", "mutex", "mutex", result.AsExpected, noon.Add(time.Hour), 50, "<p>", ""}.make(t, dir)
	write(t, filepath.Join(dir, "c/result.json"), "{")
	server := serve(t, dir)
	_, _, page := get(t, server, "/compare?run=a&run=b")
	for _, want := range []string{"×0.5", `<span class="fail">worse</span>`, "scenario.clients", "<td>10</td><td>5</td>",
		`src="/files/a/plots/timeline.svg"`, `href="/compare?run=b&amp;run=a"`, "acquired_per_s"} {
		if !strings.Contains(page, want) {
			t.Errorf("the comparison lacks %s:\n%s", want, page)
		}
	}
	if strings.Contains(page, `src="/files/b/`) {
		t.Error("a picture that is not there is shown")
	}
	if code, _, page := get(t, server, "/compare?run=a&run=c"); code != 200 || !strings.Contains(page, "Unreadable") {
		t.Errorf("with a run that cannot be read: %d", code)
	}
	if _, _, page := get(t, server, "/compare?run=a&run=a"); !strings.Contains(page, "Both are the same run") {
		t.Error("a run with itself")
	}
}

// evil is a text that does harm wherever it is not escaped.
const evil = `"><img src=x onerror=window.struck=1><script>window.struck=1</script>'&lt;{{.}}` + "\u202e"

// hostileName is a directory's name that does harm; a name cannot have a slash.
var hostileName = strings.ReplaceAll(evil, "/", "\\")

// hostile makes a run whose name and texts do harm, and b, which is harmless.
func hostile(t *testing.T, dir string) {
	t.Helper()
	madeRun{hostileName, evil, evil, result.Outcome(evil), noon, 100, "<script>window.struck=1</script>",
		evil}.make(t, dir)
	madeRun{"b", "mutex", "mutex", result.AsExpected, noon, 100, "<p>", ""}.make(t, dir)
	write(t, filepath.Join(dir, hostileName+"s", "index.html"), "<script>window.struck=1</script>")
}

// Names of directories and texts of results are shown and have no effect.
func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	hostile(t, dir)
	server := serve(t, dir)
	for _, path := range []string{"/", "/compare?run=" + url.QueryEscape(hostileName) + "&run=b",
		"/live?run=" + url.QueryEscape(hostileName), "/?scenario=" + url.QueryEscape(evil)} {
		code, _, page := get(t, server, path)
		page = regexp.MustCompile(` value="[^"]*"`).ReplaceAllString(page, "") // which is as it was chosen
		if code != 200 || strings.Contains(page, "<img src=x") || strings.Contains(page, "<script>") ||
			strings.Contains(page, "\u202e") {
			t.Errorf("%s: %d\n%s", path, code, page)
		}
	}
}
