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
	bit   uint64        // of its op in a block
	kinds [Fail + 1]int // how many events there are of each kind
}

func (l *Log) formID(f form) uint32 {
	id, known := l.formOf[f]
	if !known {
		if l.formOf == nil {
			l.formOf, l.ops = map[form]uint32{}, map[Op]uint64{}
			l.textOf, l.session = map[string]uint32{}, map[SessionID]uint32{}
		}
		bit, known := l.ops[f.op]
		if !known {
			bit = 1 << min(len(l.ops), 63)
			l.ops[f.op] = bit
		}
		id = uint32(len(l.forms))
		l.formOf[f], l.forms = id, append(l.forms, seen{form: f, bit: bit})
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
