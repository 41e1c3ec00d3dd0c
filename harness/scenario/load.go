package scenario

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// How much is said of one file, and how many faults it may have.
const (
	maxErrors = 20
	maxFaults = 200
)

// Load reads the source of a scenario over [Defaults]. The file's name is used
// in messages, and names the scenario unless the source does. It is strict:
// what it does not understand is an error. The error joins an [*InputError]
// with a position for each thing that is wrong, in the order of the file. It
// does not see contradictions: see [Scenario.Validate].
func Load(name string, src []byte) (*Scenario, error) {
	l := &loader{Scenario: Defaults()}
	l.file = name
	if base := strings.TrimSuffix(path.Base(filepath.ToSlash(name)), path.Ext(name)); validName(base) {
		l.Name = base
	}
	if root := l.parse(src); root != nil {
		l.entries(root, allNames(), "key", l.topLevel)
	}
	if err := l.joined(); err != nil {
		return nil, err
	}
	return l.Scenario, nil
}

// A loader is one file on its way into a scenario, and what was wrong with it.
type loader struct {
	*Scenario
	errs []*InputError
}

func (l *loader) joined() error {
	slices.SortStableFunc(l.errs, func(a, b *InputError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return join(l.errs)
}

// join makes one error of several: the first ones, and how many more there are.
func join(errs []*InputError) error {
	var list []error
	for i, e := range errs {
		if i == maxErrors {
			list = append(list, fmt.Errorf("and %d more", len(errs)-maxErrors))
			break
		}
		list = append(list, e)
	}
	return errors.Join(list...)
}

func (l *loader) refuse(at *token.Token, msg, hint string) {
	e := &InputError{File: l.file, Line: 1, Column: 1, Msg: msg, Hint: hint}
	if at != nil && at.Position != nil {
		e.Line, e.Column = max(at.Position.Line, 1), max(at.Position.Column, 1)
	}
	l.errs = append(l.errs, e)
}

func (l *loader) refuseValue(at *token.Token, err error) {
	v := err.(*valueError)
	l.refuse(at, v.msg, v.hint)
}

// parse returns the file's mapping, nil if it has none (and then says why).
func (l *loader) parse(src []byte) *ast.MappingNode {
	if !l.sound(src) {
		return nil
	}
	file, err := parse(bytes.TrimPrefix(src, []byte("\ufeff")))
	if err != nil {
		var at *token.Token
		msg := err.Error()
		if y, ok := errors.AsType[yaml.Error](err); ok {
			at, msg = y.GetToken(), y.GetMessage()
		}
		l.refuse(at, "not YAML: "+firstLine(msg), "a scenario is a list of lines like \"clients: 16\"")
		return nil
	}
	var root ast.Node
	for _, doc := range file.Docs {
		switch body := doc.Body.(type) {
		case nil, *ast.CommentGroupNode, *ast.DirectiveNode:
		default:
			if root != nil {
				l.refuse(doc.Start, "a second document", "one scenario a file")
				return nil
			}
			root = body
		}
	}
	switch n := root.(type) {
	case nil, *ast.NullNode:
		// Most likely whatever was to write the file did not; the defaults would run
		// something that nobody asked for.
		l.refuse(nil, "the file says nothing", "a line such as \"clients: 16\", or {} for nothing but defaults")
		return nil
	case *ast.MappingNode:
		return n
	}
	l.refuse(root.GetToken(), "a scenario is a mapping, not "+kindOf(root), "lines like \"clients: 16\"")
	return nil
}

// parse guards against panics of the parser, which reads what strangers wrote.
func parse(src []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("the parser gave up: %v", p)
		}
	}()
	return parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey())
}

