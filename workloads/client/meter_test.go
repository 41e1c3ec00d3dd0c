package client

import (
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"
)

// Resident memory grows by about as much as a process touches. The test does not touch Go's heap, because the heap
// would reuse memory that is resident already, the garbage of earlier tests. That garbage is collected first, because
// it would otherwise be freed during the test and distort the result.
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
