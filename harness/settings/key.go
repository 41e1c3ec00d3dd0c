package settings

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// A Key describes one settable field of a struct type.
type Key struct {
	Name    string
	Help    string
	Choices []string          // the values that are possible; nil if they are too many to list
	Kind    Kind              // what the text of a value looks like
	Tag     reflect.StructTag // the whole tag, for what the struct's own package says in it

	index   []int
	typ     reflect.Type
	pattern *regexp.Regexp
}

// A Kind says what the text of a value looks like.
type Kind int

const (
	Word   Kind = iota // a choice, or a value of a type with a text form of its own
	Line               // one line of free text
	Number             // a number, with a unit or without
	Bool               // true or false
)

// A Chooser is a type with few values. The method is called on the zero value.
type Chooser interface{ Choices() []string }

// Keys lists the settable fields of a struct, which is given by value or by pointer, in their order. A key without the
// tag help has its help in one of the maps. Keys panics if a tag is wrong. A [Chooser] of a package may look at that
// package's variables, so the package should call Keys when it needs them first and not while its variables are
// initialized.
func Keys(of any, help ...map[string]string) []Key {
	t := reflect.TypeOf(of)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var keys []Key
	for _, f := range reflect.VisibleFields(t) {
		if name, ok := f.Tag.Lookup("key"); ok {
			k := newKey(name, f)
			for _, m := range help {
				k.Help = cmp.Or(k.Help, m[name])
			}
			if k.Help == "" {
				panic("settings: key " + name + " has no help")
			}
			keys = append(keys, k)
		}
	}
	return keys
}

func newKey(name string, f reflect.StructField) Key {
	k := Key{Name: name, Help: f.Tag.Get("help"), Tag: f.Tag, index: f.Index, typ: f.Type}
	if c, ok := reflect.Zero(f.Type).Interface().(Chooser); ok {
		k.Choices = c.Choices()
	} else if enum := f.Tag.Get("enum"); enum != "" {
		k.Choices = strings.Split(enum, ",")
	}
	if p := f.Tag.Get("pattern"); p != "" {
		k.pattern = regexp.MustCompile(p)
	}
	switch {
	case f.Type.Kind() == reflect.Bool:
		k.Kind = Bool
	case k.ordered() && !isText(f.Type):
		k.Kind = Number
	case f.Type.Kind() == reflect.String && len(k.Choices) == 0 && !isText(f.Type):
		k.Kind = Line
	}
	for _, bound := range [...]string{"min", "max"} {
		if _, err := k.bound(bound); err != nil {
			panic(fmt.Sprintf("settings: %s of key %s: %v", bound, name, err))
		}
	}
	if !isText(f.Type) && !isBuiltin(f.Type) {
		panic(fmt.Sprintf("settings: key %s has the type %s, which has no text form", name, f.Type))
	}
	return k
}

// WithChoices returns the key with these choices.
func (k Key) WithChoices(choices []string) Key {
	k.Choices, k.Kind = choices, Word
	return k
}

// Find returns the key of that name.
func Find(keys []Key, name string) (Key, bool) {
	i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name })
	if i < 0 {
		return Key{}, false
	}
	return keys[i], true
}

// Names lists the names of the keys.
func Names(keys []Key) []string {
	names := make([]string, 0, len(keys))
	for _, k := range keys {
		names = append(names, k.Name)
	}
	return names
}

// Text returns the key's value in the struct that p points to.
func (k Key) Text(p any) string { return format(k.field(p)) }

// Set reads the text into the key's field of the struct that p points to. On an error, which is an [*Error], the field
// keeps its value.
func (k Key) Set(p any, text string) error {
	v, err := k.read(text)
	if err != nil {
		return err
	}
	k.field(p).Set(v)
	return nil
}

// Check reports what is wrong with the field's value, because code can set a value that Set would refuse.
func (k Key) Check(p any) error {
	_, err := k.read(k.Text(p))
	return err
}

// IsZero reports whether the key's field has the zero value of its type.
func (k Key) IsZero(p any) bool { return k.field(p).IsZero() }

// Clear sets the key's field to the zero value of its type.
func (k Key) Clear(p any) { k.field(p).SetZero() }

// Copy copies the key's field from the struct that from points to into the struct that to points to.
func (k Key) Copy(to, from any) { k.field(to).Set(k.field(from)) }

func (k Key) field(p any) reflect.Value { return reflect.ValueOf(p).Elem().FieldByIndex(k.index) }

// read returns the value of the text, or an error if the field cannot have it.
func (k Key) read(text string) (reflect.Value, error) {
	if len(k.Choices) > 0 {
		if err := Choose(text, k.Choices); err != nil {
			return reflect.Value{}, err
		}
	}
	v, err := parse(k.typ, text)
	if err == nil {
		err = k.within(v)
	} else if e, ok := err.(*Error); ok && k.typ.Kind() == reflect.Float64 && k.rangeText() != "" {
		e.Hint = "a number " + k.rangeText() + ", such as 0.9"
	}
	if err == nil && k.pattern != nil && !k.pattern.MatchString(text) {
		err = &Error{Quote(text) + " is not a valid " + k.Name, k.Tag.Get("hint")}
	}
	return v, err
}

// within refuses a value outside of the key's bounds.
func (k Key) within(v reflect.Value) error {
	lo, _ := k.bound("min")
	hi, _ := k.bound("max")
	if lo.IsValid() && less(v, lo) || hi.IsValid() && less(hi, v) {
		return &Error{fmt.Sprintf("%s of %s is out of range", k.Name, format(v)), k.rangeText()}
	}
	return nil
}

// rangeText says what the key's bounds are; empty if it has none.
func (k Key) rangeText() string {
	lo, _ := k.bound("min")
	hi, _ := k.bound("max")
	switch {
	case lo.IsValid() && hi.IsValid():
		return "from " + format(lo) + " to " + format(hi)
	case lo.IsValid():
		return format(lo) + " or more"
	case hi.IsValid():
		return "at most " + format(hi)
	}
	return ""
}

// bound returns the bound that the tag gives, or the zero Value.
func (k Key) bound(tag string) (reflect.Value, error) {
	text, ok := k.Tag.Lookup(tag)
	if !ok {
		return reflect.Value{}, nil
	}
	if !k.ordered() {
		return reflect.Value{}, fmt.Errorf("%s has no order", k.typ)
	}
	return parse(k.typ, text)
}

func (k Key) ordered() bool {
	v := reflect.Zero(k.typ)
	return v.CanInt() || v.CanUint() || v.CanFloat()
}

func less(a, b reflect.Value) bool {
	switch {
	case a.CanInt():
		return a.Int() < b.Int()
	case a.CanUint():
		return a.Uint() < b.Uint()
	}
	return a.Float() < b.Float()
}
