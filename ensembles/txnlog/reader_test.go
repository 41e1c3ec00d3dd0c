package txnlog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"locklab/ensembles/txnlog"
)

// read returns the transactions of a log and the error that ended it, which is nil at its end.
func read(b []byte) ([]txnlog.Txn, error) {
	var all []txnlog.Txn
	for rec, err := range txnlog.Read(bytes.NewReader(b), "log.1") {
		if err != nil {
			return all, err
		}
		all = append(all, rec.Txn)
	}
	return all, nil
}

func TestEveryKindIsReadBack(t *testing.T) {
	want := everyKind()
	got, err := read(file(want...))
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	// A reader that gets one byte at a time returns the same.
	l, err := txnlog.NewReader(iotest.OneByteReader(bytes.NewReader(file(want...))), "log.1")
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		rec, err := l.Next()
		if err != nil || !rec.Same(want[i]) {
			t.Fatalf("%v, %v", rec, err)
		}
	}
	for range 2 {
		if _, err := l.Next(); err != io.EOF {
			t.Errorf("after the end: %v", err)
		}
	}
}

// Older servers wrote no digest, no list of znodes and no version of the parent.
func TestOlderForms(t *testing.T) {
	digest := &txnlog.Digest{Version: 2, Tree: 7}
	for _, closes := range [][]string{nil, {}, {"/abc"}, {"/a", "/b"}} {
		for _, d := range []*txnlog.Digest{nil, digest} {
			want := txnlog.Txn{Zxid: 1, Session: 2, Type: txnlog.CloseSession, Closes: closes, Digest: d}
			got, err := read(file(want))
			if d := cmp.Diff([]txnlog.Txn{want}, got); err != nil || d != "" {
				t.Errorf("closes %q: %v\n%s", closes, err, d)
			}
		}
	}
	old := txnlog.Txn{Zxid: 1, Type: txnlog.Create,
		Ops: []txnlog.Op{{Type: txnlog.Create, Path: "/a", ParentCVersion: -1}}}
	p := payload(old)
	got, err := read(append(header(), record(p[:len(p)-4])...))
	if d := cmp.Diff([]txnlog.Txn{old}, got); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}

// offsets returns where each record of a log begins, and where the last one ends.
func offsets(txns []txnlog.Txn) []int {
	all := []int{len(header())}
	for _, t := range txns {
		all = append(all, all[len(all)-1]+len(record(payload(t))))
	}
	return all
}

// Wherever a server dies, with or without preallocated space, the complete records are read, and an incomplete one is
// torn and not corrupt.
func TestTornAtEveryByte(t *testing.T) {
	want := everyKind()
	whole := file(want...)
	at := offsets(want)
	for cut := range len(whole) + 1 {
		n := 0 // complete records
		for n < len(want) && at[n+1] <= cut {
			n++
		}
		for _, padding := range []int{0, 1, 13, 10_000} {
			if cut < len(header()) && padding > 0 {
				continue // a server writes the header before it allocates
			}
			got, err := read(append(whole[:cut:cut], make([]byte, padding)...))
			if !slices.EqualFunc(want[:n], got, txnlog.Txn.Same) {
				t.Fatalf("cut at %d and padded by %d: %v", cut, padding, got)
			}
			// The first bytes of a checksum are zeros, so they do not look like a record yet.
			clean := slices.Contains(at, cut) || cut > at[0] && len(bytes.Trim(whole[at[n]:cut], "\x00")) == 0
			if clean != (err == nil) || err != nil && !errors.Is(err, txnlog.ErrTorn) {
				t.Fatalf("cut at %d and padded by %d: %v", cut, padding, err)
			}
			if fe, ok := errors.AsType[*txnlog.FileError](err); err != nil &&
				(!ok || fe.File != "log.1" || cut >= at[0] && fe.Offset != int64(at[n])) {
				t.Fatalf("cut at %d: the record is at %d: %v", cut, at[n], err)
			}
		}
	}
}

