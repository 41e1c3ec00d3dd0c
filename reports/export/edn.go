package export

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"locklab/harness/history"
)

// writeEDN writes a history as Jepsen's tools read one: a map for each event, one per line, in EDN
// (https://github.com/edn-format/edn).
//
// A process of Jepsen's does one operation at a time and is retired by an operation of unknown outcome. So each client
// is a process for each lock, and gets a new number after such an operation. Events that do not belong to a client's
// operation have the type :info, whatever their kind, and the recording process's name as their process. An operation
// that failed has the value that it was invoked with, as Knossos demands, and a read has one only once it is known.
// Fields of locklab's own have names in the namespace locklab.
func writeEDN(w io.Writer, events *history.Log) error {
	out := ednWriter{Writer: bufio.NewWriter(w), numbers: map[worker]int{}, open: map[int]invocation{}}
	for i, e := range events.All() {
		out.event(i, &e)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write EDN: %w", err)
	}
	return nil
}

// A worker is a client in its dealings with one lock.
type worker struct{ client, lock string }

type ednWriter struct {
	*bufio.Writer
	numbers map[worker]int
	open    map[int]invocation // by process: the operation under way
	next    int
}

// An invocation is an operation under way, and its value as it was written.
type invocation struct {
	op    history.Op
	value string
}

func (w *ednWriter) event(index int, e *history.Event) {
	name := ":" + e.Process
	process, kind, value := name, e.Kind, ednValue(e)
	if strings.HasPrefix(e.Client, e.Process+"/") {
		process, value = w.process(e, name, value)
	}
	if process == name { // Knossos refuses what completes without an invocation
		kind = history.Info
	}
	fmt.Fprintf(w, "{:index %d, :time %d, :type :%s, :process %s, :f :%s, :value %s", index, e.At, kind, process, e.Op,
		value)
	own := ""
	if kind != e.Kind {
		own = e.Kind.String()
	}
	for _, f := range [...]struct{ name, value string }{
		{"kind", own}, {"client", e.Client}, {"lock", e.Lock}, {"mode", string(e.Mode)}, {"target", e.Target},
		{"fault", e.Fault}, {"detail", e.Detail},
	} {
		if f.value != "" {
			fmt.Fprintf(w, ", :locklab/%s %s", f.name, ednString(f.value))
		}
	}
	for _, f := range [...]struct {
		name  string
		value int64
	}{{"acquisition", e.Acq}, {"token", e.Token}, {"session", int64(e.Session)}, {"number", e.Value}} {
		if f.value != 0 {
			fmt.Fprintf(w, ", :locklab/%s %d", f.name, f.value)
		}
	}
	w.WriteString("}\n")
}

// ednValue is the value of an event's operation.
func ednValue(e *history.Event) string {
	switch {
	case e.Op == history.OpWrite, e.Op == history.OpRead && e.Kind == history.OK:
		return fmt.Sprint(e.Access().Value)
	case (e.Op == history.OpAcquire || e.Op == history.OpRelease) && e.Mode == history.ModePermit:
		return fmt.Sprint(e.Permits())
	}
	return "nil"
}

// process returns the process of an event of a client's, which is a number if the event is a part of an operation, or
// else the name, and the value of the operation.
func (w *ednWriter) process(e *history.Event, name, value string) (string, string) {
	k := worker{e.Client, e.Lock}
	n, known := w.numbers[k]
	switch {
	case e.Kind == history.Invoke && (!known || w.open[n].op != ""):
		n, known = w.next, true
		w.next++
		w.numbers[k] = n
		fallthrough
	case e.Kind == history.Invoke:
		w.open[n] = invocation{e.Op, value}
	case known && w.open[n].op == e.Op:
		if e.Kind == history.Fail {
			value = w.open[n].value
		}
		delete(w.open, n)
		if e.Kind == history.Info {
			delete(w.numbers, k)
		}
	default:
		return name, value
	}
	return fmt.Sprint(n), value
}

// ednString quotes a string. Every JSON string is one of EDN's as well.
func ednString(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // not reached, because every string can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}
