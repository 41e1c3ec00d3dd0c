package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
)

// The unexported identifiers that external tests use.
const (
	LabelLab = labelLab
	CleanAge = cleanAge
)

// The unexported errors that external tests look for.
var ErrSubnetTaken, ErrMiscounted = errSubnetTaken, errMiscounted

// A TestEngine sends requests to the engine that the package itself does not need.
type TestEngine struct {
	e    *engine
	http http.Client
}

// OpenTestEngine connects to the engine as a lab does.
func OpenTestEngine(ctx context.Context) (*TestEngine, error) {
	e, err := openEngine(ctx)
	if err != nil {
		return nil, err
	}
	dial := e.api.Dialer()
	return &TestEngine{e: e, http: http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}}}, nil
}

// Close closes all connections.
func (t *TestEngine) Close() error {
	t.http.CloseIdleConnections()
	return t.e.close()
}

// Call sends a request of the engine's API and decodes the answer, unless into is nil.
func (t *TestEngine) Call(ctx context.Context, method, path string, body io.Reader, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://engine"+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := t.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 300:
		b, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, b)
	case into != nil:
		return json.NewDecoder(resp.Body).Decode(into)
	}
	return nil
}

// Export reads a container's root as a tar.
func (t *TestEngine) Export(ctx context.Context, id string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, "GET", "http://engine/containers/"+id+"/export", nil)
	if err != nil {
		return nil, err
	}
	resp, err := t.http.Do(req)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// ImportRoot makes an image from the tar of a root file system.
func (t *TestEngine) ImportRoot(ctx context.Context, root io.Reader, ref string, changes ...string) error {
	return t.e.importRoot(ctx, root, ref, changes...)
}

// AddNetwork makes a lab's network.
func (t *TestEngine) AddNetwork(ctx context.Context, lab string, subnet netip.Prefix) error {
	_, err := t.e.addNetwork(ctx, lab, subnet)
	return err
}

// RemoveLab removes a lab's containers and networks.
func (t *TestEngine) RemoveLab(ctx context.Context, lab string) error {
	return removeLab(ctx, t.e, lab)
}
