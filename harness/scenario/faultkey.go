package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// A faultKey describes one key of an entry of faults.
type faultKey struct {
	name  string
	help  string // half a sentence, with units
	field func(*Fault) value
	// absent reports whether the key is not written; nil = where its text is empty.
	absent func(*Fault) bool
	lo, hi int64 // bounds in the schema, where field is a count
}

// The keys that faults of every kind can have; but lastingKeys only those that last.
var (
	commonFaultKeys = slices.Concat(aimKeys, timeKeys)

	aimKeys = []faultKey{
		{name: "kind", help: "what is done", field: func(f *Fault) value { return choiceValue{&f.Kind, faultKindNames(nil)} },
			absent: func(*Fault) bool { return false }},
		{name: "target", help: "what it is done to: a host, or a role that is looked up when the fault strikes", field: func(f *Fault) value { return targetValue{&f.Target} },
			absent: func(*Fault) bool { return false }},
	}
	timeKeys = []faultKey{
		{name: "at", help: "when, after the start of the measured window", field: func(f *Fault) value { return durationValue{&f.At} },
			absent: func(f *Fault) bool { return f.Trigger != "" }},
		{name: "every", help: "how long from one beginning to the next, if it is done again and again", field: func(f *Fault) value { return durationValue{&f.Every} },
			absent: func(f *Fault) bool { return f.Every == 0 }},
		{name: "repeat", help: "how often, with every; as often as the run has room for if not given", field: func(f *Fault) value { return countValue{&f.Repeat} },
			absent: func(f *Fault) bool { return f.Repeat == 0 }, lo: 1, hi: maxFaults},
		{name: "trigger", help: "or at which point of its victim's critical section", field: func(f *Fault) value { return choiceValue{&f.Trigger, triggers} }},
		{name: "for", help: "how long: 3s, 1.5T (times the session timeout), expiry (T and 2 ticks) or expiry+1s", field: func(f *Fault) value { return spanValue{&f.For} },
			absent: func(f *Fault) bool { return f.For.IsZero() }},
		{name: "until", help: "or until what has happened", field: func(f *Fault) value { return choiceValue{&f.Until, untils} }},
		{name: "linger", help: "how much longer it lasts then", field: func(f *Fault) value { return durationValue{&f.Linger} },
			absent: func(f *Fault) bool { return f.Linger == 0 }},
		{name: "expect", help: "what is to become of its victim's session", field: func(f *Fault) value { return choiceValue{&f.Expect, fates} }},
	}
	lastingKeys = []string{"for", "until", "linger"}
)

// faultKeys has every key of an entry of faults, in the order of a file.
var faultKeys = slices.Concat(
	aimKeys,
	linkKeys,
	storageKeys,
	timeKeys,
)

func faultKeyNames() []string {
	var names []string
	for _, k := range faultKeys {
		names = append(names, k.name)
	}
	return names
}

func findFaultKey(name string) faultKey {
	return faultKeys[slices.IndexFunc(faultKeys, func(k faultKey) bool { return k.name == name })]
}

// present reports whether the fault has the key.
func (k faultKey) present(f *Fault) bool {
	if k.absent != nil {
		return !k.absent(f)
	}
	return k.field(f).String() != ""
}

// values says what may stand behind the key: its choices, or what it means.
func (k faultKey) values() string {
	if v, ok := k.field(&Fault{}).(choiceValue); ok {
		return strings.Join(v.choices, ", ")
	}
	return k.help
}

// faultOrigin names a fault's key in origins.
func faultOrigin(i int, key string) string { return fmt.Sprintf("faults[%d].%s", i, key) }
