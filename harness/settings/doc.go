// Package settings reads and writes the fields of a plain struct as text, in the same form for files, flags and
// environment variables.
//
// In flow: a struct whose fields carry tags, and a text for one of them. Out flow: the struct with the field set, or an
// [Error] that says what is wrong with the text and what to write instead.
//
// A field is a setting if it has the tag key. Fields of embedded structs count as the struct's own.
//
//	type Load struct {
//		Clients int           `key:"clients" help:"clients in total" min:"1" max:"10000"`
//		Wait    time.Duration `key:"wait" help:"time after which an acquire is given up; 0 is never" max:"24h"`
//		Drain   string        `key:"drain" help:"what happens to waiters at the end" enum:"finish,cancel"`
//	}
//
// The tags are:
//
//	key      the name, in kebab-case
//	help     half a sentence, with units; or it is in a map that [Keys] is given
//	enum     the values that the field can have, with commas between them; see also [Key.WithChoices]
//	min, max bounds of a field with an order, written as the field's own text
//	pattern  a regular expression that a string must match, hint what such a string looks like
//
// A package that needs to say more about its fields adds tags of its own and reads them from [Key.Tag].
//
// The types of fields are int, uint64, float64, bool, string, [time.Duration], [Size] and every type with a text form
// of its own. Such a type implements [flag.Value] through a pointer, or [encoding.TextMarshaler] and, through a
// pointer, [encoding.TextUnmarshaler]. The first does not change how the type is written as JSON. The type can also
// implement [Chooser] and [Schemer].
package settings