// No flipped bit produces another history. The reader notices it, at the latest in the record of the bit.
func TestFlippedBits(t *testing.T) {
	want := everyKind()
	whole := file(want...)
	at := offsets(want)
	for i := range whole {
		if i >= 8 && i < 16 {
			continue // the dbid, which nothing depends on
		}
		index := 0 // the record, or the header, that contains the bit
		for index < len(at)-1 && at[index+1] <= i {
			index++
		}
		for bit := range 8 {
			b := slices.Clone(whole)
			b[i] ^= 1 << bit
			got, err := read(b)
			if err == nil || !slices.EqualFunc(want[:index], got, txnlog.Txn.Same) {
				t.Fatalf("bit %d of byte %d, in record %d: %v, %v", bit, i, index, got, err)
			}
			// Only a wrong length in the last record can look as if the server had died.
			if errors.Is(err, txnlog.ErrTorn) == errors.Is(err, txnlog.ErrCorrupt) {
				t.Fatalf("bit %d of byte %d: %v", bit, i, err)
			}
		}
	}
}

func TestCorrupt(t *testing.T) {
	one := everyKind()[0]
	rec := record(payload(one))
	framed := func(size int32, rest ...byte) []byte {
		var j jute
		j.long(1)
		j.int(size)
		return slices.Concat(header(), j, rest)
	}
	body := func(kind txnlog.Type, rest ...byte) []byte {
		return append(header(), record(slices.Concat(payload(one)[:28], binary.BigEndian.AppendUint32(nil, uint32(kind)),
			rest))...)
	}
	for _, c := range []struct {
		name, want string
		log        []byte
	}{
		{"not a log", `begins with "log4"`, []byte("log4j.rootLogger=INFO")},
		{"later format", "version 3", []byte("ZKLG\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00")},
		{"length below zero", "a record of -1 bytes", framed(-1)},
		{"length beyond reason", "a record of 2147483647 bytes", framed(1<<31-1, make([]byte, 100)...)},
		{"zeros in the middle", "a record of length 0 with data after it",
			slices.Concat(header(), make([]byte, 100_000), rec)},
		{"no end, then data", "a record without an end with data after it",
			slices.Concat(header(), rec[:len(rec)-1], make([]byte, 50), rec)},
		{"another end", "ends in byte 0x43", slices.Concat(header(), rec[:len(rec)-1], []byte("C"))},
		{"unknown type", "type 99", body(99)},
		{"a check alone", "check outside", body(txnlog.Check, make([]byte, 8)...)},
		{"too short", "too short", body(txnlog.Delete, 0, 0, 0, 9)},
		{"length in a body", "length -2", body(txnlog.Delete, 255, 255, 255, 254)},
		{"left over", "1 bytes left over", body(txnlog.Error, 0, 0, 0, 0, 0)},
		{"not a boolean", "neither true nor false",
			body(txnlog.Create2, 0, 0, 0, 1, '/', 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0)},
		{"time to live beyond reason", "a time to live of 1099511627776 ms",
			body(txnlog.CreateTTL, slices.Concat(make([]byte, 16+2), []byte{1}, make([]byte, 5))...)},
		{"vector beyond reason", "a vector of 2147483647 elements", body(txnlog.CloseSession, 0x7f, 255, 255, 255)},
		{"multi with a wrong part", "delete in a multi: the record is too short",
			body(txnlog.Multi, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0)},
		{"multi with more in a part", "delete in a multi: 1 bytes left over",
			body(txnlog.Multi, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 0, 0)},
		{"multi with too short an error", "error in a multi: the record is too short",
			body(txnlog.Multi, 0, 0, 0, 1, 255, 255, 255, 255, 0, 0, 0, 3, 0, 0, 0)},
		{"multi in a multi", "multi in a multi: a log does not contain multi",
			body(txnlog.Multi, 0, 0, 0, 1, 0, 0, 0, 14, 0, 0, 0, 4, 0, 0, 0, 0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(c.log)
			if !errors.Is(err, txnlog.ErrCorrupt) || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "log.1 at byte ") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A wrong length costs no more memory than the file is long.
func TestWrongLengthsTakeNoMemory(t *testing.T) {
	var j jute
	j.long(1)
	j.int(200 << 20)
	log := slices.Concat(header(), j, make([]byte, 5<<20))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := read(log)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, txnlog.ErrTorn) {
		t.Error(err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 40<<20 {
		t.Errorf("%d MiB were allocated to read 5", took>>20)
	}
}

// The reader reads a large payload in steps.
func TestLargeRecord(t *testing.T) {
	big := txnlog.Txn{Zxid: 1, Type: txnlog.SetData,
		Ops: []txnlog.Op{{Type: txnlog.SetData, Path: "/a", Data: bytes.Repeat([]byte("0123456"), 1<<18)}}}
	log := file(big, everyKind()[0])
	if got, err := read(log); err != nil || len(got) != 2 || !got[0].Same(big) {
		t.Errorf("%d, %v", len(got), err)
	}
	if got, err := read(log[:1<<20]); !errors.Is(err, txnlog.ErrTorn) || len(got) > 0 {
		t.Errorf("%d, %v", len(got), err)
	}
}

// A file that cannot be read is neither torn nor corrupt.
func TestReadErrors(t *testing.T) {
	disk := errors.New("disk")
	whole := append(file(everyKind()...), make([]byte, 100)...)
	for n := range len(whole) {
		var err error
		for _, err = range txnlog.Read(io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(disk)), "log.1") {
		}
		if !errors.Is(err, disk) || errors.Is(err, txnlog.ErrTorn) || errors.Is(err, txnlog.ErrCorrupt) {
			t.Fatalf("after %d bytes: %v", n, err)
		}
	}
}

func TestTrim(t *testing.T) {
	whole := file(everyKind()...)
	for _, c := range []struct{ in, want []byte }{
		{nil, nil}, {whole[:5], whole[:5]}, {header(), header()}, {append(header(), make([]byte, 1<<20)...), header()},
		{whole, whole}, {append(whole, make([]byte, 200_000)...), whole},
		{slices.Concat(whole, make([]byte, 200_000), []byte{1, 0}), slices.Concat(whole, make([]byte, 200_000), []byte{1})},
	} {
		for _, src := range []io.Reader{bytes.NewReader(c.in), iotest.DataErrReader(bytes.NewReader(c.in))} {
			var b bytes.Buffer
			if n, err := txnlog.Trim(&b, src); err != nil || n != int64(b.Len()) || !bytes.Equal(b.Bytes(), c.want) {
				t.Errorf("%d bytes became %d and not %d: %v", len(c.in), n, len(c.want), err)
			}
		}
	}
	_, err := txnlog.Trim(io.Discard, iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(whole))))
	if !errors.Is(err, iotest.ErrTimeout) {
		t.Error(err)
	}
}

func TestTxnString(t *testing.T) {
	var b strings.Builder
	for _, txn := range everyKind()[9:16] {
		fmt.Fprintln(&b, txn)
	}
	const want = `zxid 0x10000000a session 0x0 cxid 7 deleteContainer /c
zxid 0x10000000b session 0x80ffffffffffffff cxid 8 error code -101
zxid 0x10000000c session 0x80ffffffffffffff cxid 9 multi [create /a, create2 /a/ü-0000000001, createContainer /c, ` +
		`createTtl /t, check /a, setData /a, delete /t,%}` + "\r\n" + `]
zxid 0x10000000d session 0x80ffffffffffffff cxid 10 multi [error code 0, error code -101]
zxid 0x10000000e session 0x80ffffffffffffff cxid 11 multi [delete /t,%}` + "\r\n" + `, error code -101]
zxid 0x10000000f session 0x80ffffffffffffff cxid 12 multi [error code 0, error code -101]
zxid 0x100000010 session 0x80ffffffffffffff cxid 13 closeSession closes /a/ü-0000000001,/b
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
}

func TestEffects(t *testing.T) {
	all := everyKind()
	refused := all[11]
	refused.Ops = append(slices.Clone(refused.Ops), all[10].Ops[0])
	for _, c := range []struct {
		txn  txnlog.Txn
		want int
	}{{all[0], 0}, {all[1], 1}, {all[10], 0}, {all[11], len(all[11].Ops)}, {all[12], 0}, {all[13], 0}, {all[14],
		0}, {refused, 0}} {
		if got := c.txn.Effects(); len(got) != c.want {
			t.Errorf("%v: %v", c.txn, got)
		}
	}
}

// For any file, the reader does not panic, its memory is bounded, encoding what it read gives the file's records, and
// trimming changes nothing.
func FuzzRead(f *testing.F) {
	whole := file(everyKind()...)
	for i := range everyKind() {
		f.Add(file(everyKind()[i]))
	}
	f.Add(append(whole, make([]byte, 100)...))
	f.Add(whole[:len(whole)-3])
	f.Fuzz(func(t *testing.T, log []byte) {
		log = slices.Clone(log) // which belongs to the fuzzer
		fix(log)                // otherwise most inputs would fail at the checksum
		got, err := read(log)
		if fe, ok := errors.AsType[*txnlog.FileError](err); err != nil &&
			(!ok || fe.Offset < 0 || fe.Offset > int64(len(log))) {
			t.Fatalf("%v does not say where", err)
		}
		var trimmed bytes.Buffer
		if _, err := txnlog.Trim(&trimmed, bytes.NewReader(log)); err != nil {
			t.Fatal(err)
		}
		same, trimErr := read(trimmed.Bytes())
		if !slices.EqualFunc(got, same, txnlog.Txn.Same) ||
			errors.Is(err, txnlog.ErrTorn) != errors.Is(trimErr, txnlog.ErrTorn) || (err == nil) != (trimErr == nil) {
			t.Fatalf("trimmed: %v, %v; before: %v, %v", same, trimErr, got, err)
		}
		again, err := read(file(got...))
		if err != nil || !slices.EqualFunc(got, again, txnlog.Txn.Same) {
			t.Fatalf("%v\nbecame %v, %v", got, again, err)
		}
	})
}

// fix writes correct checksums into a log for as long as its lengths are valid.
func fix(log []byte) {
	for at := len(header()); at+12 <= len(log); {
		size := int(int32(binary.BigEndian.Uint32(log[at+8:])))
		if size <= 0 || at+12+size+1 > len(log) {
			return
		}
		binary.BigEndian.PutUint64(log[at:], uint64(adler32.Checksum(log[at+12:at+12+size])))
		at += 12 + size + 1
	}
}

// The rest of a cut log has the same bytes as the original. If nothing is left, the log is removed.
func TestCut(t *testing.T) {
	all := everyKind()
	whole := file(all...)
	first := all[0].Zxid
	for i := -1; i < len(all); i++ {
		after := first - 1
		if i >= 0 {
			after = all[i].Zxid
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("log.%x", first)), whole, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "snapshot.1"), whole, 0o644); err != nil {
			t.Fatal(err)
		}
		n, err := txnlog.Cut(dir, after)
		if err != nil {
			t.Fatal(err)
		}
		names, err := txnlog.Files(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(slices.Clone(all), func(t txnlog.Txn) bool { return t.Zxid <= after })
		if len(want) == 0 {
			if len(names) > 0 || n != 0 {
				t.Errorf("after %x: %q", after, names)
			}
			continue
		}
		if len(names) != 1 || names[0] != fmt.Sprintf("log.%x", want[0].Zxid) {
			t.Fatalf("after %x: %q", after, names)
		}
		b, err := os.ReadFile(filepath.Join(dir, names[0]))
		if err != nil || int64(len(b)) != n || !bytes.Equal(b, file(want...)) {
			t.Errorf("after %x: %d bytes of %d, %v", after, len(b), n, err)
		}
	}
}

// A log that cannot be read up to the zxid is left as it is.
func TestCutOfACorruptLog(t *testing.T) {
	b := file(everyKind()...)
	b[40] ^= 1
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "log.1"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	if n, err := txnlog.Cut(dir, 1<<40); n != int64(len(b)) || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}
