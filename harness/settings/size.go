package settings

import (
	"math"
	"strconv"
	"strings"
)

// A Size is a number of bytes.
type Size int64

// The units of Size.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

var sizeUnits = []struct {
	name string
	size Size
}{{"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}}

// ParseSize reads a whole number and a unit: 256MiB.
func ParseSize(text string) (Size, error) {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/int64(u.size) {
			break
		}
		return Size(n) * u.size, nil
	}
	return 0, &Error{Quote(text) + " is not a size", "a whole number and KiB, MiB or GiB, such as 256MiB"}
}

// String writes the size in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if s != 0 && s%u.size == 0 {
			return strconv.FormatInt(int64(s/u.size), 10) + u.name
		}
	}
	if s == 0 {
		return "0MiB"
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}
