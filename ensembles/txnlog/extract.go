package txnlog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrMixed means that a transaction is about znodes below a path and about others too, so that it can neither be kept
// nor left out.
var ErrMixed = errors.New("a transaction is about znodes of the run and about others")

// An Extraction says which part of a server's logs is copied. Root is the path of somebody who shares the server with
// others. All of Root's transactions are kept, which are those about znodes below Root, and about the sessions of them.
// Of every other transaction, nothing but its zxid and its time stays, in a record of type [Error] without a session.
// So the copy proves as well as the original that it lacks no transaction, and tells nothing of the others. The ids in
// access control lists are masked, because those of digests can be guessed.
type Extraction struct {
	Root string
	// After and Until bound the zxids: those from After+1 to Until. An Until of 0 is no bound.
	After, Until int64
}

// Copy copies the logs in src, which a server may be writing to, into the directory dst, which it makes. It returns the
// size of the copies in bytes.
func (x Extraction) Copy(dst string, src fs.FS) (int64, error) {
	names, err := Files(src)
	if err == nil && len(names) == 0 {
		err = ErrNoLogs
	}
	if err != nil {
		return 0, err
	}
	names = Since(names, x.After)
	own, err := x.sessions(src, names)
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(dst, 0o755); err != nil {
		return 0, err
	}
	var n int64
	for _, name := range names {
		wrote, err := x.copyFile(dst, src, name, own)
		if n += wrote; err != nil {
			return n, err
		}
	}
	return n, nil
}

// Since returns those of a server's logs, in their order, that may contain transactions later than a zxid. A log ends
// where the next one begins.
func Since(names []string, after int64) []string {
	for len(names) > 1 {
		if next, _ := FirstZxid(names[1]); next > after+1 {
			break
		}
		names = names[1:]
	}
	return names
}

