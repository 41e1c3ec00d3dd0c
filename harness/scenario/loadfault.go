package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

type spanValue struct{ p *Span }

func (v spanValue) String() string { return v.p.String() }
func (v spanValue) Set(text string) (err error) {
	*v.p, err = keep(*v.p, text, ParseSpan)
	return err
}

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
			l.refuse(entry.GetToken(), "a fault is a mapping, not "+kindOf(entry), "keys: "+strings.Join(faultKeyNames(), ", "))
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
	l.entries(m, faultKeyNames(), "key of a fault", func(key string, at *token.Token, v ast.Node) {
		l.note(faultOrigin(i, key), fileOrigin(at))
		given = append(given, key)
		if text, ok := l.scalar(v, Key{Name: key}); ok {
			if err := findFaultKey(key).field(&f).Set(text); err != nil {
				l.refuseValue(v.GetToken(), err)
			}
		}
	})
	for _, key := range [...]string{"kind", "target"} {
		if !slices.Contains(given, key) {
			l.refuse(start, "a fault without "+key, faultHint(key))
		}
	}
	l.oneOf(start, m, given, "at", "trigger")
	if !f.Momentary() {
		l.oneOf(start, m, given, "for", "until")
	}
	l.Faults = append(l.Faults, f)
}

// faultHint says what a kind or a target can be.
func faultHint(key string) string {
	if key == "kind" {
		return "one of " + strings.Join(faultKindNames(nil), ", ")
	}
	return anyTarget().choices()
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
