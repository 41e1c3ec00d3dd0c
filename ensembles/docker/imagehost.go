package docker

import (
	"archive/tar"
	"bytes"
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

// images are the two images of a lab's hosts.
type images struct {
	// base has Java and ZooKeeper. The binary is copied into it before a host starts.
	base string
	// plain has nothing but the binary.
	plain string
}

// plainHost is the name of the plain images. Each is tagged with the hash of its binary, so that a new binary never
// runs in an old image.
const plainHost = "locklab/host"

// binaryPath is where hosts have the binary.
const binaryPath = "/locklab"

// keepHostImages is how many plain images are kept, which is enough for a bisection.
const keepHostImages = 4

// findImages returns the images of a lab's hosts. It makes the plain one unless the engine has it. The base image may
// be absent if no host needs it.
func findImages(ctx context.Context, e *engine, binary string, hosts []ensembles.HostSpec) (images, error) {
	base, err := findBase(ctx, e)
	if err != nil && (!errors.Is(err, ErrNoImage) || slices.ContainsFunc(hosts, needsBase)) {
		return images{}, err
	}
	if err := ensembles.CheckBinary(binary); err != nil {
		return images{}, err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return images{}, err
	}
	sum := sha256.Sum256(content)
	im := images{base: base, plain: plainHost + ":" + hex.EncodeToString(sum[:6])}
	if there, err := e.hasImage(ctx, im.plain); err != nil || there {
		return im, err
	}
	root, err := tarOf(strings.TrimPrefix(binaryPath, "/"), content)
	if err != nil {
		return images{}, err
	}
	if err := e.importRoot(ctx, root, im.plain, "LABEL "+labelImage+"=host"); err != nil {
		return images{}, fmt.Errorf("make image %s: %w", im.plain, err)
	}
	return im, pruneHostImages(ctx, e, keepHostImages)
}

// needsBase reports whether a host needs the base image.
func needsBase(h ensembles.HostSpec) bool {
	return h.Base || h.Role == ensembles.Server && (ensembles.IsDir(h.First()) || h.First() == ensembles.DefaultVersion ||
		slices.Contains(h.Versions, ensembles.DefaultVersion))
}

// pruneHostImages removes all plain images but the newest ones. An image that a container uses stays.
func pruneHostImages(ctx context.Context, e *engine, keep int) error {
	refs, err := e.hostImages(ctx)
	if err != nil {
		return err
	}
	for _, ref := range refs[min(keep, len(refs)):] {
		if err := e.removeImage(ctx, ref); err != nil {
			return fmt.Errorf("remove image %s: %w", ref, err)
		}
	}
	return nil
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
