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
	for _, c := range []byte(text[len(protected):guidEnd]) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return guid, text, false // capital digits would come back as small ones
		}
	}
	_, _ = hex.Decode(guid[:], []byte(text[len(protected):guidEnd])) // all of them are digits
	return guid, protected + text[guidEnd:], true
}

// withGUID undoes cutGUID.
func withGUID(rest string, guid []byte) string {
	b := make([]byte, 0, len(rest)+2*guidBytes)
	b = append(b, protected...)
	b = hex.AppendEncode(b, guid)
	return string(append(b, rest[len(protected):]...))
}