// each calls do for every record of a log within the bounds, with its payload. A log that a server is writing to may
// end in a torn record, which it had not acknowledged.
func (x Extraction) each(src fs.FS, name string, do func(Txn, []byte) error) error {
	f, err := src.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := NewReader(f, name)
	var payload []byte
	for err == nil {
		if payload, err = r.payload(payload[:0]); err != nil {
			break
		}
		var t Txn
		if t, err = decode(payload, nil); err != nil {
			err = r.corrupt("%w", err)
		} else if t.Zxid > x.After && (x.Until == 0 || t.Zxid <= x.Until) {
			err = do(t, payload)
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, ErrTorn) {
		return nil
	}
	return err
}

// sessions returns the sessions that did something below the root.
func (x Extraction) sessions(src fs.FS, names []string) (map[int64]bool, error) {
	own := map[int64]bool{}
	for _, name := range names {
		err := x.each(src, name, func(t Txn, _ []byte) error {
			if below, _ := x.about(t); below && t.Session != 0 {
				own[t.Session] = true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return own, nil
}

// about reports whether a transaction is about znodes below the root, and about others.
func (x Extraction) about(t Txn) (below, others bool) {
	at := func(path string) {
		if strings.HasPrefix(path, x.Root+"/") {
			below = true
		} else if path != "" { // operations that were refused have none
			others = true
		}
	}
	for _, o := range t.Ops {
		at(o.Path)
	}
	for _, path := range t.Closes {
		at(path)
	}
	return below, others
}

// copyFile copies the part of one log, into a file that is named after its first record. It writes none if there is
// nothing to copy.
func (x Extraction) copyFile(dst string, src fs.FS, name string, own map[int64]bool) (n int64, err error) {
	var to *os.File
	var w *bufio.Writer
	err = x.each(src, name, func(t Txn, payload []byte) error {
		if w == nil {
			if to, err = os.Create(filepath.Join(dst, fmt.Sprintf("log.%x", uint64(t.Zxid)))); err != nil {
				return err
			}
			w = bufio.NewWriter(to)
			_, _ = w.Write(fileHeader()) // an error stays until the flush
			n += fileHeaderSize
		}
		if payload, err = x.redacted(t, payload, own); err != nil {
			return err
		}
		b := record(payload)
		_, _ = w.Write(b)
		n += int64(len(b))
		return nil
	})
	if w != nil {
		err = errors.Join(err, w.Flush(), to.Close())
	}
	return n, err
}

func (x Extraction) redacted(t Txn, payload []byte, own map[int64]bool) ([]byte, error) {
	below, others := x.about(t)
	if below && others && !t.refused() {
		return nil, fmt.Errorf("zxid 0x%x: %w", uint64(t.Zxid), ErrMixed)
	}
	session := own[t.Session] && (t.Type == CreateSession || t.Type == CloseSession)
	// Servers may write a refused multi in different forms, of which some have no path. It had no effect.
	if t.refused() || !below && (others || !session) {
		return encode(Txn{Zxid: t.Zxid, Time: t.Time, Type: Error, Ops: []Op{{Type: Error}}}), nil
	}
	payload = bytes.Clone(payload)
	for _, o := range t.Ops {
		for _, a := range o.ACL {
			if a.Scheme != "world" {
				mask(payload, a)
			}
		}
	}
	return payload, nil
}

// mask overwrites the id of an entry wherever a payload has the entry.
func mask(payload []byte, a ACL) {
	entry := appendBuffer(appendBuffer(nil, []byte(a.Scheme)), []byte(a.ID))
	for at := 0; ; {
		i := bytes.Index(payload[at:], entry)
		if i < 0 {
			return
		}
		at += i + len(entry)
		copy(payload[at-len(a.ID):at], strings.Repeat("x", len(a.ID)))
	}
}

// Cut drops the transactions up to and including zxid from the logs in dir, and returns how many bytes stay. The rest
// keeps its bytes and its header, in a file that is named after its first record, so that it is a log like any other.
// A log that cannot be read up to that record is left as it is.
func Cut(dir string, zxid int64) (kept int64, err error) {
	names, err := Files(os.DirFS(dir))
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		n, err := cutFile(dir, name, zxid)
		if err != nil {
			return kept, fmt.Errorf("cut transaction log %s: %w", name, err)
		}
		kept += n
	}
	return kept, nil
}

func cutFile(dir, name string, zxid int64) (int64, error) {
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	first, err := firstAfter(b, name, zxid)
	switch {
	case errors.Is(err, io.EOF):
		return 0, os.Remove(path)
	case err != nil, first.Offset == fileHeaderSize:
		return int64(len(b)), nil
	}
	rest := append(bytes.Clone(b[:fileHeaderSize]), b[first.Offset:]...)
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("log.%x", uint64(first.Zxid))), rest, 0o644); err != nil {
		return 0, err
	}
	return int64(len(rest)), os.Remove(path)
}

func firstAfter(log []byte, name string, zxid int64) (Record, error) {
	r, err := NewReader(bytes.NewReader(log), name)
	for err == nil {
		var rec Record
		if rec, err = r.Next(); err == nil && rec.Zxid > zxid {
			return rec, nil
		}
	}
	return Record{}, err
}

// Trim copies a log without the zeros at its end, and returns how many bytes it wrote. A server writes 4 MiB of zeros
// or more ahead of its records. A [Reader] finds in the copy exactly what it finds in the original, because records
// do not end in zeros, and because Trim keeps the whole header, which may.
func Trim(dst io.Writer, src io.Reader) (int64, error) {
	n, err := io.CopyN(dst, src, fileHeaderSize)
	if err == io.EOF {
		return n, nil
	}
	if err != nil {
		return n, err
	}
	// Zeros are held back until something follows them.
	var held int64
	buf := make([]byte, 64<<10)
	for {
		got, readErr := src.Read(buf)
		if kept := bytes.TrimRight(buf[:got], "\x00"); len(kept) > 0 {
			for _, r := range []io.Reader{io.LimitReader(zeros{}, held), bytes.NewReader(kept)} {
				w, err := io.Copy(dst, r)
				n += w
				if err != nil {
					return n, err
				}
			}
			held = int64(got - len(kept))
		} else {
			held += int64(got)
		}
		if readErr == io.EOF {
			return n, nil
		}
		if readErr != nil {
			return n, readErr
		}
	}
}

// zeros is a reader of endless zeros.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
