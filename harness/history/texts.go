package history

import (
	"encoding/hex"
	"strings"
)

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

// The prefix of an attempt's znode names has a GUID that never comes again, as "_c_", 32 hexadecimal digits and what
// the recipe calls its znodes. A [Log] keeps the GUID in half as many bytes, and the rest once.
const (
	protected = "_c_"
	guidBytes = 16
	guidEnd   = len(protected) + 2*guidBytes
)

// cutGUID returns the GUID of such a prefix and the prefix without it; if it is not one, the text as it is.
func cutGUID(text string) (guid [guidBytes]byte, rest string, is bool) {
	if len(text) < guidEnd || !strings.HasPrefix(text, protected) {
		return guid, text, false
	}
	for i := range guid {
		high, low := digit(text[len(protected)+2*i]), digit(text[len(protected)+2*i+1])
		if high|low > 0xf {
			return guid, text, false
		}
		guid[i] = high<<4 | low
	}
	return guid, protected + text[guidEnd:], true
}

// digit returns the value of a hexadecimal digit, 0xff of anything else. A capital one is none, because it would come
// back as a small one.
func digit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 0xff
}

// withGUID undoes cutGUID.
func withGUID(rest string, guid []byte) string {
	b := make([]byte, 0, len(rest)+2*guidBytes)
	b = append(b, protected...)
	b = hex.AppendEncode(b, guid)
	return string(append(b, rest[len(protected):]...))
}
