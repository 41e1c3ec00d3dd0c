package chaos

import (
	"maps"
	"reflect"
	"slices"

	"locklab/harness/settings"
)

// lastingKeys are the keys that momentary faults do not have.
var lastingKeys = []string{"for", "until", "linger"}

// A KeyText is one key of a fault, as in a scenario's file.
type KeyText struct{ Key, Text string }

// Keys returns the fault's keys and their texts, in the order of a file.
func (f Fault) Keys() []KeyText {
	var all []KeyText
	for i, k := range known().common {
		if i == aimKeys {
			all = append(all, f.own()...)
		}
		if f.has(k) {
			all = append(all, KeyText{k.Name, k.Text(&f)})
		}
	}
	return all
}

// own returns the keys that only the fault's kind has.
func (f Fault) own() []KeyText {
	if f.Params == nil {
		return nil
	}
	var all []KeyText
	p := f.ownPointer()
	for _, k := range f.kind().keys() {
		if !k.IsZero(p) {
			all = append(all, KeyText{k.Name, k.Text(p)})
		}
	}
	return all
}

// has reports whether a file would have this common key of the fault.
func (f Fault) has(k settings.Key) bool {
	switch k.Name {
	case "kind", "target":
		return true
	case "at":
		return f.Trigger == ""
	}
	return !k.IsZero(&f)
}

// Set sets a key. The kind must be set before the keys that only the kind has; without a kind, these keys are only
// parsed. The error is a [*settings.Error].
func (f *Fault) Set(key, text string) error {
	if k, ok := settings.Find(known().common, key); ok {
		err := k.Set(f, text)
		if err == nil && key == "kind" {
			f.Params = f.kind().Params
		}
		return err
	}
	if k, ok := settings.Find(f.kind().keys(), key); ok {
		if f.Params == nil {
			f.Params = f.kind().Params
		}
		return f.setOwn(k, text)
	}
	if err := f.kind().Misplaced(key); err != nil {
		return err
	}
	other := Fault{Kind: kindsWith(key)[0]}
	other.Params = other.kind().Params
	return other.Set(key, text)
}

// Check reports what is wrong with the value of a key, because code can set values that Set would refuse.
func (f Fault) Check(key string) error {
	if k, ok := settings.Find(known().common, key); ok {
		return k.Check(&f)
	}
	if k, ok := settings.Find(f.kind().keys(), key); ok && f.Params != nil {
		return k.Check(f.ownPointer())
	}
	return f.kind().Misplaced(key)
}

// Misplaced says why faults of the kind cannot have a key, for example because only faults of other kinds have it;
// nil if they can. The zero Kind can have every key that is known.
func (k *Kind) Misplaced(key string) error {
	if k.takes(key) {
		return nil
	}
	others := kindsWith(key)
	switch {
	case others == nil:
		all := settings.Names(known().keys)
		return settings.Errorf(settings.DidYouMean(key, all), "unknown key of a fault %s", settings.Quote(key))
	case k.Name == "":
		return nil
	case slices.Contains(lastingKeys, key):
		return settings.Errorf("drop it", "%s is for faults that last, and %s is over at once", key, article(k.Name))
	}
	hint := "drop it, or kind: " + anyOf(others)
	return settings.Errorf(hint, "%s is for %s, not for %s", key, plurals(others), k.Name)
}

// kindsWith lists the kinds whose faults can have the key.
func kindsWith(key string) []string { return kindNames(func(k *Kind) bool { return k.takes(key) }) }

// ParseFault reads a fault from the texts of its keys.
func ParseFault(given map[string]string) (Fault, error) {
	var f Fault
	err := f.Set("kind", given["kind"])
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if err == nil && key != "kind" {
			err = f.Set(key, given[key])
		}
	}
	return f, err
}

// params returns the fault's own keys as its kind has them.
func params[P any](f Fault) P {
	p, _ := f.Params.(P)
	return p
}

func (f *Fault) setOwn(key settings.Key, text string) error {
	p := f.ownPointer()
	err := key.Set(p, text)
	f.Params = reflect.ValueOf(p).Elem().Interface()
	return err
}

// ownPointer returns a pointer to a copy of the keys that only its kind has, because package settings works on
// pointers.
func (f Fault) ownPointer() any {
	p := reflect.New(reflect.TypeOf(f.Params))
	p.Elem().Set(reflect.ValueOf(f.Params))
	return p.Interface()
}
