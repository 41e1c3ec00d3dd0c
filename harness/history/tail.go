package history

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// A Tailer reads a raw history while it is being written, frame by frame. Only one goroutine may use it.
type Tailer struct {
	dir  string
	file *os.File
	pos  int64
	n    int64 // number of the open segment
	buf  []byte
}

// NewTailer reads the history in dir from its beginning; dir may not exist yet.
func NewTailer(dir string) *Tailer { return &Tailer{dir: dir, buf: make([]byte, 1<<18)} }

// Next returns whole frames that have been written since the last call, or
// nothing if there are none now. The bytes are valid until the next call.
func (t *Tailer) Next() ([]byte, error) {
	for {
		if t.file == nil {
			f, err := os.Open(segmentName(t.dir, t.n))
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			t.file, t.pos = f, 0
		}
		frames, room, err := t.read()
		if len(frames) > 0 || err != nil {
			return frames, err
		}
		// A segment is cut to what was written before anything is written to its successor.
		if room {
			return nil, nil
		}
		if _, err := os.Stat(segmentName(t.dir, t.n+1)); err != nil {
			return nil, nil
		}
		// A segment that has a successor is complete, so one more read finds the rest of it.
		if frames, _, err := t.read(); len(frames) > 0 || err != nil {
			return frames, err
		}
		if err := t.Close(); err != nil {
			return nil, err
		}
		t.n++
	}
}

// read returns the whole frames that are there now. If there are none, it reports whether the segment has room for
// more. It reads one frame's length first, because most polls find none, and megabytes of zeros follow the written part
// of a segment.
func (t *Tailer) read() (frames []byte, room bool, err error) {
	var length [4]byte
	if n, err := t.file.ReadAt(length[:], t.pos); err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	} else if n < len(length) || length == [4]byte{} {
		return nil, n == len(length), nil
	}
	n, err := t.file.ReadAt(t.buf, t.pos)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	whole := wholeFrames(t.buf[:n])
	t.pos += int64(whole)
	return t.buf[:whole], false, nil
}

// Segment returns the number of the segment that the next frames come from, or the last ones came from.
func (t *Tailer) Segment() int64 { return t.n }

// Close releases the open file. The Tailer may still be used.
func (t *Tailer) Close() error {
	if t.file == nil {
		return nil
	}
	err := t.file.Close()
	t.file = nil
	return err
}

// wholeFrames returns the length of the prefix of b that is whole frames.
func wholeFrames(b []byte) int {
	end := 0
	for end < len(b) {
		size, err := frameSize(b[end:])
		if err != nil || size <= 0 {
			break
		}
		end += size
	}
	return end
}

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
