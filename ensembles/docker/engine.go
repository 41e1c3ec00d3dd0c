package docker

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

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	dockernet "github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
	"github.com/testcontainers/testcontainers-go/network"

	"locklab/ensembles"
	"locklab/harness/fail"
)

// The labels mark everything in the engine that locklab has made.
const (
	labelLab     = "locklab.lab"     // on containers and networks: the id of the lab
	labelHost    = "locklab.host"    // on containers: the name of the host
	labelImage   = "locklab.image"   // on images: base or host
	labelCreated = "locklab.created" // on containers and networks: Unix seconds
)

// ErrNoEngine says that no Docker engine answers.
var ErrNoEngine = fail.Environment.New("no Docker engine answers; install one (on Debian, as root: apt-get install " +
	"docker.io) and start it, or point DOCKER_HOST to one that you may use")

// engine is the part of the Docker engine that a lab uses. Only this file imports testcontainers or the Docker
// client.
type engine struct {
	api *testcontainers.DockerClient
}

// openEngine connects to the engine that the environment names.
func openEngine(ctx context.Context) (*engine, error) {
	// Leases remove the containers of a harness that was killed.
	// Where a /.dockerenv exists, testcontainers would take the default gateway for the engine's host.
	os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
	if os.Getenv("TESTCONTAINERS_HOST_OVERRIDE") == "" && !strings.HasPrefix(os.Getenv("DOCKER_HOST"), "tcp://") {
		os.Setenv("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")
	}
	tclog.SetDefault(log.New(io.Discard, "", 0))
	// If the environment names an engine, no other may be used. Testcontainers would silently try the next one.
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

// pingNamed reports whether the engine that DOCKER_HOST names answers.
func pingNamed(ctx context.Context) error {
	c, err := client.New(client.FromEnv)
	if err != nil {
		return err
	}
	_, err = c.Ping(ctx, client.PingOptions{})
	return errors.Join(err, c.Close())
}

func (e *engine) close() error { return e.api.Close() }

// hasImage reports whether the engine has an image of that name.
func (e *engine) hasImage(ctx context.Context, ref string) (bool, error) {
	_, err := e.api.ImageInspect(ctx, ref)
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// imageID returns the hexadecimal digits of an image's ID.
func (e *engine) imageID(ctx context.Context, ref string) (string, error) {
	i, err := e.api.ImageInspect(ctx, ref)
	return strings.TrimPrefix(i.ID, "sha256:"), err
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

// importRoot makes an image from the tar of a root file system.
func (e *engine) importRoot(ctx context.Context, root io.Reader, ref string, changes ...string) error {
	source := client.ImageImportSource{Source: root, SourceName: "-"}
	res, err := e.api.ImageImport(ctx, source, ref, client.ImageImportOptions{Changes: changes})
	if err != nil {
		return err
	}
	defer res.Close()
	return streamError(res)
}

// imageJars reads ZooKeeper's jars from an image.
func (e *engine) imageJars(ctx context.Context, image, lab string) (found jars, err error) {
	err = e.inside(ctx, image, lab, func(id string) error {
		files, err := e.api.ContainerExport(ctx, id, client.ContainerExportOptions{})
		if err != nil {
			return fmt.Errorf("look into image %s: %w", image, err)
		}
		defer files.Close()
		found, err = jarsIn(files)
		return err
	})
	return found, err
}

// addToImage makes an image of hosts from another one and a tar that is unpacked at its root.
func (e *engine) addToImage(ctx context.Context, image, lab string, more io.Reader, ref string) error {
	return e.inside(ctx, image, lab, func(id string) error {
		_, err := e.api.CopyToContainer(ctx, id, client.CopyToContainerOptions{DestinationPath: "/", Content: more})
		if err == nil {
			_, err = e.api.ContainerCommit(ctx, id, client.ContainerCommitOptions{Reference: ref, Changes: []string{hostLabel}})
		}
		return err
	})
}

// inside calls f with the ID of a container of an image. The container is never started, and removed afterwards. A
// killed harness leaves it to the next run, with the others of the lab.
func (e *engine) inside(ctx context.Context, image, lab string, f func(id string) error) (err error) {
	config := &container.Config{Image: image, Cmd: []string{binaryPath},
		Labels: map[string]string{labelLab: lab, labelCreated: now()}}
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), startCap) // as in run
	defer cancel()
	made, err := e.api.ContainerCreate(whole, client.ContainerCreateOptions{Config: config})
	if err != nil {
		return fmt.Errorf("make a container of image %s: %w", image, err)
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), startCap)
		defer cancel()
		err = errors.Join(err, e.remove(clean, leftover{id: made.ID, name: "container of " + image}))
	}()
	return f(made.ID)
}

// streamError reads the engine's stream of JSON messages and returns the error in it, if any.
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

// hostImages returns the names of the host images that locklab has made, newest first.
func (e *engine) hostImages(ctx context.Context) ([]string, error) {
	filter := client.Filters{}.Add("label", labelImage+"=host")
	list, err := e.api.ImageList(ctx, client.ImageListOptions{Filters: filter})
	if err != nil {
		return nil, err
	}
	var refs []string
	for _, i := range list.Items {
		for _, ref := range i.RepoTags {
			if ref == untagged {
				ref = i.ID
			}
			refs = append(refs, ref)
		}
	}
	return refs, nil
}

// untagged is what some versions of the engine call an image that has lost its name to another one, as when two
// processes make the same image at the same time. Nothing can be removed by that name.
const untagged = "<none>:<none>"

// tag gives an image a second name.
func (e *engine) tag(ctx context.Context, ref, name string) error {
	_, err := e.api.ImageTag(ctx, client.ImageTagOptions{Source: ref, Target: name})
	return err
}

