package zksession

import (
	"encoding/binary"
	"errors"

	"locklab/recipes/zkproto"
)

// errMalformed says that an answer is not what the protocol says.
var errMalformed = errors.New("malformed answer")

// takeLength takes the length of what follows. A length of -1 stands for a value that is absent.
func takeLength(b []byte) (n int, rest []byte, err error) {
	if len(b) < 4 {
		return 0, nil, errMalformed
	}
	n = max(0, int(int32(binary.BigEndian.Uint32(b))))
	if n > len(b)-4 {
		return 0, nil, errMalformed
	}
	return n, b[4:], nil
}

// takeString takes a string.
func takeString(b []byte) (s string, rest []byte, err error) {
	n, b, err := takeLength(b)
	if err != nil {
		return "", nil, err
	}
	return string(b[:n]), b[n:], nil
}

// takeNames takes a list of strings. They share one string in memory, so a list costs two allocations, however long it
// is; one name that is kept keeps the memory of all.
func takeNames(b []byte) ([]string, error) {
	if len(b) < 4 {
		return nil, errMalformed
	}
	count := max(0, int(int32(binary.BigEndian.Uint32(b))))
	if b = b[4:]; count > len(b)/4 {
		return nil, errMalformed
	}
	all, at := string(b), 0
	names := make([]string, count)
	for i := range names {
		n, rest, err := takeLength(b)
		if err != nil {
			return nil, err
		}
		at += 4
		names[i] = all[at : at+n]
		at, b = at+n, rest[n:]
	}
	return names, nil
}

// takeStat takes a znode's stat.
func takeStat(b []byte) (Stat, error) {
	if len(b) < zkproto.StatLength {
		return Stat{}, errMalformed
	}
	long := func(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }
	short := func(at int) int32 { return int32(binary.BigEndian.Uint32(b[at:])) }
	// czxid, mzxid, two times; the versions of data, children and ACL; owner; the length of the data, how many children
	// there are; the children's zxid
	return Stat{Czxid: long(0), Mzxid: long(8), Ctime: long(16), Version: short(32), Owner: long(44),
		Children: short(56)}, nil
}
