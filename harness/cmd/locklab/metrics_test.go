package main

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"locklab/harness/history"
	"locklab/harness/run"
	"locklab/harness/watch"
)

// The numbers of the last progress can be scraped on loopback, by nobody who came by another name.
func TestMetricsAddr(t *testing.T) {
	var said bytes.Buffer
	shown := 0
	opts := run.Options{Progress: func(watch.Progress) { shown++ }}
	stop, err := metricsFlag{MetricsAddr: ":0"}.serve(&said, &opts)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`http://127\.0\.0\.1:(\d+)/metrics`).FindStringSubmatch(said.String())
	if found == nil {
		t.Fatalf("it says %q", said.String())
	}
	url, port := found[0], found[1]
	ask := func(method, url, host string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			req.Host = host
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		b, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(b)
	}
	opts.Progress(watch.Progress{Scenario: "mutex", Phase: history.PhaseMeasure, Acquired: 41})
	opts.Progress(watch.Progress{Scenario: "mutex", Phase: history.PhaseMeasure, Acquired: 42})
	const want = `locklab_acquisitions_total{scenario="mutex"} 42` + "\n"
	if code, body := ask("GET", url, ""); code != 200 || !strings.Contains(body, want) || shown != 2 {
		t.Errorf("%d, shown %d times: %s", code, shown, body)
	}
	for _, c := range []struct {
		method, path, host string
		code               int
	}{
		{"GET", "", "localhost:" + port, 200}, {"GET", "", "[::1]:" + port, 403}, {"GET", "", "localhost:1", 403},
		{"GET", "", "evil.example:" + port, 403}, {"GET", "", "127.0.0.1.evil.example", 403}, {"POST", "", "", 405},
		{"GET", "/../secret", "", 404},
	} {
		if code, body := ask(c.method, url+c.path, c.host); code != c.code {
			t.Errorf("%s %s at %s: %d, want %d: %s", c.method, c.path, c.host, code, c.code, body)
		}
	}
	stop()
	http.DefaultClient.CloseIdleConnections()
	if _, err := http.Get(url); err == nil {
		t.Error("it is served after the run")
	}
	if stop, err = (metricsFlag{}).serve(&said, &opts); err != nil {
		t.Error(err)
	}
	stop()
	for _, addr := range []string{"9464", ":port", "nowhere.invalid:1"} {
		code, _, stderr := runCLI(t, "run", "mutex", "--metrics-addr", addr, "--out", t.TempDir()+"/x")
		if code != exitInput || !strings.HasPrefix(lastLine(stderr), "locklab: --metrics-addr: ") {
			t.Errorf("%s: exit code %d: %s", addr, code, stderr)
		}
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
