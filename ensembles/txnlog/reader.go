package txnlog

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"slices"
)

// ErrTorn means that the last record of a log is incomplete. The server died while it wrote the record, or was still
// writing. It had not acknowledged that transaction. Everything before it has been read.
var ErrTorn = errors.New("the last record is torn")

// ErrCorrupt means that a log is not as a server writes it, even if the server died.
var ErrCorrupt = errors.New("the log is corrupt")

// A FileError says where in which log something is wrong. It wraps ErrTorn, ErrCorrupt or the error of reading the
// file.
type FileError struct {
	File   string
	Offset int64 // of the record or header, in bytes
	Err    error
}

func (e *FileError) Error() string {
	return fmt.Sprintf("transaction log %s at byte %d: %v", e.File, e.Offset, e.Err)
}
func (e *FileError) Unwrap() error { return e.Err }

// The parts of a file around the payloads.
const (
	magic          = "ZKLG"
	formatVersion  = 2
	fileHeaderSize = 4 + 4 + 8
	endOfRecord    = 'B'
	// maxPayload is larger than any server accepts (jute.maxbuffer, 1 MiB by default).
	maxPayload = 256 << 20
)

// A Record is a transaction and where it was found.
type Record struct {
	Txn
	File   string
	Offset int64 // of the record's first byte
}

// A Reader reads one log. It needs memory for one record at a time.
type Reader struct {
	r      *bufio.Reader
	name   string
	offset int64 // of the next byte to read
	start  int64 // of the record that was read last
	err    error // what ended the log
}

// NewReader reads the header of a log. Errors call the log by that name. The header of an empty log is torn.
func NewReader(r io.Reader, name string) (*Reader, error) {
	l := &Reader{r: bufio.NewReaderSize(r, 64<<10), name: name}
	var header [fileHeaderSize]byte
	if err := l.full(header[:]); err != nil {
		return nil, l.fail(err)
	}
	if string(header[:4]) != magic {
		return nil, l.corrupt("it begins with %q and not %q", header[:4], magic)
	}
	if v := binary.BigEndian.Uint32(header[4:]); v != formatVersion {
		return nil, l.corrupt("its format has version %d and not %d", v, formatVersion)
	}
	return l, nil
}

// Next returns the next transaction. At the log's end the error is io.EOF. At a torn record it wraps ErrTorn. Further
// calls return the same error.
func (l *Reader) Next() (Record, error) {
	if l.err != nil {
		return Record{}, l.err
	}
	rec, err := l.next()
	l.err = err
	return rec, err
}

func (l *Reader) next() (Record, error) {
	payload, err := l.payload(nil)
	if err != nil {
		return Record{}, err
	}
	t, err := decode(payload, nil)
	if err != nil {
		return Record{}, l.corrupt("%w", err)
	}
	return Record{Txn: t, File: l.name, Offset: l.start}, nil
}

// payload appends the next record's payload to b, undecoded.
func (l *Reader) payload(b []byte) ([]byte, error) {
	l.start = l.offset
	sum, size, err := l.head()
	if err != nil {
		return b, err
	}
	was := len(b)
	if b, err = l.append(b, size); err != nil {
		return b, l.fail(err)
	}
	end, err := l.append(b, 1)
	if err != nil {
		return b, l.fail(err)
	}
	switch end[len(b)] {
	case endOfRecord:
	case 0:
		return b, l.end(true, "a record without an end")
	default:
		return b, l.corrupt("the record ends in byte %#x and not %#x", end[len(b)], endOfRecord)
	}
	if got := uint64(adler32.Checksum(b[was:])); got != sum {
		return b, l.corrupt("the record's checksum is %#x, its content's %#x", sum, got)
	}
	return b, nil
}

// head reads what precedes a payload: its checksum and its size.
func (l *Reader) head() (sum uint64, size int, err error) {
	head, headErr := l.r.Peek(8 + 4)
	if len(head) == 0 && errors.Is(headErr, io.EOF) {
		return 0, 0, io.EOF
	}
	var padded [8 + 4]byte
	if headErr != nil {
		copy(padded[:], head) // missing bytes are zero, as in a preallocated file
		head = padded[:]
	}
	sum, n := binary.BigEndian.Uint64(head[:8]), int32(binary.BigEndian.Uint32(head[8:]))
	switch {
	case n < 0 || n > maxPayload:
		return 0, 0, l.corrupt("a record of %d bytes", n)
	case headErr != nil && !errors.Is(headErr, io.EOF):
		return 0, 0, l.fail(headErr)
	case headErr != nil && allZero(head):
		return 0, 0, io.EOF // fewer zeros than a record's head is long
	case headErr != nil:
		return 0, 0, l.fail(io.ErrUnexpectedEOF)
	}
	skipped, _ := l.r.Discard(8 + 4)
	l.offset += int64(skipped)
	if n == 0 {
		// This is where the preallocated zeros begin. If there is a checksum without a length, a record was being
		// written.
		return 0, 0, l.end(sum != 0, "a record of length 0")
	}
	return sum, int(n), nil
}

// append reads so many bytes. It reads many of them in steps, so that a wrong length costs no more memory than the file
// is long.
func (l *Reader) append(b []byte, size int) ([]byte, error) {
	const step = 1 << 20
	for size > 0 {
		n := min(size, step)
		b = slices.Grow(b, n)
		if err := l.full(b[len(b) : len(b)+n]); err != nil {
			return b, err
		}
		b, size = b[:len(b)+n], size-n
	}
	return b, nil
}

// zxid skips the next record and returns its zxid. It does not find out whether the record is as it was written.
func (l *Reader) zxid() (int64, error) {
	l.start = l.offset
	_, size, err := l.head()
	if err != nil {
		return 0, err
	}
	ids, err := l.r.Peek(min(size, zxidEnd))
	if err != nil || size < zxidEnd {
		return 0, l.fail(io.ErrUnexpectedEOF)
	}
	zxid := zxidOf(ids)
	n, err := l.r.Discard(size + 1)
	l.offset += int64(n)
	return zxid, err
}

func (l *Reader) full(b []byte) error {
	n, err := io.ReadFull(l.r, b)
	l.offset += int64(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// end returns the error for the end of the log, torn or not. If anything but zeros follows, the log is corrupt,
// because it was longer once.
func (l *Reader) end(torn bool, what string) error {
	for {
		_, err := l.r.Peek(1)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return l.fail(err)
		}
		b, _ := l.r.Peek(l.r.Buffered())
		if !allZero(b) {
			return l.corrupt("%s with data after it", what)
		}
		n, _ := l.r.Discard(len(b))
		l.offset += int64(n)
	}
	if torn {
		return l.fail(io.ErrUnexpectedEOF)
	}
	return io.EOF
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// fail adds the name of the log and the position to an error.
func (l *Reader) fail(err error) error {
	switch {
	case err == io.EOF:
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = ErrTorn
	}
	return &FileError{File: l.name, Offset: l.start, Err: err}
}

func (l *Reader) corrupt(format string, args ...any) error {
	return l.fail(fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...))
}
