package txnlog

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
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
	dbid   int64
	offset int64 // of the next byte to read
	start  int64 // of the record being read
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
	l.dbid = int64(binary.BigEndian.Uint64(header[8:]))
	return l, nil
}

// DBID returns the id in the file's header, which servers leave 0.
func (l *Reader) DBID() int64 { return l.dbid }

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
	l.start = l.offset
	if _, err := l.r.Peek(1); errors.Is(err, io.EOF) {
		return Record{}, io.EOF
	}
	var head [8 + 4]byte
	headErr := l.full(head[:]) // missing bytes are zero, as in a preallocated file
	sum, size := binary.BigEndian.Uint64(head[:8]), int32(binary.BigEndian.Uint32(head[8:]))
	switch {
	case size < 0 || size > maxPayload:
		return Record{}, l.corrupt("a record of %d bytes", size)
	case headErr != nil && allZero(head[:]) && errors.Is(headErr, io.ErrUnexpectedEOF):
		return Record{}, io.EOF // fewer zeros than a record's head is long
	case headErr != nil:
		return Record{}, l.fail(headErr)
	case size == 0:
		// This is where the preallocated zeros begin. If there is a checksum without a length, a record was being
		// written.
		return Record{}, l.end(sum != 0, "a record of length 0")
	}
	payload, err := l.payload(int(size))
	if err != nil {
		return Record{}, l.fail(err)
	}
	var end [1]byte
	if err := l.full(end[:]); err != nil {
		return Record{}, l.fail(err)
	}
	if end[0] != endOfRecord {
		if end[0] != 0 {
			return Record{}, l.corrupt("the record ends in byte %#x and not %#x", end[0], endOfRecord)
		}
		return Record{}, l.end(true, "a record without an end")
	}
	if got := uint64(adler32.Checksum(payload)); got != sum {
		return Record{}, l.corrupt("the record's checksum is %#x, its content's %#x", sum, got)
	}
	t, err := decode(payload)
	if err != nil {
		return Record{}, l.corrupt("%w", err)
	}
	return Record{Txn: t, File: l.name, Offset: l.start}, nil
}

// payload reads a large payload in steps, so that a wrong length costs no more memory than the file is long.
func (l *Reader) payload(size int) ([]byte, error) {
	const step = 1 << 20
	if size <= step {
		b := make([]byte, size)
		return b, l.full(b)
	}
	var b bytes.Buffer
	n, err := io.CopyN(&b, l.r, int64(size))
	l.offset += n
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return b.Bytes(), err
}

// full fills b.
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
