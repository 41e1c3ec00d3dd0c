package history

import "io"

// An ahead reads the events of a file that are not late. A goroutine of its own reads and decodes them in batches, so
// that whoever merges several files need not wait.
type ahead struct {
	full, free chan *batch
	now        *batch
	at         int // in now
}

// A batch is some events of one file.
type batch struct {
	entries [256]entry
	n       int   // of entries
	err     error // what follows them, unless it is the end of the file
}

// batches is how many batches of one file there are.
const batches = 3

func newAhead() *ahead {
	a := &ahead{full: make(chan *batch, batches), free: make(chan *batch, batches)}
	for range batches {
		a.free <- &batch{}
	}
	return a
}

// read reads all events, or as many as it can until stop is closed.
func (a *ahead) read(f *rawFile, d *decoder, stop <-chan struct{}) {
	defer close(a.full)
	r := frameReader{r: io.NewSectionReader(f.file, 0, f.whole), size: frameRead}
	late := f.late
	for more := true; more; {
		select {
		case b := <-a.free:
			late, more = b.fill(&r, d, late)
			a.full <- b // there is room for all batches
		case <-stop:
			return
		}
	}
}

// fill fills the batch with the next events apart from late ones. It returns the late ones that are still to come, and
// whether more events may follow.
func (b *batch) fill(r *frameReader, d *decoder, late []place) (left []place, more bool) {
	b.n = 0
	for b.n < len(b.entries) {
		raw, err := r.next()
		if len(raw) == 0 || err != nil {
			b.err = err
			return late, false
		}
		at := r.offset
		r.skip(len(raw))
		if len(late) > 0 && late[0].offset == at {
			late = late[1:]
			continue
		}
		if b.err = d.decode(&b.entries[b.n], raw, at); b.err != nil {
			return late, false
		}
		b.n++
	}
	return late, true
}

// next returns the next event, which is valid until the call after; nil after the last one.
func (a *ahead) next() (*entry, error) {
	for a.now == nil || a.at == a.now.n {
		if a.now != nil {
			if a.now.err != nil {
				return nil, a.now.err
			}
			a.free <- a.now
		}
		if a.now, a.at = <-a.full, 0; a.now == nil {
			return nil, nil
		}
	}
	e := &a.now.entries[a.at]
	a.at++
	return e, nil
}
