package history

import (
	"errors"
	"io"
	"io/fs"
	"os"
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
