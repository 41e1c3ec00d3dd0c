package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"regexp"
	"strings"
	"testing"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/ensembles/debian"
	"locklab/ensembles/docker"
	"locklab/ensembles/labtest"
	"locklab/ensembles/labtest/suite"
	"locklab/ensembles/software"
)

var jvm = regexp.MustCompile(`^usr/lib/jvm/java-[0-9]+-openjdk-[^/]*/`)

// officialRoot turns the tar of a root file system of Debian packages into one that looks like the official image's.
// It leaves out what a server does not need. Its ZooKeeper tells another version than Debian's.
func officialRoot(w io.Writer, root io.Reader) error {
	const dist = "apache-zookeeper-3.8.0-bin"
	rename := func(name string) string {
		switch base := path.Base(name); {
		case jvm.MatchString(name):
			return jvm.ReplaceAllString(name, "opt/java/openjdk/")
		case strings.HasPrefix(name, "usr/share/java/") && path.Ext(name) == ".jar" && !otherLogging.MatchString(base):
			return dist + "/lib/" + base
		case strings.HasPrefix(name, "usr/share/"), strings.HasPrefix(name, "usr/lib/jvm/"), strings.HasPrefix(name, "var/"),
			strings.HasPrefix(name, "etc/alternatives/"), name == "usr/bin/java":
			return ""
		}
		return name
	}
	out, in := tar.NewWriter(w), tar.NewReader(root)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if h.Name = rename(h.Name); h.Name == "" {
			continue
		}
		if h.Typeflag == tar.TypeLink {
			h.Linkname = rename(h.Linkname)
		}
		var content io.Reader = in
		if software.IsServerJar(path.Base(h.Name)) && h.Typeflag == tar.TypeReg { // zookeeper.jar may be a link
			jar, err := io.ReadAll(in)
			if err == nil {
				jar, err = labtest.Renumber(jar)
			}
			if err != nil {
				return err
			}
			content, h.Size = bytes.NewReader(jar), int64(len(jar))
		}
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.Copy(out, content); err != nil {
			return err
		}
	}
	const entrypoint = "#!/bin/sh\nexit 9\n"
	header := &tar.Header{Name: "docker-entrypoint.sh", Mode: 0o755, Size: int64(len(entrypoint))}
	if err := out.WriteHeader(header); err != nil {
		return err
	}
	if _, err := io.WriteString(out, entrypoint); err != nil {
		return err
	}
	return out.Close()
}

// otherLogging are jars that Debian installs together although only one of them can be used.
var otherLogging = regexp.MustCompile(`^(slf4j-(jcl|jdk14|nop|simple|migrator)|jcl-over|jul-to|log4j-over)`)

// officialConfig is the configuration of the official image: volumes of its own, a user with few permissions, and an
// entry point that must not matter.
var officialConfig = []string{"ENV JAVA_HOME=/opt/java/openjdk", `VOLUME ["/data", "/datalog", "/logs"]`,
	"EXPOSE 2181 2888 3888 8080",
	"WORKDIR /apache-zookeeper-3.8.0-bin", "USER 1234:1234", `ENTRYPOINT ["/docker-entrypoint.sh"]`,
	`CMD ["zkServer.sh", "start-foreground"]`}

func TestImageLikeTheOfficialOne(t *testing.T) {
	suite.Nightly(t, "makes an image; TestDockerLab runs the one that make image made")
	e := openEngine(t)
	packaged := debian.Default.Image()
	if !exists(t, e, "/images/"+packaged+"/json") {
		t.Skipf("needs %s to make the look-alike of", packaged)
	}
	var made struct{ Id string }
	call(t, e, "POST", "/containers/create", `{"Image":"`+packaged+`","Cmd":["true"]}`, &made)
	defer call(t, e, "DELETE", "/containers/"+made.Id+"?v=1", "", nil)
	root, err := e.Export(t.Context(), made.Id)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	r, w := io.Pipe()
	go func() { w.CloseWithError(officialRoot(w, root)) }()
	const ref = "locklab/zookeeper-test:official-look"
	if err := e.ImportRoot(t.Context(), r, ref, officialConfig...); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Call(context.WithoutCancel(t.Context()), "DELETE", "/images/"+ref, nil, nil); err != nil {
			t.Error(err)
		}
	}()

	t.Setenv(docker.EnvImage, ref)
	lab := labtest.Start(t, ensembles.HostSpec{Name: "zk1"})
	defer closeLab(t, lab)
	if lab.Image != ref {
		t.Errorf("the lab runs %s", lab.Image)
	}
	vols := volumes(t, e, []string{"/containers/locklab-" + lab.ID + "-zk1"})
	ensemble := labtest.StartEnsemble(t, lab)
	version, err := ensemble.Version(t.Context())
	if err != nil || !strings.HasPrefix(version, "3.") {
		t.Errorf("version %q, %v", version, err)
	}
	if err := ensemble.Servers[0].Agent.CommitWrite(t.Context()); err != nil {
		t.Error(err)
	}
	if roles, err := ensemble.Roles(t.Context()); err != nil || roles["zk1"] != ensembles.RoleStandalone {
		t.Errorf("roles %v, %v", roles, err)
	}
	if leader, err := ensemble.Leader(t.Context()); err != nil || leader.Name != "zk1" {
		t.Errorf("leader %v, %v", leader, err)
	}
	if user := inspect(t, e, lab, "zk1").Config.User; user != "0:0" {
		t.Errorf("the host runs as %q", user)
	}
	// The data is in the directory of locklab, not in that of the image.
	if _, err := ensemble.Servers[0].Agent.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	said := labtest.Shell(t, ensemble.Servers[0],
		"ls "+agent.DataDir+"/zookeeper/version-2; find /data -type f | wc -l; id -u; tr '\\0' '\\n' < /proc/1/cmdline")
	if !strings.Contains(said, "log.1") || !strings.Contains(said, "\n0\n0\n/locklab\nagent") {
		t.Errorf("in the host:\n%s", said)
	}
	// The image's own volumes are removed with the container.
	if len(vols) != 3 {
		t.Errorf("volumes: %v", vols)
	}
	closeLab(t, lab)
	allGone(t, e, 0, vols...)

	t.Run("a server of another image can be started with it", func(t *testing.T) {
		lab := labtest.Start(t, ensembles.HostSpec{Name: "zk1", Versions: []string{packaged, ref}})
		e := labtest.StartEnsemble(t, lab)
		h := e.Servers[0]
		before, err := e.Told(t.Context(), h)
		if err != nil || ensembles.VersionNumber(before) == labtest.OtherNumber || lab.Image != packaged {
			t.Errorf("%s tells %q, %v", lab.Image, before, err)
		}
		if _, err := h.Agent.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Upgrade(t.Context(), h, ref); err != nil {
			t.Fatal(err)
		}
		if err := e.AwaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		if told, err := e.Told(t.Context(), h); err != nil || ensembles.VersionNumber(told) != labtest.OtherNumber {
			t.Errorf("after the upgrade it tells %q, %v", told, err)
		}
	})
}
