package scenario

import (
	"bytes"
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

	"locklab/harness/settings"
)

// Load reads the source of a scenario over [Defaults]. The file's name is used in messages, and names the scenario
// unless the source does. It is strict: what it does not understand is an error. The error joins an [*InputError] with
// a position for each thing that is wrong, in the order of the file. Load does not see contradictions: see
// [Scenario.Validate].
//
// It walks the parser's nodes instead of decoding into the struct, since each message needs the place of a key or
// value, and each value remembers its place for messages of later stages.
func Load(name string, src []byte) (*Scenario, error) { return load(name, src, fromFile, false) }

// LoadRecord is Load of the scenario of a run directory. What was recorded with a key that there is no more is left
// out.
func LoadRecord(name string, src []byte) (*Scenario, error) { return load(name, src, fromFile, true) }

func load(name string, src []byte, from rank, record bool) (*Scenario, error) {
	l := &loader{Scenario: Defaults(), from: from, record: record}
	l.file = name
	base := strings.TrimSuffix(path.Base(filepath.ToSlash(name)), path.Ext(name))
	if k, _ := findKey("name"); k.read(Defaults(), base) == nil {
		l.Name = base
	}
	if root := l.parse(src); root != nil {
		l.entries(root, allNames(), "key", l.topLevel)
	}
	if err := join(l.errs); err != nil {
		return nil, err
	}
	l.dropOwn()
	return l.Scenario, nil
}

// A loader reads one file into a scenario, and collects what is wrong with it.
type loader struct {
	*Scenario
	from   rank
	record bool
	errs   []*InputError
}

// retired has the keys that there are no more, each with its value for what every run does today.
var retired = map[string]string{"init-limit": "20", "read-burst": "", "sequence-left": "0"}

// Retired reports whether a key, with its value, is one of earlier versions and says what every run does today.
func Retired(key, value string) bool {
	today, gone := retired[key]
	return gone && value == today
}

func (l *loader) refuse(at *token.Token, msg, hint string) {
	e := &InputError{File: l.file, Line: 1, Column: 1, Msg: msg, Hint: hint}
	if at != nil && at.Position != nil {
		e.Line, e.Column = max(at.Position.Line, 1), max(at.Position.Column, 1)
	}
	l.errs = append(l.errs, e)
}

func (l *loader) refuseValue(at *token.Token, err error) {
	e := problem(err)
	l.refuse(at, e.Msg, e.Hint)
}

// parse returns the file's mapping, or nil after it has reported what is wrong.
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
		msg, _, _ = strings.Cut(msg, "\n")
		l.refuse(at, "not YAML: "+msg, "a scenario is a list of lines like \"clients: 16\"")
		return nil
	}
	var root ast.Node
	for _, doc := range file.Docs {
		switch body := doc.Body.(type) {
		case nil, *ast.CommentGroupNode, *ast.DirectiveNode:
		default:
			if root != nil {
				l.refuse(doc.Start, "the file has a second document", "one scenario per file")
				return nil
			}
			root = body
		}
	}
	switch n := root.(type) {
	case nil, *ast.NullNode:
		// The program that should have written the file probably failed; with the defaults, something would run that the
		// user did not ask for.
		l.refuse(nil, "the file is empty", "a line such as \"clients: 16\", or {} for nothing but defaults")
		return nil
	case *ast.MappingNode:
		return n
	}
	l.refuse(root.GetToken(), "a scenario is a mapping, not "+kindOf(root), "lines like \"clients: 16\"")
	return nil
}

// parse turns panics of the parser into errors, because files may come from anywhere.
func parse(src []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("the parser gave up: %v", p)
		}
	}()
	return parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey())
}

