package history

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// A Tailer reads a raw history while it is being written, frame by frame. It
// serves one goroutine.
type Tailer struct {
	dir  string
	file *os.File
	pos  int64
	n    int // number of the open segment
	buf  []byte
}

// NewTailer reads the history in dir from its beginning; dir may not exist yet.
func NewTailer(dir string) *Tailer { return &Tailer{dir: dir, buf: make([]byte, 1<<18)} }

// Next returns whole frames that have been written since the last call, or
// nothing if there are none now. The bytes are valid until the next call.
func (t *Tailer) Next() ([]byte, error) {
	for {
		if t.file == nil {
			f, err := os.Open(t.segment(t.n))
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			t.file, t.pos = f, 0
		}
		// Whether a successor exists is asked before reading: if it does, what
		// the read finds is all there will ever be of this segment.
		_, err := os.Stat(t.segment(t.n + 1))
		last := err != nil
		n, err := t.file.ReadAt(t.buf, t.pos)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if whole := wholeFrames(t.buf[:n]); whole > 0 {
			t.pos += int64(whole)
			return t.buf[:whole], nil
		}
		if last {
			return nil, nil
		}
		if err := t.Close(); err != nil {
			return nil, err
		}
		t.n++
	}
}

// Close releases the open file. The Tailer may go on to be used.
func (t *Tailer) Close() error {
	if t.file == nil {
		return nil
	}
	err := t.file.Close()
	t.file = nil
	return err
}

func (t *Tailer) segment(n int) string {
	return filepath.Join(t.dir, fmt.Sprintf("%06d%s", n, SegmentSuffix))
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
