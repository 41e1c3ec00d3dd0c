package export

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"locklab/ensembles/labtest/suite"
	"locklab/harness/history"
)

// readByClojure prints of each event its index, process, type and function, and of all of them that every process with
// a number has completed each operation before it invokes the next.
const readByClojure = `
(require 'clojure.edn)
(let [end (Object.)
      in  (java.io.PushbackReader. (clojure.java.io/reader (System/getenv "HISTORY")))
      all (doall (take-while #(not (identical? end %)) (repeatedly #(clojure.edn/read {:eof end} in))))]
  (doseq [e all]
    (println (:index e) (:process e) (name (:type e)) (name (:f e)) (pr-str (:value e)) (:locklab/detail e)))
  (assert (every? #(= :info (:type %)) (remove (comp number? :process) all)))
  (doseq [[_ es] (group-by :process (filter (comp number? :process) all))]
    (assert (every? (fn [[a b]] (and (= :invoke (:type a)) (or (nil? b) (= (:f a) (:f b))))) (partition-all 2 es)))))
`

// Clojure, in which Jepsen's tools are written, reads what writeEDN writes.
func TestEDN(t *testing.T) {
	clojure := suite.Tool(t, "clojure", "setup-clojure")
	client := func(at int64, op history.Op, kind history.Kind, lock, name string) history.Event {
		return history.Event{At: at, Process: "c1", Client: name, Acq: 1, Lock: lock, Op: op, Kind: kind}
	}
	read := client(6, history.OpRead, history.OK, "/a", "c1/0")
	read.Process, read.Value = "r1", 7
	lost := client(5, history.OpLost, history.Info, "/a", "c1/0")
	lost.Detail = "said \"gone\"\n\\ \u2028 ü <&>"
	permits := client(8, history.OpAcquire, history.Invoke, "/s", "c1/2")
	permits.Mode, permits.Value = history.ModePermit, 3
	refused := client(11, history.OpWrite, history.Fail, "/b", "c1/3")
	writes := client(10, history.OpWrite, history.Invoke, "/b", "c1/3")
	writes.Value = 4
	events := []history.Event{
		client(1, history.OpAcquire, history.Invoke, "/a", "c1/0"),
		client(1, history.OpAcquire, history.Invoke, "/b", "c1/0"),
		client(2, history.OpAcquire, history.OK, "/b", "c1/0"),
		client(3, history.OpAcquire, history.Info, "/a", "c1/1"),
		client(4, history.OpAcquire, history.OK, "/a", "c1/0"), lost, read,
		client(7, history.OpRelease, history.Invoke, "/a", "c1/0"),
		client(8, history.OpRelease, history.Info, "/a", "c1/0"), permits,
		client(9, history.OpAcquire, history.Invoke, "/a", "c1/0"),
		writes, refused,
		client(12, history.OpRead, history.Invoke, "/b", "c1/3"),
		client(13, history.OpRead, history.Fail, "/b", "c1/3"),
	}
	var edn bytes.Buffer
	if err := writeEDN(&edn, history.NewLog(events)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "history.edn")
	if err := os.WriteFile(file, edn.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), clojure, "-e", readByClojure)
	cmd.Env = append(os.Environ(), "HISTORY="+file, "JAVA_TOOL_OPTIONS=-Dfile.encoding=UTF-8")
	cmd.Stderr = t.Output()
	got, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, edn.String())
	}
	want := strings.Join([]string{
		"0 0 invoke acquire nil nil",
		"1 1 invoke acquire nil nil",
		"2 1 ok acquire nil nil",
		"3 :c1 info acquire nil nil", // its invocation is not in the record
		"4 0 ok acquire nil nil",
		"5 :c1 info lost nil said \"gone\"\n\\ \u2028 ü <&>",
		"6 :r1 info read 7 nil",
		"7 0 invoke release nil nil",
		"8 0 info release nil nil",
		"9 2 invoke acquire 3 nil",
		"10 3 invoke acquire nil nil", // an operation of unknown outcome has retired the process
		"11 4 invoke write 4 nil",
		"12 4 fail write 4 nil", // with the value that it was invoked with
		"13 4 invoke read nil nil",
		"14 4 fail read nil nil",
	}, "\n") + "\n"
	if !strings.Contains(edn.String(), `:process :r1, :f :read, :value 7, :locklab/kind "ok"`) {
		t.Errorf("the kind of the resource's event is lost:\n%s", edn.String())
	}
	if string(got) != want {
		t.Errorf("Clojure read\n%s\nwant\n%s\nof\n%s", got, want, edn.String())
	}
}
