package ensembles

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	dockernet "github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
	"github.com/testcontainers/testcontainers-go/network"
)

// Labels mark everything in the engine that is ours.
const (
	labelLab     = "locklab.lab"     // on containers and networks: the lab's id
	labelHost    = "locklab.host"    // on containers: the host's name
	labelImage   = "locklab.image"   // on images: base or host
	labelCreated = "locklab.created" // on containers and networks: Unix seconds
)

// ErrNoEngine says that no Docker engine answers.
var ErrNoEngine = errors.New("no Docker engine answers; install one (on Debian, as root: apt-get install docker.io) and start it, " +
	"or point DOCKER_HOST to one that you may use")

// engine is the Docker engine, as far as a lab needs one. This is the only file
// that knows testcontainers or the Docker client.
type engine struct {
	api *testcontainers.DockerClient
}

// openEngine connects to the engine that the environment names.
func openEngine(ctx context.Context) (*engine, error) {
	// The reaper's image may not be to be had, and agents clean up after
	// themselves; and where a /.dockerenv exists, testcontainers would take the
	// default gateway for the engine's host.
	os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
	if os.Getenv("TESTCONTAINERS_HOST_OVERRIDE") == "" && !strings.HasPrefix(os.Getenv("DOCKER_HOST"), "tcp://") {
		os.Setenv("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")
	}
	tclog.SetDefault(log.New(io.Discard, "", 0))
	// An engine that the environment names is the one to use or none is:
	// testcontainers would quietly go on to the next that answers.
	if os.Getenv("DOCKER_HOST") != "" {
		if err := pingNamed(ctx); err != nil {
			return nil, fmt.Errorf("%w: DOCKER_HOST=%s: %w", ErrNoEngine, os.Getenv("DOCKER_HOST"), err)
		}
	}
	api, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoEngine, err)
	}
	if _, err := api.Ping(ctx, client.PingOptions{}); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrNoEngine, err), api.Close())
	}
	return &engine{api: api}, nil
}

// pingNamed asks the engine that DOCKER_HOST names whether it is there.
func pingNamed(ctx context.Context) error {
	c, err := client.New(client.FromEnv)
	if err != nil {
		return err
	}
	_, err = c.Ping(ctx, client.PingOptions{})
	return errors.Join(err, c.Close())
}

func (e *engine) close() error { return e.api.Close() }

// imageID returns the id of a local image, or "" if there is none of that name.
func (e *engine) imageID(ctx context.Context, ref string) (string, error) {
	list, err := e.api.ImageList(ctx, client.ImageListOptions{Filters: client.Filters{}.Add("reference", ref)})
	if err != nil || len(list.Items) == 0 {
		return "", err
	}
	return list.Items[0].ID, nil
}

// pull gets an image from its registry.
func (e *engine) pull(ctx context.Context, ref string) error {
	p, err := e.api.ImagePull(ctx, ref, client.ImagePullOptions{})
	if err != nil {
		return err
	}
	defer p.Close()
	return p.Wait(ctx)
}

// importRoot makes an image of a root file system's tar.
func (e *engine) importRoot(ctx context.Context, root io.Reader, ref string, changes ...string) error {
	res, err := e.api.ImageImport(ctx, client.ImageImportSource{Source: root, SourceName: "-"}, ref, client.ImageImportOptions{Changes: changes})
	if err != nil {
		return err
	}
	defer res.Close()
	return streamError(res)
}

// streamError reads the engine's stream of JSON messages for an error in it.
func streamError(r io.Reader) error {
	dec := json.NewDecoder(r)
	for {
		var m struct {
			Error string `json:"error"`
		}
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if m.Error != "" {
			return errors.New(m.Error)
		}
	}
}

// hostImages returns the refs of our host images, newest first.
func (e *engine) hostImages(ctx context.Context) ([]string, error) {
	list, err := e.api.ImageList(ctx, client.ImageListOptions{Filters: client.Filters{}.Add("label", labelImage+"=host")})
	if err != nil {
		return nil, err
	}
	var refs []string
	for _, i := range list.Items {
		refs = append(refs, i.RepoTags...)
	}
	return refs, nil
}

// tag gives an image a second name.
func (e *engine) tag(ctx context.Context, ref, name string) error {
	_, err := e.api.ImageTag(ctx, client.ImageTagOptions{Source: ref, Target: name})
	return err
}

// removeImage removes an image that no container uses.
func (e *engine) removeImage(ctx context.Context, ref string) error {
	_, err := e.api.ImageRemove(ctx, ref, client.ImageRemoveOptions{PruneChildren: true})
	return err
}

// addNetwork makes a bridge network of its own for a lab. A subnet that is taken
// is reported as errSubnetTaken.
func (e *engine) addNetwork(ctx context.Context, lab string, subnet netip.Prefix) (name string, err error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startCap) // as in run
	defer cancel()
	n, err := network.New(ctx,
		network.WithLabels(map[string]string{labelLab: lab, labelCreated: now()}),
		network.WithIPAM(&dockernet.IPAM{Config: []dockernet.IPAMConfig{{Subnet: subnet, Gateway: subnet.Addr().Next()}}}))
	if err != nil {
		if strings.Contains(err.Error(), "overlap") {
			return "", fmt.Errorf("%w: %w", errSubnetTaken, err)
		}
		return "", fmt.Errorf("make network: %w", err)
	}
	return n.Name, nil
}

var errSubnetTaken = errors.New("subnet is taken")

func now() string { return fmt.Sprint(time.Now().Unix()) }

