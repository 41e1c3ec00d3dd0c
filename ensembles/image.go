package ensembles

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Names of images: bases with Java and ZooKeeper, and one with our binary only.
const (
	OfficialImage = "zookeeper:3.9"
	DebianImage   = "locklab/zookeeper:debian"
	plainHost     = "locklab/host"
)

// EnvImage names a base image to use instead of looking for one.
const EnvImage = "LOCKLAB_ZOOKEEPER_IMAGE"

// ErrNoImage says that there is no image with Java and ZooKeeper yet.
var ErrNoImage = errors.New("no ZooKeeper image is present")

// ErrMissingTool says that a program is missing that building the image needs.
var ErrMissingTool = errors.New("missing program")

type images struct{ base, plain string }

// FindImage returns the base image to use: the one that the environment names,
// the official one if it is present, else the one built from Debian's packages.
func FindImage(ctx context.Context) (string, error) {
	e, err := openEngine(ctx)
	if err != nil {
		return "", err
	}
	ref, err := findBase(ctx, e)
	return ref, errors.Join(err, e.close())
}

func findBase(ctx context.Context, e *engine) (string, error) {
	candidates := []string{OfficialImage, DebianImage}
	if named := os.Getenv(EnvImage); named != "" {
		candidates = []string{named}
	}
	for _, ref := range candidates {
		id, err := e.imageID(ctx, ref)
		if err != nil {
			return "", fmt.Errorf("look for image %s: %w", ref, err)
		}
		if id != "" {
			return ref, nil
		}
	}
	return "", fmt.Errorf("%w (looked for %s); make one with: make image", ErrNoImage, strings.Join(candidates, ", "))
}

// EnsureImage makes sure that a base image is present: the official one if it
// can be pulled, else, with build, one of the same contract made from Debian's
// packages, and without it ErrNoImage. It says on log what it does; building takes
// about a minute.
func EnsureImage(ctx context.Context, build bool, log *slog.Logger) (string, error) {
	e, err := openEngine(ctx)
	if err != nil {
		return "", err
	}
	defer e.close()
	ref, missing := findBase(ctx, e)
	if missing == nil || !errors.Is(missing, ErrNoImage) {
		return ref, missing
	}
	want := OfficialImage
	if named := os.Getenv(EnvImage); named != "" {
		want = named
	}
	pull, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if err := e.pull(pull, want); err == nil {
		log.Info("pulled image", "image", want)
		return want, nil
	} else if want != OfficialImage {
		return "", fmt.Errorf("pull %s, which %s names: %w", want, EnvImage, err)
	}
	if !build {
		return "", missing
	}
	log.Info("no image can be pulled; building one from Debian's packages, about a minute")
	begun := time.Now()
	if err := buildDebian(ctx, e); err != nil {
		return "", fmt.Errorf("build image: %w", err)
	}
	log.Info("built image", "image", DebianImage, "took", time.Since(begun).Round(100*time.Millisecond))
	return DebianImage, nil
}

// buildDebian streams a minimal Debian root with Java and ZooKeeper into the
// engine.
func buildDebian(ctx context.Context, e *engine) error {
	tool, err := exec.LookPath("mmdebstrap")
	if err != nil {
		return fmt.Errorf("%w: mmdebstrap; install it with: apt-get install mmdebstrap", ErrMissingTool)
	}
	// No library makes a Debian root. The package of Java's wants a directory
	// that a minimal root leaves out. The suite's default mirror is used unless
	// LOCKLAB_DEBIAN_MIRROR names another.
	args := []string{"--variant=minbase", "--include=openjdk-17-jre-headless,zookeeper,libfaketime",
		"--setup-hook=mkdir -p \"$1/usr/share/man/man1\"", "--format=tar", "bookworm", "-"}
	if mirror := os.Getenv("LOCKLAB_DEBIAN_MIRROR"); mirror != "" {
		args = append(args, mirror)
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it has a chroot to clean up
	cmd.WaitDelay = 30 * time.Second
	root, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	// A root that ends early must not become an image: the name is given only
	// to what the tool finished.
	const unfinished = "locklab/zookeeper:unfinished"
	importErr := e.importRoot(ctx, root, unfinished, "LABEL "+labelImage+"=base")
	if importErr != nil {
		_, _ = io.Copy(io.Discard, root) // so that the tool can end
	}
	if err := cmd.Wait(); err != nil {
		return errors.Join(fmt.Errorf("mmdebstrap: %w:\n%s", err, tail(said.String(), 20)), importErr, removeIfPresent(ctx, e, unfinished))
	}
	if importErr != nil {
		return importErr
	}
	return errors.Join(e.tag(ctx, unfinished, DebianImage), e.removeImage(ctx, unfinished))
}

func removeIfPresent(ctx context.Context, e *engine, ref string) error {
	if id, err := e.imageID(ctx, ref); err != nil || id == "" {
		return err
	}
	return e.removeImage(ctx, ref)
}

func tail(s string, lines int) string {
	all := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// findImages returns the images of a lab's hosts. Servers run the base, into
// which the binary is copied before they start; all other hosts run an image
// that holds nothing but the binary and is made here, unless it exists. It is
// named after its content, so that a new binary never meets an old image.
func findImages(ctx context.Context, e *engine, binary string) (images, error) {
	base, err := findBase(ctx, e)
	if err != nil {
		return images{}, err
	}
	content, err := readStatic(binary)
	if err != nil {
		return images{}, err
	}
	sum := sha256.Sum256(content)
	im := images{base: base, plain: plainHost + ":" + hex.EncodeToString(sum[:6])}
	if id, err := e.imageID(ctx, im.plain); err != nil || id != "" {
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

// binaryPath is where hosts have the binary.
const binaryPath = "/locklab"

// keepHostImages is how many binaries' images are kept: a bisection's worth.
const keepHostImages = 4

// pruneHostImages removes host images but the newest keep. One that a container
// uses stays.
func pruneHostImages(ctx context.Context, e *engine, keep int) error {
	refs, err := e.hostImages(ctx)
	if err != nil {
		return err
	}
	for _, ref := range refs[min(keep, len(refs)):] {
		if err := e.removeImage(ctx, ref); err != nil && !strings.Contains(err.Error(), "in use") && !strings.Contains(err.Error(), "is using") &&
			!strings.Contains(err.Error(), "being used") && !strings.Contains(err.Error(), "No such image") {
			return fmt.Errorf("remove image %s: %w", ref, err)
		}
	}
	return nil
}

// readStatic reads a binary that can run in an empty root.
func readStatic(path string) ([]byte, error) {
	if err := CheckBinary(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// CheckBinary refuses a file that cannot run in an empty root.
func CheckBinary(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("binary for the lab's hosts: %w", err)
	}
	defer f.Close()
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return fmt.Errorf("binary %s is dynamically linked and cannot run in an empty image; build it with: make build", path)
	}
	return nil
}

// tarOf is a tar of one executable file.
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
