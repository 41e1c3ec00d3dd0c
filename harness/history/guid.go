package history

import (
	"encoding/hex"
	"strings"
)

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
