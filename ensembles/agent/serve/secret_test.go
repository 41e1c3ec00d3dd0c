package serve

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// routes lists the pattern of every operation.
var routes = []string{
	"POST /lease", "POST /status", "POST /start", "POST /restart", "POST /pause", "POST /resume", "POST /kill",
	"POST /stop", "POST /input",
	"POST /block", "POST /delay", "POST /clear", "POST /reset", "POST /connections", "POST /relay", "POST /capabilities",
	"POST /probe",
	"POST /datagrams/expect", "POST /datagrams/send", "POST /datagrams/heard", "POST /zookeeper/write",
	"POST /zookeeper/nodes", "POST /stall", "POST /disk", "POST /unstall", "POST /clock", "GET /zookeeper/ruok",
	"GET /history?dir=agent&offset=0", "GET /file?path=p/log",
}

// request sends a raw request and returns the status code and body.
func (h *host) request(method, path, authorization, body string) (int, string) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, "http://"+h.address+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestEveryRouteWantsTheSecret(t *testing.T) {
	h := start(t, long)
	h.run("role-sleep")
	for _, route := range append(routes, "GET /", "POST /nothing") {
		method, path, _ := strings.Cut(route, " ")
		for _, wrong := range []string{"", "s3cret", "Bearer ", "Bearer s3cre", "Bearer s3cret2", "Basic s3cret"} {
			if code, body := h.request(method, path, wrong, "null"); code != http.StatusUnauthorized {
				t.Errorf("%s with authorization %q: %d %s", route, wrong, code, body)
			}
		}
	}
	if st := h.status(); st.State != "started" || st.Starts != 1 {
		t.Errorf("a request without the secret had an effect: %+v", st)
	}
}

func TestUnknownOperationsAreRefused(t *testing.T) {
	h := start(t, long)
	for route, want := range map[string]int{
		"POST /exec": http.StatusNotFound, "GET /": http.StatusNotFound, "POST /zookeeper": http.StatusNotFound,
		"GET /start": http.StatusMethodNotAllowed, "POST /file": http.StatusMethodNotAllowed,
		"DELETE /lease": http.StatusMethodNotAllowed,
	} {
		method, path, _ := strings.Cut(route, " ")
		if code, body := h.request(method, path, "Bearer s3cret", "null"); code != want {
			t.Errorf("%s: %d %s, want %d", route, code, body, want)
		}
	}
}

func TestBadBodiesAreRefused(t *testing.T) {
	h := start(t, long)
	for name, body := range map[string]string{
		"no JSON": "hello", "empty": "", "unknown field": `{"argv":["locklab","role-sleep"],"dir":"p","shell":true}`,
		"no program":   `{"argv":[],"dir":"p"}`,
		"file outside": `{"argv":["locklab","role-sleep"],"dir":"p","files":{"../x":"y"}}`,
		"too large":    `{"dir":"` + strings.Repeat("x", maxRequest) + `"}`,
	} {
		if code, answer := h.request("POST", "/start", "Bearer s3cret", body); code != http.StatusInternalServerError {
			t.Errorf("%s: %d %s", name, code, answer)
		}
	}
	if st := h.status(); st.Starts != 0 {
		t.Errorf("a bad request started a process: %+v", st)
	}
}

func TestAnAgentNeedsASecretAndALease(t *testing.T) {
	for name, cfg := range map[string]Config{"secret": {Lease: long}, "lease": {Secret: "s"}} {
		cfg.Root, cfg.Listen = t.TempDir(), "127.0.0.1:0"
		if err := Run(t.Context(), cfg); err == nil {
			t.Errorf("an agent without a %s ran", name)
		}
	}
}

// A process inherits the agent's environment, but not its secret.
func TestProcessesDoNotInheritTheSecret(t *testing.T) {
	t.Setenv("OTHER_LOCKLAB_WORD", "kept")
	h := start(t, long)
	h.run("role-env")
	env := strings.Split(h.log(1)[0], "\t")
	if !slices.Contains(env, "OTHER_LOCKLAB_WORD=kept") {
		t.Error("the process inherited no variable")
	}
	for _, v := range env {
		if strings.HasPrefix(v, "LOCKLAB_") || strings.Contains(v, "s3cret") {
			t.Errorf("the process has %s", v)
		}
	}
}
