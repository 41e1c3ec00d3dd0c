package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// Decode appends the events of the frames in b to events. It stops at the first frame that is torn or incomplete; rest
// is what it did not read.
func Decode(events []Event, b []byte, intern map[string]string) (all []Event, rest []byte, err error) {
	share := func(raw []byte) string {
		v, ok := intern[string(raw)]
		if !ok {
			v = string(raw)
			intern[v] = v
		}
		return v
	}
	var f frame
	for {
		size, err := frameSize(b)
		if err != nil || size <= 0 {
			return events, b, err
		}
		if !f.parse(b) {
			return events, b, ErrTorn
		}
		if string(f.texts[textOp]) == string(OpAttempt) {
			// Its prefix of znode names never comes again.
			detail := string(f.texts[textDetail])
			f.texts[textDetail] = nil
			events = append(events, f.event(share))
			events[len(events)-1].Detail = detail
		} else {
			events = append(events, f.event(share))
		}
		b = b[size:]
	}
}

// WriteJSONL writes one event a line, as in a run directory's history.jsonl.
func WriteJSONL(w io.Writer, events *Log) error {
	bw := bufio.NewWriter(w)
	enc := json.NewEncoder(bw)
	enc.SetEscapeHTML(false)
	var one Event // for all, because an encoder's argument is on the heap
	for _, one = range events.All() {
		if err := enc.Encode(&one); err != nil {
			return fmt.Errorf("write history: %w", err)
		}
	}
	return bw.Flush()
}
