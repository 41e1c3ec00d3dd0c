package history

// A form is what many events have in common.
type form struct {
	process string
	op      Op
	client  string
}

// seen is a form with what is known of its events.
type seen struct {
	form
	kinds [Fail + 1]int // how many events there are of each kind
}

// shared returns a text of a frame, clean. Equal texts share memory.
func (l *Log) shared(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	text, known := l.textRaw[string(raw)]
	if !known {
		text = l.clean(string(raw))
		if len(l.textRaw) < mostTexts {
			l.textRaw[string(raw)] = text
		}
	}
	return text
}

func (l *Log) formID(f form) uint32 {
	id, known := l.formOf[f]
	if !known {
		if l.formOf == nil {
			l.formOf = map[form]uint32{}
		}
		id = uint32(len(l.forms))
		l.formOf[f], l.forms = id, append(l.forms, seen{form: f})
	}
	return id
}

func (l *Log) sessionID(s SessionID) uint32 {
	id, known := l.session[s]
	if !known {
		id = uint32(len(l.sessions))
		l.session[s], l.sessions = id, append(l.sessions, s)
	}
	return id
}

// text returns the number of a text, from 1.
func (l *Log) text(s string) uint32 {
	id, known := l.textOf[s]
	if !known {
		if len(l.texts) == 0 {
			l.texts = append(l.texts, "") // so that 0 is no text
		}
		id = uint32(len(l.texts))
		l.textOf[s], l.texts = id, append(l.texts, s)
	}
	return id
}

// sharedText is text, or 0 if there are too many texts already.
func (l *Log) sharedText(s string) uint32 {
	if id, known := l.textOf[s]; known || len(l.texts) >= mostTexts {
		return id
	}
	return l.text(s)
}
