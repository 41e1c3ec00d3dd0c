package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// An Outbox is the raw history of one process, which another process collects while it is written. Its offsets count
// the bytes of the whole history, including those that have been collected. Many goroutines may use it at once.
type Outbox struct {
	dir string

	mu    sync.Mutex
	first int64 // the first segment that is still there
	begin int64 // its offset
}

// NewOutbox returns the outbox of the history in dir, of which nothing has been collected; dir may not exist yet.
func NewOutbox(dir string) *Outbox { return &Outbox{dir: dir} }

// Tail reads the history from the segment that has the byte at an offset. skip is how many of the bytes that the
// tailer returns come before the offset.
func (o *Outbox) Tail(offset int64) (t *Tailer, skip int64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, begin, err := o.find(offset)
	if err != nil {
		return nil, 0, err
	}
	t = NewTailer(o.dir)
	t.n = n
	return t, offset - begin, nil
}

// Collected removes the segments that end at or before an offset, because everything before it has arrived elsewhere.
func (o *Outbox) Collected(offset int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, begin, err := o.find(offset)
	if err != nil {
		return err
	}
	for ; o.first < n; o.first++ {
		if err := os.Remove(segmentName(o.dir, o.first)); err != nil {
			return fmt.Errorf("remove a collected part of a history: %w", err)
		}
	}
	o.begin = begin
	return nil
}

// find returns the segment that has the byte at an offset, and the segment's own offset. o.mu is held.
func (o *Outbox) find(offset int64) (n, begin int64, err error) {
	if offset < o.begin {
		return 0, 0, fmt.Errorf("history from byte %d on: the bytes before %d have been collected and removed", offset,
			o.begin)
	}
	n, begin = o.first, o.begin
	for {
		// Only a segment that has a successor has its final length, or still the one that it was made with.
		if _, err := os.Stat(segmentName(o.dir, n+1)); errors.Is(err, fs.ErrNotExist) {
			return n, begin, nil
		} else if err != nil {
			return 0, 0, err
		}
		st, err := os.Stat(segmentName(o.dir, n))
		if err != nil {
			return 0, 0, err
		}
		if begin+st.Size() > offset {
			return n, begin, nil
		}
		n, begin = n+1, begin+st.Size()
	}
}
