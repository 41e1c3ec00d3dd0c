package client

import (
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"
)

// What is resident grows with what is touched, by about as much. What is touched here is not of Go's heap: that
// would give it memory that is resident already, the garbage of tests before this one. And that garbage
// goes first, or would go meanwhile and count against it.
func TestResident(t *testing.T) {
	const size = 64 << 20
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Munmap(b); err != nil {
			t.Error(err)
		}
	}()
	debug.FreeOSMemory()
	before, err := resident()
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		b[i] = byte(i)
	}
	after, err := resident()
	if err != nil {
		t.Fatal(err)
	}
	if grown := after - before; grown < size/2 || grown > size*3/2 {
		t.Errorf("%d bytes touched made %d resident", len(b), grown)
	}
}
