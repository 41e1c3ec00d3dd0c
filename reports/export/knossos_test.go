package export

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"locklab/ensembles/labtest/suite"
)

// knossosRules says why the functions of Knossos that put histories together (knossos.history/pairs+ and complete)
// would refuse a history. Knossos itself is in no distribution, so these are its rules in our words:
//
//   - An event has one of four types, and an index that no other has.
//   - A process invokes nothing while an operation of its own is under way. An operation that ended with :info is under
//     way for ever.
//   - What is :ok or :fail was invoked by that process before.
//   - What is :fail has the value that it was invoked with.
const knossosRules = `
(require 'clojure.edn)
(defn refusal [events]
  (loop [[e & more] events, running {}, seen #{}]
    (when e
      (let [p (:process e), invoked (running p)]
        (cond
          (seen (:index e))                                 (str "index " (:index e) " is there twice")
          (not (#{:invoke :ok :fail :info} (:type e)))      (str "type " (:type e))
          (and invoked (= :invoke (:type e)))               (str "process " p " is still busy")
          (and (not invoked) (#{:ok :fail} (:type e)))      (str "process " p " completes what it has not invoked")
          (and (= :fail (:type e)) (not= (:value e) (:value invoked)))
                                                            (str "process " p " fails with another value")
          :else (recur more
                       (case (:type e) :invoke (assoc running p e) (:ok :fail) (dissoc running p) running)
                       (conj seen (:index e))))))))
(doseq [file *command-line-args*]
  (let [end (Object.)
        in  (java.io.PushbackReader. (clojure.java.io/reader file))
        all (doall (take-while #(not (identical? end %)) (repeatedly #(clojure.edn/read {:eof end} in))))]
    (println (or (refusal all) "read"))))
`

// Knossos can put together every exported history, and what is wrong with one it refuses: a history of events other
// than clients' operations that were :ok, for instance.
func TestKnossosReadsTheExport(t *testing.T) {
	clojure := suite.Tool(t, "clojure", "setup-clojure")
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.clj")
	if err := os.WriteFile(rules, []byte(knossosRules), 0o666); err != nil {
		t.Fatal(err)
	}
	args := []string{rules}
	var want []string
	add := func(text, says string) {
		file := filepath.Join(dir, fmt.Sprint(len(want)))
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		args, want = append(args, file), append(want, says)
	}
	for _, in := range runs() {
		add(string(write(t, "edn", in)), "read")
	}
	// event is an event with an index of its own.
	index := 0
	event := func(kind, process, value string) string {
		index++
		return fmt.Sprintf("{:index %d, :type %s, :process %s, :f :acquire, :value %s}\n", index, kind, process, value)
	}
	invoked := event(":invoke", "0", "3")
	for _, c := range []struct{ text, says string }{
		{event(":ok", ":harness", "nil"), "process :harness completes what it has not invoked"},
		{event(":fail", ":r1", "nil"), "process :r1 completes what it has not invoked"},
		{event(":info", ":harness", "nil"), "read"},
		{invoked + event(":invoke", "0", "3"), "process 0 is still busy"},
		{invoked + event(":info", "0", "3") + event(":invoke", "0", "3"), "process 0 is still busy"},
		{invoked + event(":ok", "0", "3") + event(":invoke", "0", "3"), "read"},
		{invoked + event(":fail", "0", "nil"), "process 0 fails with another value"},
		{invoked + event(":fail", "0", "3") + event(":fail", "0", "3"), "process 0 completes what it has not invoked"},
		{invoked + event(":done", "0", "3"), "type :done"},
		{invoked + strings.Replace(invoked, " 0,", " 1,", 1), "index 1 is there twice"},
	} {
		add(c.text, c.says)
	}
	cmd := exec.CommandContext(t.Context(), clojure, args...)
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(got) != len(want) {
		t.Fatalf("%d answers, want %d:\n%s", len(got), len(want), out)
	}
	for i := range want {
		if got[i] != want[i] {
			text, _ := os.ReadFile(args[i+1])
			t.Errorf("got %q, want %q, of\n%.2000s", got[i], want[i], text)
		}
	}
}
