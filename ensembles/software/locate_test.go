package software

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestFind(t *testing.T) {
	official := []string{"apache-zookeeper-3.9.4-bin/lib/zookeeper-3.9.4.jar",
		"apache-zookeeper-3.9.4-bin/lib/zookeeper-jute-3.9.4.jar",
		"apache-zookeeper-3.9.4-bin/lib/netty-common-4.1.jar", "apache-zookeeper-3.9.4-bin/lib/LICENSE.txt",
		"apache-zookeeper-3.9.4-bin/conf/zoo_sample.cfg",
		"opt/java/openjdk/bin/java"}
	debian := []string{"usr/share/java/zookeeper.jar", "usr/share/java/netty-common.jar",
		"usr/lib/jvm/java-17-openjdk-amd64/bin/java", "usr/bin/java"}
	for _, c := range []struct {
		name, javaHome string
		zookeeperHome  string
		files          []string
		java           string
		classPath      []string
		wantErr        string
	}{
		{name: "official", files: official, javaHome: "/opt/java/openjdk", java: "/opt/java/openjdk/bin/java",
			classPath: []string{
				"/apache-zookeeper-3.9.4-bin/lib/netty-common-4.1.jar", "/apache-zookeeper-3.9.4-bin/lib/zookeeper-3.9.4.jar",
				"/apache-zookeeper-3.9.4-bin/lib/zookeeper-jute-3.9.4.jar"}},
		{name: "official, JAVA_HOME elsewhere", files: official, javaHome: "/gone", java: "/opt/java/openjdk/bin/java",
			classPath: []string{
				"/apache-zookeeper-3.9.4-bin/lib/netty-common-4.1.jar", "/apache-zookeeper-3.9.4-bin/lib/zookeeper-3.9.4.jar",
				"/apache-zookeeper-3.9.4-bin/lib/zookeeper-jute-3.9.4.jar"}},
		{name: "Debian", files: debian, java: "/usr/lib/jvm/java-17-openjdk-amd64/bin/java",
			classPath: []string{"/usr/share/java/zookeeper.jar"}},
		{name: "Debian, other Java by JAVA_HOME", files: append(debian, "srv/jdk/bin/java"), javaHome: "/srv/jdk/",
			java:      "/srv/jdk/bin/java",
			classPath: []string{"/usr/share/java/zookeeper.jar"}},
		{name: "Debian with logging", files: append(debian, debianLogging...),
			java: "/usr/lib/jvm/java-17-openjdk-amd64/bin/java",
			classPath: []string{"/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-log4j12.jar",
				"/usr/share/java/log4j-1.2.jar"}},
		{name: "below opt", files: []string{"opt/apache-zookeeper-3.8.4-bin/lib/zookeeper-3.8.4.jar",
			"usr/local/openjdk-17/bin/java"},
			java:      "/usr/local/openjdk-17/bin/java",
			classPath: []string{"/opt/apache-zookeeper-3.8.4-bin/lib/zookeeper-3.8.4.jar"}},
		{name: "Bitnami", files: []string{"opt/bitnami/zookeeper/lib/zookeeper-3.9.3.jar",
			"opt/bitnami/zookeeper/lib/netty-common-4.1.jar", "opt/bitnami/java/bin/java"},
			java: "/opt/bitnami/java/bin/java",
			classPath: []string{"/opt/bitnami/zookeeper/lib/netty-common-4.1.jar",
				"/opt/bitnami/zookeeper/lib/zookeeper-3.9.3.jar"}},
		{name: "ZOOKEEPER_HOME", files: append(debian, "srv/zk/lib/zookeeper-3.9.4.jar"), zookeeperHome: "/srv/zk",
			java: "/usr/lib/jvm/java-17-openjdk-amd64/bin/java", classPath: []string{"/srv/zk/lib/zookeeper-3.9.4.jar"}},
		{name: "jars without a lib directory", files: append(debian, "srv/zk/zookeeper-3.9.4.jar", "srv/zk/netty.jar"),
			zookeeperHome: "/srv/zk/", java: "/usr/lib/jvm/java-17-openjdk-amd64/bin/java",
			classPath: []string{"/srv/zk/netty.jar", "/srv/zk/zookeeper-3.9.4.jar"}},
		{name: "ZOOKEEPER_HOME with other jars", files: append(debian, "srv/zk/lib/zookeeper-jute-3.9.4.jar"),
			zookeeperHome: "/srv/zk", wantErr: "srv/zk/lib"},
		{name: "ZOOKEEPER_HOME without jars", files: debian, zookeeperHome: "/srv/zk", wantErr: "srv/zk/lib"},
		{name: "nothing", files: []string{"etc/passwd"}, wantErr: "no java"},
		{name: "no jars", files: []string{"usr/bin/java", "apache-zookeeper-3.9.4-bin/lib/README"},
			wantErr: "no ZooKeeper jars"},
		{name: "no Java", files: official[:5], wantErr: "no java"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for _, f := range c.files {
				root[f] = &fstest.MapFile{Mode: fs.FileMode(0o755)}
			}
			l, err := Find(root, c.javaHome, c.zookeeperHome)
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Errorf("error %v, want one that says %q", err, c.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if l.Java != c.java || cmp.Diff(c.classPath, l.ClassPath) != "" {
				t.Errorf("java %s, class path %v", l.Java, l.ClassPath)
			}
		})
	}
}
