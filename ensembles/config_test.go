package ensembles

import (
	"flag"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestZooCfg(t *testing.T) {
	cfg := ServerConfig{Tick: 200 * time.Millisecond, SyncLimit: 5,
		MinSessionTimeout: 400 * time.Millisecond,
		MaxSessionTimeout: 20 * time.Second, HeapBytes: 256 << 20}
	for name, servers := range map[string][]netip.Addr{
		"one":   {netip.MustParseAddr("10.87.1.10")},
		"three": {netip.MustParseAddr("10.87.1.10"), netip.MustParseAddr("10.87.1.11"), netip.MustParseAddr("10.87.1.12")},
		"shared": {netip.MustParseAddr("127.87.1.10"), netip.MustParseAddr("127.87.1.11"),
			netip.MustParseAddr("127.87.1.12")},
	} {
		golden := "testdata/" + name + ".zoo.cfg"
		got := zooCfg(cfg, servers, 1)
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got; -update rewrites it):\n%s", golden, diff)
		}
	}
}

func TestServerSpec(t *testing.T) {
	servers := []netip.Addr{netip.MustParseAddr("10.87.1.10"), netip.MustParseAddr("10.87.1.11"),
		netip.MustParseAddr("10.87.1.12")}
	s := serverSpec(ServerConfig{HeapBytes: 256 << 20}, servers, 2)
	if !s.ZooKeeper || s.Files[idFile] != "2\n" || s.Files[configFile] == "" || s.Argv[0] != "java" ||
		s.Argv[len(s.Argv)-1] != configFile {
		t.Errorf("%+v", s)
	}
	for heap, want := range map[int64][]string{256 << 20: {"-Xmx256m", "-Xms128m"}, 0: {"-Xmx32m", "-Xms16m"}} {
		got := ServerConfig{HeapBytes: heap}.JavaOptions()
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("heap %d: no %s in %v", heap, w, got)
			}
		}
	}
}

// Only a lab's JVM does without the optimising compiler. Both have the heap that was asked for.
func TestJVM(t *testing.T) {
	lab := ServerConfig{HeapBytes: 256 << 20, JVM: JVMLab}.JavaOptions()
	if diff := cmp.Diff(lab, ServerConfig{HeapBytes: 256 << 20}.JavaOptions()); diff != "" {
		t.Errorf("by default (-lab +got):\n%s", diff)
	}
	production := ServerConfig{HeapBytes: 256 << 20, JVM: JVMProduction}.JavaOptions()
	rest := slices.DeleteFunc(slices.Clone(lab), func(o string) bool {
		return slices.Contains([]string{"-Xms128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}, o)
	})
	if diff := cmp.Diff(slices.Insert(rest, 1, "-XX:+UseG1GC"), production); diff != "" {
		t.Errorf("production (-want +got):\n%s", diff)
	}
}

func TestParseMetrics(t *testing.T) {
	text := "zk_version\t3.8.0-1, built on 2023\nzk_server_state\tleader\nzk_znode_count\t5\n" +
		"zk_avg_latency\t0.3333\n\nno tab\nzk_big\t1.5E7\nzk_nan\tNaN\n"
	got := ParseMetrics(text)
	want := map[string]float64{"zk_znode_count": 5, "zk_avg_latency": 0.3333, "zk_big": 15000000}
	delete(got, "zk_nan")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s := FormatMetrics(want); s != "zk_avg_latency\t0.3333\nzk_big\t15000000\nzk_znode_count\t5\n" {
		t.Errorf("%q", s)
	}
	if diff := cmp.Diff(want, ParseMetrics(FormatMetrics(want))); diff != "" {
		t.Errorf("round trip:\n%s", diff)
	}
}
