package advice

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/rogpeppe/go-internal/txtar"

	"locklab/harness/scenario"
)

// Logs have the pauses and the time that testdata/logs says, with what their reader should know, or are refused with
// their place. The commands are log, of one file, and dir, of a directory. Their arguments change the files: crlf ends
// lines as Windows does, gz compresses, unended leaves out the last end of a line, cut leaves out the last bytes, and
// in says in which unit the values of a foreign log are.
func TestLogs(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "logs"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			dir := t.TempDir()
			source := filepath.Join(dir, "gc.log")
			switch d.Cmd {
			case "log":
				writeLog(t, d, source, d.Input)
			case "dir":
				source = dir
				for _, f := range txtar.Parse([]byte(d.Input + "\n")).Files {
					writeLog(t, d, filepath.Join(dir, f.Name), strings.TrimSuffix(string(f.Data), "\n"))
				}
			default:
				d.Fatalf(t, "unknown command")
			}
			unit := time.Duration(0)
			if d.HasArg("in") {
				var name string
				d.ScanArgs(t, "in", &name)
				unit = map[string]time.Duration{"ns": 1, "us": time.Microsecond, "ms": time.Millisecond}[name]
			}
			return strings.ReplaceAll(strings.ReplaceAll(toldBy(source, unit), dir+"/", ""), dir, "DIR")
		})
	})
}

// writeLog writes a file as the arguments of the test say.
func writeLog(t *testing.T, d *datadriven.TestData, name, text string) {
	t.Helper()
	if text != "" && !d.HasArg("unended") {
		text += "\n"
	}
	if d.HasArg("crlf") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	content := []byte(text)
	if d.HasArg("gz") || filepath.Ext(name) == ".gz" {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		content = b.Bytes()
	}
	if d.HasArg("cut") {
		content = content[:len(content)-12]
	}
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// toldBy says what a source tells, in a line, and what the reader should know. Hints are left out.
func toldBy(source string, unit time.Duration) string {
	p, err := Read([]string{source}, unit)
	if err != nil {
		bad, ok := errors.AsType[*scenario.InputError](err)
		if !ok {
			return fmt.Sprintf("not bad input: %v\n", err)
		}
		if bad.Hint == "" {
			return fmt.Sprintf("without a hint: %v\n", err)
		}
		short := *bad
		short.Hint = ""
		return fmt.Sprintf("refused: %v\n", &short)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%.0f %s, the longest %s, in %s\n", p.Count(), p.What, p.Longest(), p.Span)
	for _, note := range p.Notes {
		text.WriteString("note: " + note + "\n")
	}
	return text.String()
}
