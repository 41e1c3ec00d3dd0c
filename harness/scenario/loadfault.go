package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// The keys of an entry of faults, in the order of a file.
var faultKeys = []string{"kind", "target", "from", "at", "trigger", "for", "until", "linger", "expect"}

// field returns the fault's field of that name.
func (f *Fault) field(key string) value {
	switch key {
	case "kind":
		return choiceValue{&f.Kind, faultKinds}
	case "target":
		return targetValue{&f.Target}
	case "from":
		return choiceValue{&f.From, froms}
	case "at":
		return durationValue{&f.At}
	case "trigger":
		return choiceValue{&f.Trigger, triggers}
	case "for":
		return spanValue{&f.For}
	case "until":
		return choiceValue{&f.Until, untils}
	case "linger":
		return durationValue{&f.Linger}
	case "expect":
		return choiceValue{&f.Expect, fates}
	}
	panic("fault key " + key)
}

// present reports whether the key is written.
func (f *Fault) present(key string) bool {
	switch key {
	case "at":
		return f.Trigger == ""
	case "for":
		return !f.For.IsZero()
	case "linger":
		return f.Linger != 0
	}
	return f.field(key).String() != ""
}

type targetValue struct{ p *string }

func (v targetValue) String() string { return *v.p }
func (v targetValue) Set(text string) error {
	if f := (Fault{Target: text}); !f.HitsClient() && !f.HitsServer() {
		return &valueError{msg: "unknown target " + quote(text),
			hint: "a client process c1…cN, a server zk1…zkN, leader or follower"}
	}
	*v.p = text
	return nil
}

type spanValue struct{ p *Span }

func (v spanValue) String() string { return v.p.String() }
func (v spanValue) Set(text string) (err error) {
	*v.p, err = keep(*v.p, text, ParseSpan)
	return err
}

// faultKey names a fault's field in origins.
func faultKey(i int, key string) string { return fmt.Sprintf("faults[%d].%s", i, key) }

func (l *loader) faults(at *token.Token, v ast.Node) {
	l.note("faults", fileOrigin(at))
	list, ok := v.(*ast.SequenceNode)
	if !ok {
		l.refuse(v.GetToken(), "faults is a list, not "+kindOf(v), "entries that begin with \"- kind: \"")
		return
	}
	if len(list.Values) > maxFaults {
		l.refuse(at, fmt.Sprintf("%d faults are too many", len(list.Values)), fmt.Sprintf("at most %d", maxFaults))
		return
	}
	for i, entry := range list.Values {
		m, ok := entry.(*ast.MappingNode)
		if !ok {
			l.refuse(entry.GetToken(), "a fault is a mapping, not "+kindOf(entry), "keys: "+strings.Join(faultKeys, ", "))
			continue
		}
		l.fault(i, m)
	}
}

func (l *loader) fault(i int, m *ast.MappingNode) {
	var f Fault
	start := m.GetToken()
	if len(m.Values) > 0 {
		start = m.Values[0].Key.GetToken()
	}
	l.note(fmt.Sprintf("faults[%d]", i), fileOrigin(start))
	var given []string
	l.entries(m, faultKeys, "key of a fault", func(key string, at *token.Token, v ast.Node) {
		l.note(faultKey(i, key), fileOrigin(at))
		given = append(given, key)
		if text, ok := l.scalar(v, Key{Name: key}); ok {
			if err := f.field(key).Set(text); err != nil {
				l.refuseValue(v.GetToken(), err)
			}
		}
	})
	for _, key := range [...]string{"kind", "target"} {
		if !slices.Contains(given, key) {
			l.refuse(start, "a fault without "+key, faultHints[key])
		}
	}
	l.oneOf(start, m, given, "at", "trigger")
	l.oneOf(start, m, given, "for", "until")
	l.Faults = append(l.Faults, f)
}

var faultHints = map[string]string{
	"kind":   "one of " + strings.Join(faultKinds, ", "),
	"target": "a client process c1…cN, a server zk1…zkN, leader or follower",
}

// oneOf refuses a fault that has none or both of the keys.
func (l *loader) oneOf(start *token.Token, m *ast.MappingNode, given []string, a, b string) {
	hasA, hasB := slices.Contains(given, a), slices.Contains(given, b)
	switch {
	case !hasA && !hasB:
		l.refuse(start, "a fault with neither "+a+" nor "+b, "give one of the two")
	case hasA && hasB:
		for _, entry := range m.Values {
			if at := entry.Key.GetToken(); at.Value == b {
				l.refuse(at, "a fault with both "+a+" and "+b, "give one of the two")
			}
		}
	}
}
