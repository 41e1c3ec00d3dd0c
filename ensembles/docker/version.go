package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"locklab/ensembles"
	"locklab/ensembles/software"
)

// A server's container is made of the image that the server starts with, whose Java every version runs on. Versions
// that the server may be started with later, and those that are directories of this machine, are copied into it: only
// their jars, which are read before anything of the lab is made.

// jars are the jars of a version, by file name.
type jars map[string][]byte

// versionDir is where hosts have the i-th version of those that are copied into them.
func versionDir(i int) string { return fmt.Sprintf("/zookeeper/%d", i) }

// versions are the versions of ZooKeeper that the servers of a lab need.
type versions struct {
	base  string          // the image of ensembles.DefaultVersion
	names []string        // of those that are copied; their places are the i-th versionDir
	jars  map[string]jars // by name
}

// image returns the image of a host that starts with a version.
func (v *versions) image(version string) string {
	if version == ensembles.DefaultVersion || ensembles.IsDir(version) {
		return v.base
	}
	return ensembles.ImageOf(version)
}

// hostImage returns the image of a host without the binary; empty if the host needs nothing but the binary.
func (v *versions) hostImage(h ensembles.HostSpec) string {
	if h.Image == "" && (h.Role == ensembles.Server || h.Base) {
		return v.image(h.First())
	}
	return h.Image
}

// findVersions gets the versions that the hosts need. It makes nothing that stays. An image that the engine does not
// have, and one without ZooKeeper, are errors.
func findVersions(ctx context.Context, e *engine, base, lab string, hosts []ensembles.HostSpec) (*versions, error) {
	v := &versions{base: base, jars: map[string]jars{}}
	for _, h := range hosts {
		if h.Image != "" {
			if err := requireImage(ctx, e, h.Image, h.Image); err != nil {
				return nil, err
			}
		}
		for _, name := range h.Versions {
			if err := v.add(ctx, e, lab, name, name == h.First()); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// add gets a version. The image that a host starts with has it already.
func (v *versions) add(ctx context.Context, e *engine, lab, name string, first bool) error {
	if v.jars[name] != nil {
		return nil
	}
	if ensembles.IsDir(name) {
		found, err := readJars(name)
		if err == nil {
			v.copied(name, found)
		}
		return err
	}
	image := v.image(name)
	if err := requireImage(ctx, e, name, image); err != nil {
		return err
	}
	if first {
		return nil
	}
	found, err := e.imageJars(ctx, image, lab)
	if err == nil {
		v.copied(name, found)
	} else if errors.Is(err, errNoJars) {
		return &ensembles.VersionError{Version: name, Msg: "image " + image + ": " + err.Error(),
			Hint: "an image with ZooKeeper, such as " + OfficialImage}
	}
	return err
}

// requireImage refuses an image that the engine does not have.
func requireImage(ctx context.Context, e *engine, name, image string) error {
	there, err := e.hasImage(ctx, image)
	switch {
	case err != nil:
		return fmt.Errorf("look for image %s: %w", image, err)
	case !there && image != name:
		return &ensembles.VersionError{Version: name, Absent: true, Msg: "there is no image of ZooKeeper " + name,
			Hint: "bin/locklab image " + name}
	case !there:
		return &ensembles.VersionError{Version: name, Absent: true, Msg: "there is no image " + image,
			Hint: "docker pull " + image + "; a directory begins with / or ./"}
	}
	return nil
}

func (v *versions) copied(name string, found jars) {
	v.names, v.jars[name] = append(v.names, name), found
}

func (v *versions) homes(h ensembles.HostSpec) map[string]string {
	all := map[string]string{}
	for _, name := range h.Versions {
		if !ensembles.IsDir(name) && v.image(name) == v.image(h.First()) {
			all[name] = "" // it is the image's own
		} else {
			all[name] = versionDir(slices.Index(v.names, name))
		}
	}
	return all
}

// tarFor returns the files of the versions that are copied to a host, below the root; nil if there are none.
func (v *versions) tarFor(h ensembles.HostSpec) (io.Reader, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, home := range v.homes(h) {
		if home == "" {
			continue
		}
		for file, content := range v.jars[name] {
			header := &tar.Header{Name: path.Join(home, file)[1:], Mode: 0o644, Size: int64(len(content))}
			if err := w.WriteHeader(header); err != nil {
				return nil, err
			}
			if _, err := w.Write(content); err != nil {
				return nil, err
			}
		}
	}
	if b.Len() == 0 {
		return nil, nil
	}
	return &b, w.Close()
}

// readJars reads a version that is a directory of this machine.
func readJars(version string) (jars, error) {
	dir, err := ensembles.Dir(version)
	if err != nil {
		return nil, err
	}
	paths, err := software.Jars(os.DirFS("/"), dir)
	if err != nil {
		return nil, err
	}
	found := jars{}
	for _, p := range paths {
		if found[path.Base(p)], err = os.ReadFile(p); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// imagePlace matches the jars in the places where the agent looks for ZooKeeper in an image.
var imagePlace = regexp.MustCompile(
	`^((opt/)?apache-zookeeper-[^/]*/lib|opt/bitnami/zookeeper/lib|usr/share/java)/[^/]*\.jar$`)

var errNoJars = errors.New("it has no ZooKeeper jars")

// jarsIn reads ZooKeeper's jars from the tar of an image's files, in which the files of a directory follow one another.
// It reads no more than it needs.
func jarsIn(files io.Reader) (jars, error) {
	in := tar.NewReader(files)
	found, links, dir := jars{}, map[string]string{}, ""
	for {
		h, err := in.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		ended := err != nil
		if ended || dir != "" && !strings.HasPrefix(path.Clean(h.Name), dir+"/") {
			if some, err := needed(found, links); err != nil || len(some) > 0 {
				return some, err
			}
			found, links, dir = jars{}, map[string]string{}, ""
		}
		if ended {
			return nil, errNoJars
		}
		name := path.Clean(h.Name)
		if !imagePlace.MatchString(name) {
			continue
		}
		dir = path.Dir(name)
		switch h.Typeflag {
		case tar.TypeReg:
			if found[path.Base(name)], err = io.ReadAll(in); err != nil {
				return nil, err
			}
		case tar.TypeSymlink, tar.TypeLink:
			links[path.Base(name)] = path.Base(h.Linkname)
		}
	}
}

// needed returns those of the jars of one directory that a server needs; none if ZooKeeper is not among them. links
// are the targets of links to other jars of the directory.
func needed(found jars, links map[string]string) (jars, error) {
	for name, target := range links {
		if content, ok := found[target]; ok {
			found[name] = content
		}
	}
	names := slices.Collect(maps.Keys(found))
	if !slices.ContainsFunc(names, software.IsServerJar) {
		return nil, nil
	}
	names, err := software.Together(names, func(name string) ([]byte, error) {
		if content, ok := found[name]; ok {
			return content, nil
		}
		return nil, fs.ErrNotExist
	})
	if err != nil {
		return nil, err
	}
	some := jars{}
	for _, name := range names {
		some[name] = found[name]
	}
	return some, nil
}