// entries calls do for every entry of a mapping whose key is known and new.
func (l *loader) entries(m *ast.MappingNode, known []string, noun string, do func(key string, at *token.Token, v ast.Node)) {
	first := map[string]int{}
	for _, entry := range m.Values {
		at := entry.Key.GetToken()
		key, ok := entry.Key.(*ast.StringNode)
		if !ok {
			l.refuse(at, "unknown "+noun+" "+quote(at.Value), didYouMean(at.Value, known))
			continue
		}
		if !slices.Contains(known, key.Value) {
			l.refuse(at, "unknown "+noun+" "+quote(key.Value), didYouMean(key.Value, known))
			continue
		}
		if line, twice := first[key.Value]; twice {
			l.refuse(at, fmt.Sprintf("%s is given twice", key.Value), fmt.Sprintf("it is already on line %d", line))
			continue
		}
		first[key.Value] = at.Position.Line
		do(key.Value, at, entry.Value)
	}
}

func (l *loader) topLevel(key string, at *token.Token, v ast.Node) {
	switch key {
	case "faults":
		l.faults(at, v)
	case thresholdsKey:
		l.thresholds(at, v)
	case "expect":
		l.Expect = map[string]string{}
		l.mapping(key, at, v, checks, "check", func(check, text string) error {
			l.Expect[check] = text
			return choose(text, expectations)
		})
	case "shown":
		l.Shown = map[string]int64{}
		l.mapping(key, at, v, counters, "counter", func(counter, text string) error {
			var n int
			err := countValue{&n}.Set(text)
			l.Shown[counter] = int64(n)
			return err
		})
	default:
		k, _ := findKey(key)
		if text, ok := l.scalar(v, k); ok {
			if err := l.set(k, text, fileOrigin(at)); err != nil {
				l.refuseValue(v.GetToken(), err)
			}
		}
	}
}

// mapping reads a mapping of known keys to scalars.
func (l *loader) mapping(name string, at *token.Token, v ast.Node, known []string, noun string, set func(key, text string) error) {
	l.note(name, fileOrigin(at))
	m, ok := v.(*ast.MappingNode)
	if !ok {
		l.refuse(v.GetToken(), name+" is a mapping, not "+kindOf(v), "lines like \""+known[0]+": …\", one level in")
		return
	}
	l.entries(m, known, noun, func(key string, at *token.Token, v ast.Node) {
		l.note(name+"."+key, fileOrigin(at))
		if text, ok := l.scalar(v, Key{Name: key}); ok {
			if err := set(key, text); err != nil {
				l.refuseValue(v.GetToken(), err)
			}
		}
	})
}

// scalar returns the text of a plain value. Only a text may be quoted: "16"
// and 16 are different things in YAML.
func (l *loader) scalar(v ast.Node, k Key) (string, bool) {
	at := v.GetToken()
	isText := false
	if k.field != nil {
		switch k.field(l.Scenario).(type) {
		case textValue, nameValue:
			isText = true
		}
	}
	switch n := v.(type) {
	case *ast.NullNode:
		l.refuse(at, k.Name+" has no value", "give it one, or remove the key")
	case *ast.StringNode:
		quoted := at.Type == token.SingleQuoteType || at.Type == token.DoubleQuoteType
		_, isNumber := l.fieldOf(k).(number)
		if quoted && (isNumber || k.Bool) {
			l.refuse(at, k.Name+" is not a text", "without the quotes")
			break
		}
		return strings.TrimSpace(n.Value), true
	case *ast.LiteralNode:
		if isText {
			return strings.TrimSpace(n.Value.Value), true
		}
		l.refuse(at, k.Name+" is one word, not a block of text", "\""+k.Name+": …\" on one line")
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return at.Value, true
	default:
		l.refuse(at, k.Name+" is a single value, not "+kindOf(v), "\""+k.Name+": …\" on one line")
	}
	return "", false
}

func (l *loader) fieldOf(k Key) value {
	if k.field == nil {
		return nil
	}
	return k.field(l.Scenario)
}

func fileOrigin(at *token.Token) origin {
	return origin{rank: fromFile, line: at.Position.Line, column: at.Position.Column}
}

func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.NullNode:
		return "nothing"
	case *ast.MappingNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.AnchorNode, *ast.AliasNode:
		return "an anchor or alias"
	case *ast.TagNode:
		return "a tag"
	}
	return "a single value"
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}
