package docker

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"locklab/ensembles"
)

// images are the images of a lab's hosts. Those with the binary are made once and kept, because copying the binary
// into each container would be most of the work of starting a lab.
type images struct {
	// base has Java and ZooKeeper.
	base string
	// plain has nothing but the binary.
	plain string
	// with are the other images with the binary added, by the names of those without.
	with map[string]string
}

// hostImage is the name of the images that have the binary. Each is tagged with the hash of its binary, so that a new
// binary never runs in an old image, and with the ID of the image that the binary was added to, if any.
const hostImage = "locklab/host"

// binaryPath is where hosts have the binary.
const binaryPath = "/locklab"

// keepBinaries is for how many binaries the images are kept, which is enough for a bisection.
const keepBinaries = 4

// findImages returns the images of a lab's hosts, with the versions of ZooKeeper that its servers need. It makes those
// with the binary that the engine does not have. The base image may be absent if no host needs it.
func findImages(ctx context.Context, e *engine, lab string, cfg ensembles.LabConfig) (images, *versions, error) {
	base, err := findBase(ctx, e)
	if err != nil && (!errors.Is(err, ErrNoImage) || slices.ContainsFunc(cfg.Hosts, needsBase)) {
		return images{}, nil, err
	}
	v, err := findVersions(ctx, e, base, lab, cfg.Hosts)
	if err != nil {
		return images{}, nil, err
	}
	if err := ensembles.CheckBinary(cfg.Binary); err != nil {
		return images{}, nil, err
	}
	content, err := os.ReadFile(cfg.Binary)
	if err != nil {
		return images{}, nil, err
	}
	sum := sha256.Sum256(content)
	im := images{base: base, plain: hostImage + ":" + hex.EncodeToString(sum[:6]), with: map[string]string{}}
	if err := ensureImage(ctx, e, im.plain, content, func(root io.Reader) error {
		return e.importRoot(ctx, root, im.plain, hostLabel)
	}); err != nil {
		return images{}, nil, err
	}
	for _, h := range cfg.Hosts {
		image := v.hostImage(h)
		if image == "" || im.with[image] != "" {
			continue
		}
		id, err := e.imageID(ctx, image)
		if err != nil {
			return images{}, nil, fmt.Errorf("look for image %s: %w", image, err)
		}
		ref := im.plain + "-" + id[:12]
		if err := ensureImage(ctx, e, ref, content, func(root io.Reader) error {
			return e.addToImage(ctx, image, lab, root, ref)
		}); err != nil {
			return images{}, nil, err
		}
		im.with[image] = ref
	}
	return im, v, pruneHostImages(ctx, e, keepBinaries)
}

// ensureImage makes an image from the tar of the binary unless the engine has it.
func ensureImage(ctx context.Context, e *engine, ref string, binary []byte, from func(root io.Reader) error) error {
	if there, err := e.hasImage(ctx, ref); err != nil || there {
		return err
	}
	root, err := tarOf(strings.TrimPrefix(binaryPath, "/"), binary)
	if err == nil {
		err = from(root)
	}
	if err != nil {
		return fmt.Errorf("make image %s: %w", ref, err)
	}
	return nil
}

// hostLabel marks an image that has the binary.
const hostLabel = "LABEL " + labelImage + "=host"

func (im images) of(h ensembles.HostSpec, v *versions) string {
	return cmp.Or(im.with[v.hostImage(h)], im.plain)
}

func needsBase(h ensembles.HostSpec) bool {
	return h.Base || h.Role == ensembles.Server && (ensembles.IsDir(h.First()) || h.First() == ensembles.DefaultVersion ||
		slices.Contains(h.Versions, ensembles.DefaultVersion))
}

// pruneHostImages removes the images of all binaries but the newest ones. An image that a container uses stays.
func pruneHostImages(ctx context.Context, e *engine, keep int) error {
	refs, err := e.hostImages(ctx)
	if err != nil {
		return err
	}
	for _, ref := range outdated(refs, keep) {
		if err := e.removeImage(ctx, ref); err != nil {
			return fmt.Errorf("remove image %s: %w", ref, err)
		}
	}
	return nil
}

// outdated returns those of the images, which are sorted by age, that have none of the first binaries.
func outdated(refs []string, keep int) []string {
	kept, old := map[string]bool{}, []string(nil)
	for _, ref := range refs {
		binary, _, _ := strings.Cut(ref, "-")
		if len(kept) < keep {
			kept[binary] = true
		}
		if !kept[binary] {
			old = append(old, ref)
		}
	}
	return old
}

// tarOf returns a tar with one executable file.
func tarOf(name string, content []byte) (io.Reader, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	return &b, w.Close()
}
