package txnlog

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A juteReader reads values from a record in jute's binary form (org.apache.jute.BinaryInputArchive). After the first
// error it returns zero values.
type juteReader struct {
	b   []byte
	err error
}

// errShort means that a record ends before its fields do.
var errShort = errors.New("the record is too short for its type")

func (r *juteReader) take(n int) []byte {
	if r.err == nil && n > len(r.b) {
		r.err = errShort
	}
	if r.err != nil {
		return nil
	}
	head := r.b[:n:n]
	r.b = r.b[n:]
	return head
}

func (r *juteReader) int() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *juteReader) long() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *juteReader) bool() bool {
	b := r.take(1)
	if b != nil && b[0] > 1 {
		r.err = fmt.Errorf("%d is neither true nor false", b[0])
	}
	return b != nil && b[0] == 1
}

// buffer returns bytes that share the record's memory, or nil for jute's null.
func (r *juteReader) buffer() []byte {
	n := r.int()
	switch {
	case r.err != nil || n == -1:
		return nil
	case n < 0:
		r.err = fmt.Errorf("length %d", n)
		return nil
	}
	return r.take(int(n))
}

func (r *juteReader) string() string { return string(r.buffer()) }

// vector reads the elements of a vector, or returns nil for jute's null. Each element takes at least least bytes, so
// that a wrong count cannot ask for more memory than the record has.
func vector[T any](r *juteReader, least int, element func() T) []T {
	n := r.int()
	if r.err == nil && (n < -1 || int64(n)*int64(least) > int64(len(r.b))) {
		r.err = fmt.Errorf("a vector of %d elements in %d bytes", n, len(r.b))
	}
	if r.err != nil || n == -1 {
		return nil
	}
	all := make([]T, 0, n)
	for range n {
		all = append(all, element())
		if r.err != nil {
			return nil
		}
	}
	return all
}
