package zktest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/go-zookeeper/zk"
)

// maxFrame is the length of the longest request that a server reads, as by ZooKeeper's default.
const maxFrame = 0xfffff

// readFrame reads the body of one frame.
func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if word, ok := fourLetters(head); ok {
		return nil, word
	}
	if length > maxFrame {
		return nil, fmt.Errorf("a request of %d bytes is longer than the server's limit of %d", length, maxFrame)
	}
	frame := make([]byte, length)
	_, err := io.ReadFull(r, frame)
	return frame, err
}

// A decoder reads a record in the protocol's encoding, jute. After an error it returns zero values.
type decoder struct {
	b   []byte
	err error
}

var errShort = errors.New("the request ends too early")

func (d *decoder) take(n int) []byte {
	if d.err != nil || n > len(d.b) {
		d.err = errShort
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) int32() int32 {
	if b := d.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (d *decoder) int64() int64 {
	if b := d.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (d *decoder) bool() bool {
	b := d.take(1)
	return b != nil && b[0] != 0
}

// bytes returns a copy; nil if the length is negative.
func (d *decoder) bytes() []byte {
	n := d.int32()
	if n < 0 {
		return nil
	}
	return append([]byte{}, d.take(int(n))...)
}

func (d *decoder) string() string { return string(d.bytes()) }

// list reads as many items as its length says, and fewer after an error.
func list[T any](d *decoder, item func() T) (all []T) {
	for n := d.int32(); n > 0 && d.err == nil; n-- {
		all = append(all, item())
	}
	return all
}

func (d *decoder) acl() zk.ACL { return zk.ACL{Perms: d.int32(), Scheme: d.string(), ID: d.string()} }

// An encoder writes a record in jute.
type encoder struct{ b []byte }

// newFrame returns an encoder of a frame, whose length is not yet known.
func newFrame() *encoder { return &encoder{make([]byte, 4, 128)} }

// frame returns the frame with its length.
func (e *encoder) frame() []byte {
	binary.BigEndian.PutUint32(e.b, uint32(len(e.b)-4))
	return e.b
}

func (e *encoder) int32(v int32) { e.b = binary.BigEndian.AppendUint32(e.b, uint32(v)) }
func (e *encoder) int64(v int64) { e.b = binary.BigEndian.AppendUint64(e.b, uint64(v)) }

func (e *encoder) bool(v bool) {
	if v {
		e.b = append(e.b, 1)
	} else {
		e.b = append(e.b, 0)
	}
}

func (e *encoder) bytes(v []byte) {
	if v == nil {
		e.int32(-1)
		return
	}
	e.int32(int32(len(v)))
	e.b = append(e.b, v...)
}

func (e *encoder) string(v string) {
	e.int32(int32(len(v)))
	e.b = append(e.b, v...)
}

func (e *encoder) stat(s zk.Stat) {
	for _, v := range []int64{s.Czxid, s.Mzxid, s.Ctime, s.Mtime} {
		e.int64(v)
	}
	for _, v := range []int32{s.Version, s.Cversion, s.Aversion} {
		e.int32(v)
	}
	e.int64(s.EphemeralOwner)
	e.int32(s.DataLength)
	e.int32(s.NumChildren)
	e.int64(s.Pzxid)
}
