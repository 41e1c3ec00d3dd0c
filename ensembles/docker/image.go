package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"locklab/ensembles"
	"locklab/harness/fail"
)

// The servers of a lab run a base image, which has Java and ZooKeeper. This file is all that chooses one:
//
//  1. If [EnvImage] is set, the image that it names is used, and no other. `make image` pulls it if the engine does
//     not have it.
//  2. Otherwise [OfficialImage] is used if the engine has it, else [DebianImage]. `make image` pulls the former or,
//     where it cannot be pulled, builds the latter.
//
// A run never pulls or builds an image; without one it ends with [ErrNoImage]. Any image can be used in which the agent
// finds Java and ZooKeeper's jars (see ensembles/software). The image's entry point, user and volumes do
// not matter, because the agent starts the server.
const (
	// EnvImage is the environment variable that names the base image to use, such as zookeeper:3.8.
	EnvImage = ensembles.EnvImage
	// OfficialImage is the image that the ZooKeeper project publishes.
	OfficialImage = "zookeeper:3.9"
	// DebianImage is built from Debian's packages. It has libfaketime as well, which faults of a server's clock need.
	DebianImage = "locklab/zookeeper:debian"
)

// EnvDebianMirror is the environment variable that names the mirror to build [DebianImage] from.
const EnvDebianMirror = "LOCKLAB_DEBIAN_MIRROR"

// ErrNoImage says that the engine has no base image.
var ErrNoImage = fail.Environment.New("no ZooKeeper image is present")

// baseImages returns the images to choose from, the preferred one first.
func baseImages() []string {
	if named := os.Getenv(EnvImage); named != "" {
		return []string{named}
	}
	return []string{OfficialImage, DebianImage}
}

// FindImage returns the base image that labs use. It changes nothing.
func FindImage(ctx context.Context) (string, error) {
	e, err := openEngine(ctx)
	if err != nil {
		return "", err
	}
	ref, err := findBase(ctx, e)
	return ref, errors.Join(err, e.close())
}

func findBase(ctx context.Context, e *engine) (string, error) {
	for _, ref := range baseImages() {
		switch there, err := e.hasImage(ctx, ref); {
		case err != nil:
			return "", fmt.Errorf("look for image %s: %w", ref, err)
		case there:
			return ref, nil
		}
	}
	return "", fmt.Errorf("%w (looked for %s); make one with: make image", ErrNoImage, strings.Join(baseImages(), ", "))
}

// EnsureImage returns the base image that labs use, and pulls it if the engine has none. If [OfficialImage] cannot be
// pulled and build is set, it builds [DebianImage], which takes about a minute. It logs what it does.
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
	preferred := baseImages()[0]
	pull, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	err = e.pull(pull, preferred)
	switch {
	case err == nil:
		log.Info("pulled image", "image", preferred)
		return preferred, nil
	case preferred != OfficialImage:
		return "", fmt.Errorf("pull %s, which %s names: %w", preferred, EnvImage, err)
	case !build:
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
