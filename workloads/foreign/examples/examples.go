// Package examples has the example drivers of the lock protocol, as files to begin one's own with.
//
// In flow: the examples' sources, which the binary contains. Out flow: a [Driver] for each language, with what is left
// to do before it runs.
package examples

import "embed"

//go:embed kazoo-lock shell-lock zk-lock/main.go java-lock/Lock.java
var sources embed.FS

// A Driver is an example in one language.
type Driver struct {
	Language string
	// Lock says which lock it is, and what to change for another one.
	Lock, Change string
	// File is the name that the file should have.
	File string
	// Script says that the file itself can be executed.
	Script bool
	// Steps are the commands that make a program of it, and what they need; empty if it is one.
	Steps []string

	source string
}

// Drivers lists the examples by language.
var Drivers = []Driver{
	{Language: "go", Lock: "zk.Lock of go-zookeeper", Change: "the type attempt: acquire, try and release",
		File: "main.go", source: "zk-lock/main.go",
		Steps: []string{"go mod init example.org/mylock", "go get github.com/go-zookeeper/zk@v1.0.4",
			"CGO_ENABLED=0 go build -o mylock ."}},
	{Language: "python", Lock: "kazoo's Lock", Change: "the class Attempt: acquire and release",
		File: "mylock", Script: true, source: "kazoo-lock",
		Steps: []string{"apt-get install python3-kazoo   # or: pip install kazoo"}},
	{Language: "java", Lock: "a queue of znodes with ZooKeeper's own client",
		Change: "the class Attempt: take and giveBack", File: "Lock.java", source: "java-lock/Lock.java",
		Steps: []string{"javac --release 11 -cp '/usr/share/java/*' -d classes Lock.java   # wherever zookeeper.jar is",
			`(printf '#!/bin/sh\nexec java -cp "$0:/usr/share/java/*:$(echo /apache-zookeeper-*/lib)/*" Lock\n'; ` +
				`jar c -C classes .) > mylock && chmod +x mylock`}},
	{Language: "shell", Lock: "one ephemeral znode, with ZooKeeper's zkCli.sh",
		Change: "the functions attempt and release", File: "mylock", Script: true, source: "shell-lock",
		Steps: []string{"apt-get install zookeeper   # for zkCli.sh, unless it is there"}},
}

// Source returns the driver's source.
func (d Driver) Source() ([]byte, error) { return sources.ReadFile(d.source) }