// entries calls do for every entry of a mapping. Unknown and repeated keys are refused.
func (l *loader) entries(
	m *ast.MappingNode, known []string, noun string, do func(key string, at *token.Token, v ast.Node),
) {
	first := map[string]int{}
	for _, entry := range m.Values {
		at, key := entry.Key.GetToken(), ""
		if s, ok := entry.Key.(*ast.StringNode); ok {
			key = s.Value
		} else {
			key = at.Value
		}
		_, gone := retired[key]
		switch line, twice := first[key]; {
		case gone && (l.record || Retired(key, entry.Value.GetToken().Value)):
		case gone:
			l.refuse(at, "there is no key "+settings.Quote(key)+" any more", "drop it")
		case !slices.Contains(known, key):
			l.refuse(at, "unknown "+noun+" "+settings.Quote(key), settings.DidYouMean(key, known))
		case twice:
			l.refuse(at, key+" is given twice", fmt.Sprintf("it is already on line %d", line))
		default:
			first[key] = at.Position.Line
			do(key, at, entry.Value)
		}
	}
}

func (l *loader) topLevel(key string, at *token.Token, v ast.Node) {
	switch key {
	case "faults":
		l.faults(at, v)
	case sometimesKey:
		l.conditions(at, v)
	case thresholdsKey:
		l.thresholds(at, v)
	default:
		if i := slices.IndexFunc(blocks, func(b block) bool { return b.key == key }); i >= 0 {
			l.block(blocks[i], at, v)
			return
		}
		k, _ := findKey(key)
		if text, ok := l.scalar(v, k); ok {
			if err := l.set(k, text, l.origin(at)); err != nil {
				l.refuseValue(v.GetToken(), err)
			}
		}
	}
}

// block reads a mapping of known names to scalars.
func (l *loader) block(b block, at *token.Token, v ast.Node) {
	l.note(b.key, l.origin(at))
	known := b.names()
	m, ok := v.(*ast.MappingNode)
	if !ok {
		l.refuse(v.GetToken(), b.key+" is a mapping, not "+kindOf(v), "lines like \""+known[0]+": …\", one level in")
		return
	}
	l.entries(m, known, b.noun, func(name string, at *token.Token, v ast.Node) {
		l.note(b.origin(name), l.origin(at))
		if text, ok := l.scalar(v, named(name)); ok {
			if err := b.read(l.Scenario, name, text); err != nil {
				l.refuseValue(v.GetToken(), err)
			}
		}
	})
}

// list returns the entries of a list, or nil after it has reported what is wrong. The list may have at most most
// entries.
func (l *loader) list(name string, at *token.Token, v ast.Node, most int, entries string) []ast.Node {
	l.note(name, l.origin(at))
	list, ok := v.(*ast.SequenceNode)
	switch {
	case !ok:
		l.refuse(v.GetToken(), name+" is a list, not "+kindOf(v), entries)
	case len(list.Values) > most:
		l.refuse(at, tooMany(len(list.Values), name), fmt.Sprintf("at most %d", most))
	default:
		return list.Values
	}
	return nil
}

func tooMany(n int, name string) string { return fmt.Sprintf("%d %s are too many", n, name) }

// named is the key of a scalar that is not a setting.
func named(name string) Key { return Key{Key: settings.Key{Name: name}} }

// scalar returns the text of a plain value. Numbers may not be quoted, since "16" and 16 are different things in YAML,
// and only free text may be a block.
func (l *loader) scalar(v ast.Node, k Key) (string, bool) {
	at := v.GetToken()
	switch n := v.(type) {
	case *ast.NullNode:
		l.refuse(at, k.Name+" has no value", "give it one, or remove the key")
	case *ast.StringNode:
		quoted := at.Type == token.SingleQuoteType || at.Type == token.DoubleQuoteType
		if quoted && k.Kind == settings.Number {
			l.refuse(at, k.Name+" is not a text", "without the quotes")
			break
		}
		// Whatever filled in the file had no value, and without connect the run would start servers of its own.
		if strings.TrimSpace(n.Value) == "" && k.needsText() {
			l.refuse(at, k.Name+" has no value", "give it one, or remove the key")
			break
		}
		return strings.TrimSpace(n.Value), true
	case *ast.LiteralNode:
		if k.Kind == settings.Line {
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

// origin returns the place of a key or an entry.
func (l *loader) origin(at *token.Token) origin {
	return origin{rank: l.from, line: at.Position.Line, column: at.Position.Column}
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
