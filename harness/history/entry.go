package history

// An entry is an event that was read from a file.
type entry struct {
	Event
	form   *fileForm
	offset int64 // in the file
}

// A fileForm is a form that events of one file have.
type fileForm struct {
	form
	id    uint32 // in the log that the files are merged into, which alone uses it
	known bool   // it has an id
}

// A decoder makes entries of a file's frames. Their texts are clean, and equal ones share memory. Only one goroutine
// may use it.
type decoder struct {
	clean func(string) string
	forms map[string]*fileForm       // by the beginnings of frames
	texts map[string]string          // by themselves before they were cleaned
	lock  struct{ raw, text string } // of the last event that has one, as most have the same
	frame frame
}

func newDecoder(clean func(string) string) *decoder {
	if clean == nil {
		clean = func(text string) string { return text }
	}
	return &decoder{clean: clean, forms: map[string]*fileForm{}, texts: map[string]string{}}
}

// decode decodes the frame that was at an offset of a file which has been scanned. It has no event if the file has
// changed since then.
func (d *decoder) decode(e *entry, b []byte, offset int64) error {
	f := &d.frame
	if len(b) == 0 || !f.parse(b) {
		return ErrTorn
	}
	t := &f.texts
	is := d.forms[string(f.form)]
	if is == nil {
		is = &fileForm{form: form{d.shared(t[textProcess]), Op(d.shared(t[textOp])), d.shared(t[textClient])}}
		d.forms[string(f.form)] = is
	}
	if raw := t[textLock]; string(raw) != d.lock.raw {
		d.lock.raw, d.lock.text = string(raw), d.shared(raw)
	}
	detail := ""
	if is.op == OpAttempt {
		detail = d.clean(string(t[textDetail])) // it never comes again
	} else {
		detail = d.shared(t[textDetail])
	}
	*e = entry{Event: Event{At: f.at, Kind: f.kind, Acq: f.acq, Token: f.token, Session: SessionID(f.session),
		Value: f.value, Process: is.process, Op: is.op, Client: is.client, Lock: d.lock.text,
		Mode: Mode(d.shared(t[textMode])), Target: d.shared(t[textTarget]), Fault: d.shared(t[textFault]),
		Detail: detail}, form: is, offset: offset}
	return nil
}

// shared returns a text, clean. Equal texts share memory.
func (d *decoder) shared(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	text, known := d.texts[string(raw)]
	if !known {
		text = d.clean(string(raw))
		if len(d.texts) < mostTexts {
			d.texts[string(raw)] = text
		}
	}
	return text
}

// add adds an event that was read from a file, with its time counted from the base.
func (l *Log) add(e *entry, base int64) {
	if f := e.form; !f.known {
		f.id, f.known = l.formID(f.form), true
	}
	e.At -= base
	l.put(&e.Event, e.form.id)
}