// removeImage removes an image unless a container uses it. It returns no error if the image does not exist.
func (e *engine) removeImage(ctx context.Context, ref string) error {
	_, err := e.api.ImageRemove(ctx, ref, client.ImageRemoveOptions{PruneChildren: true})
	if errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return nil
	}
	return err
}

// addNetwork makes a bridge network for a lab. If the subnet is in use, it returns errSubnetTaken.
func (e *engine) addNetwork(ctx context.Context, lab string, subnet netip.Prefix) (name string, err error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startCap) // as in run
	defer cancel()
	ipam := dockernet.IPAMConfig{Subnet: subnet, Gateway: subnet.Addr().Next()}
	n, err := network.New(ctx,
		network.WithLabels(map[string]string{labelLab: lab, labelCreated: now()}),
		network.WithIPAM(&dockernet.IPAM{Config: []dockernet.IPAMConfig{ipam}}))
	if err != nil {
		// The engine answers a subnet that overlaps another network's with 403 Forbidden.
		if errdefs.IsPermissionDenied(err) || errdefs.IsConflict(err) {
			return "", fmt.Errorf("%w: %w", errSubnetTaken, err)
		}
		return "", fmt.Errorf("make network: %w", err)
	}
	return n.Name, nil
}

var errSubnetTaken = errors.New("the subnet is in use")

// errMiscounted says that a network cannot be removed although no container is attached to it.
var errMiscounted = fail.Environment.New("the Docker engine takes a network without containers for one in use; " +
	"a restart of the engine mends that")

// isEmpty reports whether a network exists and no container is attached to it.
func (e *engine) isEmpty(network leftover) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	n, err := e.api.NetworkInspect(ctx, network.id, client.NetworkInspectOptions{})
	return err == nil && len(n.Network.Containers) == 0
}

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
	files                     []ensembles.File
	more                      io.Reader // a tar that is unpacked at the root, or nil
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
		Entrypoint:     []string{binaryPath, "agent"},
		Image:          b.image,
		Name:           "locklab-" + b.lab + "-" + b.host,
		Env:            b.env,
		ExposedPorts:   exposed,
		Labels:         map[string]string{labelLab: b.lab, labelHost: b.host, labelCreated: now()},
		Networks:       []string{b.network},
		ConfigModifier: func(c *container.Config) { c.Hostname = b.host; c.User = "0:0" },
		HostConfigModifier: func(h *container.HostConfig) {
			h.AutoRemove = true // with its volumes, as soon as the agent exits
			h.CapDrop, h.CapAdd = []string{"ALL"}, []string{"NET_ADMIN"}
			h.PortBindings = bindings
			// Every name that a host needs is in its hosts file; no query may leave the lab.
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
	for _, f := range b.files {
		mode := int64(0o644)
		if f.Executable {
			mode = 0o755
		}
		req.Files = append(req.Files,
			testcontainers.ContainerFile{HostFilePath: f.Source, ContainerFilePath: f.Target, FileMode: mode})
	}
	// The start is not cancelled half way: the engine might complete it after the lab's containers have been listed
	// for removal.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startCap)
	defer cancel()
	c, err := testcontainers.GenericContainer(ctx,
		testcontainers.GenericContainerRequest{ContainerRequest: req, Started: true})
	if err != nil {
		return nil, err
	}
	if b.more != nil {
		_, err := e.api.CopyToContainer(ctx, c.GetContainerID(),
			client.CopyToContainerOptions{DestinationPath: "/", Content: b.more})
		if err != nil {
			return nil, fmt.Errorf("copy files: %w", err)
		}
	}
	published := map[uint16]netip.AddrPort{}
	ports, err := c.Ports(ctx)
	if err != nil {
		return nil, fmt.Errorf("ports: %w", err)
	}
	for p, bound := range ports {
		for _, at := range bound {
			a, err := netip.ParseAddrPort(at.HostIP.String() + ":" + at.HostPort)
			if err != nil {
				return nil, fmt.Errorf("port %v: %w", p, err)
			}
			published[p.Num()] = a
		}
	}
	return published, nil
}

// A leftover is a container or network that carries the label of a lab.
type leftover struct {
	id, name, lab string
	network       bool
	// running says that the container's process is alive. Its agent then removes it when its lease lapses.
	running bool
	created time.Time
}

// owned lists the containers and networks of a lab, or of all labs if lab is empty.
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
		all = append(all, leftover{id: c.ID, lab: c.Labels[labelLab],
			name:    strings.TrimPrefix(strings.Join(c.Names, ","), "/"),
			running: c.State == container.StateRunning, created: time.Unix(c.Created, 0)})
	}
	nets, err := e.api.NetworkList(ctx, client.NetworkListOptions{Filters: filter})
	if err != nil {
		return nil, err
	}
	for _, n := range nets.Items {
		all = append(all,
			leftover{id: n.ID, lab: n.Labels[labelLab], name: n.Name, network: true, created: n.Created})
	}
	return all, nil
}

// remove removes a container with its volumes, or a network. It returns no error if the object does not exist, or if
// the engine is already removing it.
func (e *engine) remove(ctx context.Context, l leftover) error {
	var err error
	if l.network {
		_, err = e.api.NetworkRemove(ctx, l.id, client.NetworkRemoveOptions{})
	} else {
		_, err = e.api.ContainerRemove(ctx, l.id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		if errdefs.IsConflict(err) {
			return nil // "removal of container … is already in progress"
		}
	}
	if err == nil || errdefs.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("remove %s: %w", l.name, err)
}
