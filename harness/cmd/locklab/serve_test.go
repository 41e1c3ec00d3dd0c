package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"locklab/harness/console"
)

// serve prints its address, answers there, and ends when it is stopped.
func TestServe(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, []string{"serve", t.TempDir(), "--listen", "127.0.0.1:0"},
			console.Streams{Out: in, Err: &stderr})
	}()
	line := make([]byte, 100)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(page), "no runs in this directory") {
		t.Errorf("%s, %v:\n%s", answer.Status, err, page)
	}
	answer.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	stop()
	if code := <-ended; code != exitOK || stderr.Len() > 0 {
		t.Errorf("exit %d: %s", code, &stderr)
	}
}
