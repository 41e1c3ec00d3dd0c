package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"locklab/harness/scenario"
)

// The group of flags that are keys of the scenario.
const (
	keysGroup = "keys"
	keysTitle = "Keys of the scenario. Each is also an environment variable, such as LOCKLAB_CLIENTS for --clients. " +
		"A default applies to scenarios that do not set the key:"
)

// A keyText is the text of a key's flag. The scenario parses it, so that a flag takes the same forms as a variable and
// a file.
type keyText string

// A keyBool is the value of a flag that needs none: without one it is true.
type keyBool string

// Decode implements kong.MapperValue.
func (k *keyBool) Decode(ctx *kong.DecodeContext) error {
	*k = "true"
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		*k = keyBool(fmt.Sprint(ctx.Scan.Pop().Value))
	}
	return nil
}

// IsBool implements kong.BoolMapperValue.
func (keyBool) IsBool() bool { return true }

// scenarioFlags makes a flag of every key of a scenario. kong wants a struct, and the keys are a list. The struct is
// made from the list, so that each key has one place.
func scenarioFlags() kong.Plugins {
	var fields []reflect.StructField
	for i, k := range scenario.Keys() {
		tag := fmt.Sprintf("name:%q help:%q predictor:%q", k.Name, flagHelp(k), keyPredictor(k.Name))
		t := reflect.TypeFor[*keyText]()
		if k.Bool {
			t = reflect.TypeFor[*keyBool]()
		} else {
			tag += fmt.Sprintf(" placeholder:%q", placeholder(k))
		}
		name := fmt.Sprintf("Key%d", i)
		fields = append(fields, reflect.StructField{Name: name, Type: t, Tag: reflect.StructTag(tag)})
	}
	return kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}
}

func flagHelp(k scenario.Key) string {
	return withDefault(strings.ToUpper(k.Help[:1])+k.Help[1:]+".", k.Default)
}

// withDefault puts a default at the end of a flag's help.
func withDefault(help, value string) string {
	if value == "" {
		return help
	}
	return strings.TrimSuffix(help, ".") + " (default " + value + ")."
}

// helpWithDefault is the help of a flag or an argument, with its default unless kong shows that as the placeholder.
func helpWithDefault(v *kong.Value) string {
	help := kong.DefaultHelpValueFormatter(v)
	if v.Default == "" || v.Tag.PlaceHolder == "" && v.Flag != nil {
		return help
	}
	return withDefault(help, v.Default)
}

func placeholder(k scenario.Key) string {
	if len(k.Values) > 0 {
		return strings.Join(k.Values, "|")
	}
	return "VALUE"
}

// setFlags sets the keys whose flags were given.
func setFlags(sc *scenario.Scenario, group any) error {
	v := reflect.ValueOf(group).Elem()
	for i, k := range scenario.Keys() {
		f := v.Field(i)
		if f.IsNil() {
			continue
		}
		if err := sc.Set(k.Name, f.Elem().String()); err != nil {
			return err
		}
	}
	return nil
}

// anyGiven reports whether the flag of any key was given.
func anyGiven(keys kong.Plugins) bool {
	for _, group := range keys {
		for _, field := range reflect.ValueOf(group).Elem().Fields() {
			if !field.IsNil() {
				return true
			}
		}
	}
	return false
}
