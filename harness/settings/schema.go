package settings

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
)

// A Schema is a part of a JSON Schema (draft 2020-12).
type Schema = map[string]any

// A Schemer is a type with a schema of its own text form. The method is called on the zero value.
type Schemer interface{ Schema() Schema }

// Regular expressions of texts that other text forms contain, without anchors.
const (
	NumberPattern   = `([0-9]+(\.[0-9]*)?|\.[0-9]+)`
	DurationPattern = `\+?(` + NumberPattern + `(ns|us|µs|μs|ms|s|m|h))+`
)

// Definitions returns what the document that contains schemas of keys must have as its $defs.
func Definitions() Schema {
	return Schema{
		"duration": Schema{
			"anyOf": []Schema{TextSchema("^" + DurationPattern + "$"), {"const": 0}},
		}, // only 0 needs no unit
		"bool": Schema{"anyOf": []Schema{{"type": "boolean"}, {"enum": []int{0, 1}},
			TextSchema("^(" + strings.Join(boolWords(), "|") + ")$")}},
	}
}

// TextSchema is the schema of a text that the regular expression matches.
func TextSchema(pattern string) Schema { return Schema{"type": "string", "pattern": pattern} }

// DurationSchema refers to the duration of [Definitions].
func DurationSchema() Schema { return Schema{"$ref": "#/$defs/duration"} }

// boolWords are patterns of the words that [ParseBool] knows. JSON Schema's regular expressions cannot ignore case.
func boolWords() []string {
	var words []string
	for _, word := range [...]string{"true", "t", "yes", "y", "on", "false", "f", "no", "n", "off"} {
		var p strings.Builder
		for _, c := range word {
			p.WriteString("[" + strings.ToUpper(string(c)) + string(c) + "]")
		}
		words = append(words, p.String())
	}
	return words
}

// Schema returns what a JSON Schema says of the key's values, with the help as their description.
func (k Key) Schema() Schema {
	s := k.values()
	s["description"] = strings.ToUpper(k.Help[:1]) + k.Help[1:] + "."
	return s
}

func (k Key) values() Schema {
	if s, ok := reflect.Zero(k.typ).Interface().(Schemer); ok {
		return s.Schema()
	}
	switch {
	case k.typ == durationType:
		return DurationSchema()
	case k.typ == sizeType:
		return TextSchema(`^[0-9]+ *(KiB|MiB|GiB)$`)
	case k.Kind == Bool:
		return Schema{"$ref": "#/$defs/bool"}
	case k.Kind == Number:
		return k.number()
	case len(k.Choices) > 0:
		return Schema{"enum": k.Choices}
	case k.pattern != nil:
		return TextSchema(k.pattern.String())
	}
	return Schema{"type": "string"}
}

// number is the schema of a number without a unit.
func (k Key) number() Schema {
	s := Schema{"type": "integer"}
	switch k.typ.Kind() {
	case reflect.Float64:
		s["type"] = "number"
	case reflect.Uint64:
		s["minimum"], s["maximum"] = 0, uint64(math.MaxUint64)
	}
	for tag, bound := range map[string]string{"min": "minimum", "max": "maximum"} {
		if text, ok := k.Tag.Lookup(tag); ok {
			s[bound] = json.Number(text)
		}
	}
	var choices []json.Number
	for _, c := range k.Choices {
		choices = append(choices, json.Number(c))
	}
	if choices != nil {
		s["enum"] = choices
	}
	return s
}

// Literal returns the text of a value as JSON has it: as a number or a truth value if the key's schema wants one.
func (k Key) Literal(text string) any {
	var v any
	plain := k.typ != durationType && k.typ != sizeType && (k.Kind == Number || k.Kind == Bool)
	if plain && json.Unmarshal([]byte(text), &v) == nil {
		return v
	}
	return text
}
