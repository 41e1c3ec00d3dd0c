package labtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// An Owned is what the Docker engine holds of one lab.
type Owned struct {
	// Running are the names of containers whose process lives.
	Running []string
	// Created are those that were created and never started.
	Created []string
	// Other are containers in any other state: ending, or being removed.
	Other []string
	// IDs are the containers', whatever their state.
	IDs []string
	// Volumes are the names of the containers' volumes.
	Volumes []string
	// Networks are the lab's networks; Attached are the containers on them.
	Networks, Attached []string
}

// Labs asks the engine what it holds of each lab, by the label that every
// container and network of ours carries. It asks over the engine's socket itself:
// what is to be checked is our use of the engine, so this is a second witness.
func Labs(ctx context.Context) (map[string]*Owned, error) {
	labs := map[string]*Owned{}
	of := func(labels map[string]string) *Owned {
		id := labels["locklab.lab"]
		if labs[id] == nil {
			labs[id] = &Owned{}
		}
		return labs[id]
	}
	filter := url.Values{"filters": {`{"label":["locklab.lab"]}`}, "all": {"true"}}.Encode()
	var containers []struct {
		Id     string
		Names  []string
		State  string
		Labels map[string]string
		Mounts []struct{ Type, Name string }
	}
	if err := ask(ctx, "/containers/json?"+filter, &containers); err != nil {
		return nil, err
	}
	for _, c := range containers {
		o := of(c.Labels)
		o.IDs = append(o.IDs, c.Id)
		list := &o.Other
		switch c.State {
		case "running":
			list = &o.Running
		case "created":
			list = &o.Created
		}
		*list = append(*list, strings.TrimPrefix(strings.Join(c.Names, ","), "/"))
		for _, m := range c.Mounts {
			if m.Type == "volume" {
				o.Volumes = append(o.Volumes, m.Name)
			}
		}
	}
	var networks []struct {
		Id, Name string
		Labels   map[string]string
	}
	if err := ask(ctx, "/networks?"+filter, &networks); err != nil {
		return nil, err
	}
	for _, n := range networks {
		o := of(n.Labels)
		o.Networks = append(o.Networks, n.Name)
		var whole struct {
			Containers map[string]struct{ Name string }
		}
		// One that has gone meanwhile has nothing on it.
		if err := ask(ctx, "/networks/"+n.Id, &whole); err != nil && !strings.Contains(err.Error(), "404") {
			return nil, err
		}
		for _, c := range whole.Containers {
			o.Attached = append(o.Attached, c.Name)
		}
	}
	return labs, nil
}

// AwaitGone waits until nothing of a lab is left but what an unlucky moment may
// leave: an empty network, and containers that were created and never started,
// with their volumes. volumes are those that it was seen to have before.
func AwaitGone(t testing.TB, lab string, volumes []string, within time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), within)
	defer cancel()
	poll := time.NewTicker(200 * time.Millisecond)
	defer poll.Stop()
	for {
		left, err := remaining(ctx, lab, volumes)
		if err == nil && left == "" {
			return
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			t.Errorf("lab %s: %v after the harness ended there is still %s (%v)", lab, within, left, err)
			return
		}
	}
}

func remaining(ctx context.Context, lab string, volumes []string) (string, error) {
	labs, err := Labs(ctx)
	if err != nil {
		return "something, as far as is known", err
	}
	o := labs[lab]
	if o == nil {
		o = &Owned{}
	}
	if len(o.Running)+len(o.Other)+len(o.Attached) > 0 {
		return fmt.Sprintf("running %v, ending %v, on its network %v", o.Running, o.Other, o.Attached), nil
	}
	var all struct{ Volumes []struct{ Name string } }
	if err := ask(ctx, "/volumes", &all); err != nil {
		return "something, as far as is known", err
	}
	for _, v := range all.Volumes {
		if slices.Contains(volumes, v.Name) && !slices.Contains(o.Volumes, v.Name) {
			return "volume " + v.Name, nil
		}
	}
	return "", nil
}

// ask sends a GET to the engine.
func ask(ctx context.Context, path string, into any) error {
	host := os.Getenv("DOCKER_HOST")
	if host == "" {
		host = "unix:///var/run/docker.sock"
	}
	network, address, ok := strings.Cut(host, "://")
	if !ok {
		return fmt.Errorf("DOCKER_HOST %q is no address", host)
	}
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine"+path, nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("engine: %s: %s", path, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}