// A box is a container to run.
type box struct {
	lab, host, image, network string
	address                   netip.Addr
	hosts                     []string // "name:address" of the lab's other hosts
	env                       map[string]string
	ports                     []uint16 // published on 127.0.0.1
	tmpfs                     bool     // the data directory is a tmpfs, else a volume
	dataDir                   string
	files                     []File
	binary                    string // copied to binaryPath before the start, if not empty
}

// startCap bounds the start of one container, which takes a second or two.
const startCap = time.Minute

// run starts a container and returns where its ports are published.
func (e *engine) run(ctx context.Context, b box) (map[uint16]netip.AddrPort, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	loopback := netip.MustParseAddr("127.0.0.1")
	exposed := make([]string, len(b.ports))
	bindings := dockernet.PortMap{}
	for i, p := range b.ports {
		exposed[i] = fmt.Sprintf("%d/tcp", p)
		bindings[dockernet.MustParsePort(exposed[i])] = []dockernet.PortBinding{{HostIP: loopback}}
	}
	req := testcontainers.ContainerRequest{
		Entrypoint: []string{binaryPath, "agent"},
		Image:      b.image, Name: "locklab-" + b.lab + "-" + b.host, Env: b.env, ExposedPorts: exposed,
		Labels:         map[string]string{labelLab: b.lab, labelHost: b.host, labelCreated: now()},
		Networks:       []string{b.network},
		ConfigModifier: func(c *container.Config) { c.Hostname = b.host; c.User = "0:0" },
		HostConfigModifier: func(h *container.HostConfig) {
			h.AutoRemove = true // with its volumes, as soon as the agent exits
			h.CapDrop, h.CapAdd = []string{"ALL"}, []string{"NET_ADMIN"}
			h.PortBindings = bindings
			// Every name a host needs is in its hosts file; nothing asks the outside.
			h.DNS = []netip.Addr{loopback}
			h.ExtraHosts = b.hosts
			m := mount.Mount{Type: mount.TypeVolume, Target: b.dataDir}
			if b.tmpfs {
				m.Type = mount.TypeTmpfs
			}
			h.Mounts = append(h.Mounts, m)
		},
		EndpointSettingsModifier: func(s map[string]*dockernet.EndpointSettings) {
			s[b.network].IPAMConfig = &dockernet.EndpointIPAMConfig{IPv4Address: b.address}
		},
	}
	if b.binary != "" {
		req.Files = []testcontainers.ContainerFile{{HostFilePath: b.binary, ContainerFilePath: binaryPath, FileMode: 0o755}}
	}
	for _, f := range b.files {
		mode := int64(0o644)
		if f.Executable {
			mode = 0o755
		}
		req.Files = append(req.Files, testcontainers.ContainerFile{HostFilePath: f.Source, ContainerFilePath: f.Target, FileMode: mode})
	}
	// A start that is given up half way may come to an end in the engine after the
	// lab's containers have been listed for removal. So it is not given up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startCap)
	defer cancel()
	c, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{ContainerRequest: req, Started: true})
	if err != nil {
		return nil, fmt.Errorf("start host %s: %w", b.host, err)
	}
	published := map[uint16]netip.AddrPort{}
	ports, err := c.Ports(ctx)
	if err != nil {
		return nil, fmt.Errorf("start host %s: ports: %w", b.host, err)
	}
	for p, bound := range ports {
		for _, at := range bound {
			a, err := netip.ParseAddrPort(at.HostIP.String() + ":" + at.HostPort)
			if err != nil {
				return nil, fmt.Errorf("start host %s: port %v: %w", b.host, p, err)
			}
			published[p.Num()] = a
		}
	}
	return published, nil
}

// A leftover is a container or network that carries our label.
type leftover struct {
	id, name, lab string
	network       bool
	// running says that a container's process lives; an agent then looks after it.
	running bool
	created time.Time
}

// owned lists what carries our label; lab narrows it down if not empty.
func (e *engine) owned(ctx context.Context, lab string) ([]leftover, error) {
	label := labelLab
	if lab != "" {
		label += "=" + lab
	}
	filter := client.Filters{}.Add("label", label)
	var all []leftover
	boxes, err := e.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filter})
	if err != nil {
		return nil, err
	}
	for _, c := range boxes.Items {
		all = append(all, leftover{id: c.ID, name: strings.TrimPrefix(strings.Join(c.Names, ","), "/"), lab: c.Labels[labelLab],
			running: c.State == container.StateRunning, created: time.Unix(c.Created, 0)})
	}
	nets, err := e.api.NetworkList(ctx, client.NetworkListOptions{Filters: filter})
	if err != nil {
		return nil, err
	}
	for _, n := range nets.Items {
		all = append(all, leftover{id: n.ID, name: n.Name, lab: n.Labels[labelLab], network: true, created: n.Created})
	}
	return all, nil
}

// remove removes a container with its volumes, or a network. That it is gone
// already, or on its way, is no error.
func (e *engine) remove(ctx context.Context, l leftover) error {
	var err error
	if l.network {
		_, err = e.api.NetworkRemove(ctx, l.id, client.NetworkRemoveOptions{})
	} else {
		_, err = e.api.ContainerRemove(ctx, l.id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	}
	if err == nil || strings.Contains(err.Error(), "No such") || strings.Contains(err.Error(), "not found") ||
		strings.Contains(err.Error(), "already in progress") {
		return nil
	}
	return fmt.Errorf("remove %s: %w", l.name, err)
}
