package labtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/ensembles"
)

// Owned is what the Docker engine holds of one lab.
type Owned struct {
	// Running are the names of containers whose process is alive.
	Running []string
	// Created are the names of containers that were created and never started.
	Created []string
	// Other are the names of containers in any other state: ending, or being removed.
	Other []string
	// IDs are the containers' ids, whatever their state.
	IDs []string
	// Volumes are the names of the containers' volumes.
	Volumes []string
	// Networks are the names of the lab's networks.
	Networks []string
}

// Labs returns what the engine holds of each lab, by the label that every container and network of a lab carries. It
// talks to the engine's socket itself, because a check of how locklab uses the engine must not depend on locklab's
// own code.
func Labs(ctx context.Context) (map[string]*Owned, error) {
	labs := map[string]*Owned{}
	lab := func(labels map[string]string) *Owned {
		id := labels[labLabel]
		if labs[id] == nil {
			labs[id] = &Owned{}
		}
		return labs[id]
	}
	labelled := url.Values{"filters": {`{"label":["` + labLabel + `"]}`}, "all": {"true"}}.Encode()
	var containers []struct {
		Id     string
		Names  []string
		State  string
		Labels map[string]string
		Mounts []struct{ Type, Name string }
	}
	if err := query(ctx, "/containers/json?"+labelled, &containers); err != nil {
		return nil, err
	}
	for _, c := range containers {
		o := lab(c.Labels)
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
	var networks []dockerNetwork
	if err := query(ctx, "/networks?"+labelled, &networks); err != nil {
		return nil, err
	}
	for _, n := range networks {
		o := lab(n.Labels)
		o.Networks = append(o.Networks, n.Name)
	}
	return labs, nil
}

// labLabel is the label of every container and network of a lab, as the engine has it.
const labLabel = "locklab.lab"

// AwaitGone waits until nothing of a lab is left but what a harness that was killed may leave: its empty network, and
// containers that never ran. None of the volumes that it had before is left. Then it removes the rest, as the next run
// would.
func AwaitGone(t testing.TB, lab string, volumes []string, within time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), within)
	defer cancel()
	if err := ensembles.Poll(ctx, 200*time.Millisecond, "lab "+lab+" to be gone", func() error {
		return remaining(ctx, lab, volumes)
	}); err != nil {
		t.Errorf("%v after the harness ended: %v", within, err)
		return
	}
	// Another run may be removing the same at this moment, so what is gone in the end counts, and not each answer.
	ctx, cancel = context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
	defer cancel()
	if err := ensembles.Poll(ctx, 200*time.Millisecond, "what never ran of lab "+lab+" to be removed", func() error {
		labs, err := Labs(ctx)
		if err != nil || labs[lab] == nil {
			return err
		}
		for _, id := range labs[lab].IDs {
			err = errors.Join(err, remove(ctx, "/containers/"+id+"?v=true"))
		}
		for _, name := range labs[lab].Networks {
			err = errors.Join(err, remove(ctx, "/networks/"+name))
		}
		return err
	}); err != nil && !miscounted(t, lab) {
		t.Error(err)
	}
}

// miscounted reports whether nothing is left of a lab but a network without containers, which the engine refuses to
// remove: it has miscounted, and only its restart mends that.
func miscounted(t testing.TB, lab string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
	defer cancel()
	labs, err := Labs(ctx)
	if err != nil || labs[lab] == nil || len(labs[lab].IDs) > 0 {
		return false
	}
	for _, name := range labs[lab].Networks {
		var n struct{ Containers map[string]any }
		if query(ctx, "/networks/"+name, &n) != nil || len(n.Containers) > 0 {
			return false
		}
	}
	t.Logf("the engine keeps an empty network of lab %s", lab)
	return true
}

// remaining returns an error that names what is left of a lab beside an empty network and containers that never ran.
func remaining(ctx context.Context, lab string, volumes []string) error {
	labs, err := Labs(ctx)
	if err != nil {
		return err
	}
	o := labs[lab]
	if o == nil {
		o = &Owned{}
	}
	if len(o.Running)+len(o.Other) > 0 {
		return fmt.Errorf("left: %+v", *o)
	}
	var all struct{ Volumes []struct{ Name string } }
	if err := query(ctx, "/volumes", &all); err != nil {
		return err
	}
	for _, v := range all.Volumes {
		if slices.Contains(volumes, v.Name) && !slices.Contains(o.Volumes, v.Name) {
			return fmt.Errorf("volume %s is left", v.Name)
		}
	}
	return nil
}

// A dockerNetwork is a network as the engine describes it.
type dockerNetwork struct {
	Id, Name, Driver string
	Labels, Options  map[string]string
	IPAM             struct {
		Config []struct{ Subnet netip.Prefix }
	}
}

// bridge is the interface on the host that Docker made for the network.
func (n dockerNetwork) bridge() string {
	if name := n.Options["com.docker.network.bridge.name"]; name != "" {
		return name
	}
	return "br-" + n.Id[:12]
}

// contains reports whether the network has an address.
func (n dockerNetwork) contains(a netip.Addr) bool {
	for _, c := range n.IPAM.Config {
		if c.Subnet.Contains(a) {
			return true
		}
	}
	return false
}

// bridges lists the engine's bridge networks; none if there is no engine that this user can reach.
func bridges(ctx context.Context) ([]dockerNetwork, error) {
	var all []dockerNetwork
	err := query(ctx, "/networks", &all)
	if op, is := errors.AsType[*net.OpError](err); is && op.Op == "dial" {
		return nil, nil
	}
	return slices.DeleteFunc(all, func(n dockerNetwork) bool { return n.Driver != "bridge" }), err
}

// Bridge is the interface on the host that Docker made for a lab's network.
func Bridge(t testing.TB, lab string) string {
	t.Helper()
	networks, err := bridges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(networks, func(n dockerNetwork) bool { return n.Labels[labLabel] == lab })
	if i < 0 {
		t.Fatalf("lab %s has no network", lab)
	}
	return networks[i].bridge()
}

// errNotFound means that the engine does not know the object in question.
var errNotFound = errors.New("not found")

// query sends a GET request to the engine and decodes the answer.
func query(ctx context.Context, path string, into any) error {
	return ask(ctx, http.MethodGet, path, into)
}

// remove removes an object of the engine, which may be gone already.
func remove(ctx context.Context, path string) error {
	if err := ask(ctx, http.MethodDelete, path, nil); !errors.Is(err, errNotFound) {
		return err
	}
	return nil
}

// ask sends a request to the engine and decodes the answer, if there is one.
func ask(ctx context.Context, method, path string, into any) error {
	host := os.Getenv("DOCKER_HOST")
	if host == "" {
		host = "unix:///var/run/docker.sock"
	}
	network, address, ok := strings.Cut(host, "://")
	if !ok {
		return fmt.Errorf("DOCKER_HOST %q is not an address", host)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://engine"+path, nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Transport{DisableKeepAlives: true, DialContext: dial}).RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return json.NewDecoder(resp.Body).Decode(into)
	case http.StatusNoContent:
		return nil
	case http.StatusNotFound:
		return fmt.Errorf("engine: %s: %w", path, errNotFound)
	}
	return fmt.Errorf("engine: %s: %s", path, resp.Status)
}
