package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/debian"
	"locklab/harness/fail"
)

// The servers of a lab run a base image, which has Java and ZooKeeper. This file is all that chooses one:
//
//  1. If [EnvImage] is set, the image that it names is used, and no other. `make image` pulls it if the engine does
//     not have it, or builds it, if the name is one of [debian.Versions].
//  2. Otherwise [OfficialImage] is used if the engine has it, else the image of [debian.Default], else that of
//     [debian.Fallback]. `make image` pulls the first or, where it cannot be pulled, builds the second or, where that
//     cannot be had, the third.
//
// A run never pulls or builds an image; without one it ends with [ErrNoImage]. Any image can be used in which the agent
// finds Java and ZooKeeper's jars (see ensembles/software). The image's entry point, user and volumes do
// not matter, because the agent starts the server.
const (
	// EnvImage is the environment variable that names the base image to use, such as zookeeper:3.8.
	EnvImage = ensembles.EnvImage
	// OfficialImage is the image that the ZooKeeper project publishes.
	OfficialImage = "zookeeper:3.9"
)

// ErrNoImage says that the engine has no base image.
var ErrNoImage = fail.Environment.New("no ZooKeeper image is present")

// baseImages returns the images to choose from, the preferred one first.
func baseImages() []string {
	if named := os.Getenv(EnvImage); named != "" {
		return []string{ensembles.ImageOf(named)}
	}
	return []string{OfficialImage, debian.Default.Image(), debian.Fallback.Image()}
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

// EnsureImage returns the base image that labs use, and pulls or builds it if the engine has none and build is set. It
// logs what it does.
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
	named := os.Getenv(EnvImage)
	version, packaged := debian.Find(cmp.Or(named, debian.Default.Number))
	if named == "" || !packaged {
		preferred := baseImages()[0]
		pull, cancel := context.WithTimeout(ctx, 5*time.Minute)
		defer cancel()
		switch err = e.pull(pull, preferred); {
		case err == nil:
			log.Info("pulled image", "image", preferred)
			return preferred, nil
		case named != "":
			return "", fmt.Errorf("pull %s, which %s names: %w", preferred, EnvImage, err)
		}
	}
	if !build {
		return "", missing
	}
	ref, err = ensureVersion(ctx, e, version, log)
	if named == "" && errors.Is(err, debian.ErrUnavailable) {
		log.Warn("another version is built instead", "why", err)
		ref, err = ensureVersion(ctx, e, debian.Fallback, log)
	}
	return ref, err
}

// EnsureVersion returns the image of a version of Debian's packages, and builds it if the engine does not have it. It
// logs what it does.
func EnsureVersion(ctx context.Context, v debian.Version, log *slog.Logger) (string, error) {
	e, err := openEngine(ctx)
	if err != nil {
		return "", err
	}
	defer e.close()
	return ensureVersion(ctx, e, v, log)
}

func ensureVersion(ctx context.Context, e *engine, v debian.Version, log *slog.Logger) (string, error) {
	switch there, err := e.hasImage(ctx, v.Image()); {
	case err != nil:
		return "", fmt.Errorf("look for image %s: %w", v.Image(), err)
	case there:
		return v.Image(), nil
	}
	log.Info("building an image from Debian's packages, about a minute", "zookeeper", v.Number, "suite", v.Suite)
	begun := time.Now()
	if err := buildDebian(ctx, e, v); err != nil {
		return "", fmt.Errorf("build image: %w", err)
	}
	log.Info("built image", "image", v.Image(), "took", time.Since(begun).Round(100*time.Millisecond))
	return v.Image(), nil
}

// buildDebian streams a minimal Debian root with Java and a version of ZooKeeper into the engine.
func buildDebian(ctx context.Context, e *engine, v debian.Version) error {
	// The image gets its name only after the tool has succeeded: a root that ends early must not be used.
	unfinished := v.Image() + "-unfinished"
	imported := false
	err := v.Root(ctx, func(root io.Reader) error {
		err := e.importRoot(ctx, root, unfinished, "LABEL "+labelImage+"=base")
		imported = err == nil
		return err
	})
	if err == nil {
		err = e.tag(ctx, unfinished, v.Image())
	}
	if imported {
		err = errors.Join(err, e.removeImage(ctx, unfinished))
	}
	return err
}
