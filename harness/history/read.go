package history

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Decode appends the events of the frames in b to events. It stops at the first frame that is torn or incomplete; rest
// is what it did not read.
func Decode(events []Event, b []byte, intern map[string]string) (all []Event, rest []byte, err error) {
	for {
		size, err := frameSize(b)
		if err != nil || size <= 0 {
			return events, b, err
		}
		e, err := decodeFrame(b, intern)
		if err != nil {
			return events, b, err
		}
		events = append(events, e)
		b = b[size:]
	}
}

// ErrNoBeginning says that no history below a directory has the run's beginning, because the harness died before it
// had recorded anything.
var ErrNoBeginning = errors.New("no history has the run's beginning")

// ReadRaw reads every raw history below dir, merges them by time and shifts them to the run's base, which the harness
// recorded as [OpBegin]. The records say what each file is. A torn tail is not an error, because a crash leaves it
// behind.
func ReadRaw(dir string) (events []Event, records []Record, err error) {
	intern := map[string]string{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, SegmentSuffix) {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		before := len(events)
		var rest []byte
		events, rest, err = Decode(events, b, intern)
		records = append(records, newRecord(filepath.ToSlash(name), int64(len(b)), events[before:], rest, err))
		return nil
	})
	if err != nil {
		return nil, records, fmt.Errorf("read histories: %w", err)
	}
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	i := slices.IndexFunc(events, func(e Event) bool { return e.Op == OpBegin })
	if i < 0 {
		return nil, records, fmt.Errorf("read histories in %s: %w", dir, ErrNoBeginning)
	}
	base := events[i].Base()
	for i := range events {
		events[i].At -= base
	}
	return events, records, nil
}

// WriteJSONL writes one event a line, as in a run directory's history.jsonl.
func WriteJSONL(w io.Writer, events []Event) error {
	bw := bufio.NewWriter(w)
	enc := json.NewEncoder(bw)
	enc.SetEscapeHTML(false)
	for i := range events {
		if err := enc.Encode(&events[i]); err != nil {
			return fmt.Errorf("write history: %w", err)
		}
	}
	return bw.Flush()
}

// ReadJSONL reads what WriteJSONL wrote.
func ReadJSONL(r io.Reader) ([]Event, error) {
	var events []Event
	dec := json.NewDecoder(bufio.NewReader(r))
	for {
		var e Event
		err := dec.Decode(&e)
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return events, fmt.Errorf("read history, event %d: %w", len(events)+1, err)
		}
		events = append(events, e)
	}
}
