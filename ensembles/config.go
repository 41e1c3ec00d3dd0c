package ensembles

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"locklab/ensembles/agent"
	"locklab/ensembles/reach"
)

// EnvImage is the environment variable that names the container image of servers, such as zookeeper:3.8.
const EnvImage = "LOCKLAB_ZOOKEEPER_IMAGE"

// ServerConfig configures the servers of an ensemble.
type ServerConfig struct {
	// Tick is tickTime. ZooKeeper counts it in whole milliseconds.
	Tick time.Duration
	// SyncLimit is in ticks. A server that is cut off from its leader goes on serving for about so long.
	SyncLimit int
	// MinSessionTimeout and MaxSessionTimeout bound the session timeouts that clients may ask for.
	MinSessionTimeout, MaxSessionTimeout time.Duration
	// JVM says how each server's JVM is set up; empty = JVMLab.
	JVM string
	// HeapBytes is the size of each server's Java heap.
	HeapBytes int64
	// Clock gives each server a wall clock of its own, which needs libfaketime in the image.
	Clock bool
	// Data has what each server finds in its directory when it starts for the first time, by path: transaction logs.
	Data map[string][]byte

	_ struct{}
}

// The ways in which a server's JVM is set up.
const (
	// JVMLab has the serial collector and no optimising compiler. Several JVMs share few cores in a lab. The compiler's
	// threads would take them from the servers for the first minute, which is longer than most runs. Without that
	// compiler a server reaches its final speed within seconds.
	JVMLab = "lab"
	// JVMProduction has the collector G1 and both compilers, as a JVM of a server has by default, whatever the size of
	// its machine.
	JVMProduction = "production"
)

// initLimit is how many ticks a server may take to join its leader.
const initLimit = 20

// serverDir is a server's working directory on its host, below agent.DataDir.
const serverDir = "zookeeper"

// ServerLog is the path of a server's log on its host, below agent.DataDir.
const ServerLog = serverDir + "/" + agent.LogFile

// The files in a server's directory.
const (
	configFile  = "zoo.cfg"
	idFile      = "myid"
	loggingFile = "log4j.properties"
	logbackFile = "logback.xml"
)

// zooCfg returns the configuration file of a server of the ensemble. id counts from 1.
func zooCfg(c ServerConfig, servers []netip.Addr, id int) string {
	var b strings.Builder
	set := func(key string, value any) { fmt.Fprintf(&b, "%s=%v\n", key, value) }
	set("tickTime", c.Tick.Milliseconds())
	set("initLimit", initLimit)
	set("syncLimit", c.SyncLimit)
	set("minSessionTimeout", c.MinSessionTimeout.Milliseconds())
	set("maxSessionTimeout", c.MaxSessionTimeout.Milliseconds())
	if own := servers[id-1]; own.IsLoopback() { // the host shares this machine's files and its network
		set("dataDir", "./.") // the working directory; ZooKeeper warns of relative paths that do not begin with ./
		set("clientPortAddress", own)
	} else {
		set("dataDir", agent.DataDir+"/"+serverDir)
	}
	set("clientPort", agent.ClientPort)
	set("maxClientCnxns", 0) // all clients of a process share an address
	set("4lw.commands.whitelist", "*")
	set("admin.enableServer", false)
	set("autopurge.purgeInterval", 0) // the transaction logs are evidence
	if len(servers) > 1 {
		set("standaloneEnabled", false)
		for i, a := range servers {
			set(fmt.Sprintf("server.%d", i+1), fmt.Sprintf("%s:2888:3888", a))
		}
	}
	return b.String()
}

// ZooKeeper up to 3.7, and Debian's 3.8, logs through log4j. Later versions log through logback. Each ignores the
// other's file.
const log4jProperties = `log4j.rootLogger=INFO, CONSOLE
log4j.appender.CONSOLE=org.apache.log4j.ConsoleAppender
log4j.appender.CONSOLE.layout=org.apache.log4j.PatternLayout
log4j.appender.CONSOLE.layout.ConversionPattern=%d{ISO8601} [myid:%X{myid}] - %-5p [%t:%C{1}@%L] - %m%n
`

const logbackXML = `<configuration>
  <appender name="CONSOLE" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{ISO8601} [myid:%X{myid}] - %-5p [%t:%C{1}@%L] - %m%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="CONSOLE"/></root>
</configuration>
`

// JavaOptions returns the options of a server's JVM, in the order of its command line. They are part of a result,
// because a server with another collector or compiler performs differently.
func (c ServerConfig) JavaOptions() []string {
	mib := max(c.HeapBytes>>20, 32)
	options := []string{fmt.Sprintf("-Xmx%dm", mib)}
	if c.JVM == JVMProduction {
		options = append(options, "-XX:+UseG1GC") // by default only with two processors and 2 GB
	} else {
		options = append(options, fmt.Sprintf("-Xms%dm", mib/2), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
	}
	options = append(options,
		"-XX:+ExitOnOutOfMemoryError", // a server without memory would go on half-working
		"-XX:-UsePerfData",            // a server that is killed would leave that file behind
		"-Djava.net.preferIPv4Stack=true",
		"-Dzookeeper.preAllocSize=4096", // KiB: several servers may share a tmpfs
		"-Dzookeeper.db.autocreate=true",
	)
	if len(c.Data) > 0 {
		// Without this option, ZooKeeper treats a log without a snapshot as a loss of data.
		options = append(options, "-Dzookeeper.snapshot.trust.empty=true")
	}
	return options
}

// serverSpec returns the process that a server's agent runs. id counts from 1.
func serverSpec(c ServerConfig, servers []netip.Addr, id int) agent.Spec {
	argv := append([]string{"java"}, c.JavaOptions()...)
	return agent.Spec{
		Argv:      append(argv, "org.apache.zookeeper.server.quorum.QuorumPeerMain", configFile),
		ZooKeeper: true,
		Dir:       serverDir,
		Files: map[string]string{
			configFile: zooCfg(c, servers, id), idFile: fmt.Sprintln(id),
			loggingFile: log4jProperties, logbackFile: logbackXML,
		},
		Data:  c.Data,
		Clock: c.Clock,
	}
}

// ElsewhereName is what run directories call a lab that has no servers of its own, whatever its kind.
const ElsewhereName = "connect"

// An Elsewhere is an ensemble that is already there, and of which the kinds that can do that make labs without servers.
// The i-th host of the role server runs no server, but speaks for that ensemble's i-th.
type Elsewhere struct {
	Ensemble *reach.Ensemble // the way to it
	// Path is the path of the lab's runs in that ensemble. The agents touch nothing outside it.
	Path string
}

// Check refuses hosts that would speak for more servers than there are.
func (e *Elsewhere) Check(hosts []HostSpec) error {
	if n := serversOf(hosts); n > len(e.Ensemble.Servers) {
		return fmt.Errorf("the lab has %d servers, and the ensemble %d", n, len(e.Ensemble.Servers))
	}
	return nil
}

// Of returns what the agent of the i-th host has to know; nil if e is nil.
func (e *Elsewhere) Of(hosts []HostSpec, i int) *agent.Elsewhere {
	if e == nil {
		return nil
	}
	a := &agent.Elsewhere{Ensemble: *e.Ensemble, Path: e.Path}
	if hosts[i].Role == Server {
		a.Server = e.Ensemble.Servers[serversOf(hosts[:i])]
	}
	return a
}

func serversOf(hosts []HostSpec) (n int) {
	for _, h := range hosts {
		if h.Role == Server {
			n++
		}
	}
	return n
}
