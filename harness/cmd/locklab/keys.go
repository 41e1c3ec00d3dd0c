package main

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"locklab/harness/scenario"
	"locklab/harness/settings"
	"locklab/harness/untrusted"
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

// valueMappers read the values of flags that are not keys, in the forms that keys have.
func valueMappers() []kong.Option {
	return []kong.Option{
		kong.KindMapper(reflect.Bool, boolMapper{}),
		kong.KindMapper(reflect.Int, valueMapper(settings.ParseInt)),
		kong.KindMapper(reflect.Uint64, valueMapper(settings.ParseUint)),
		kong.KindMapper(reflect.Float64, valueMapper(settings.ParseNumber)),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), valueMapper(settings.ParseDuration)),
	}
}

// valueMapper reads a value with a function of package settings.
func valueMapper[T any](parse func(string) (T, error)) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto("a", &text); err != nil {
			return err
		}
		v, err := parse(text)
		if err == nil {
			target.Set(reflect.ValueOf(v).Convert(target.Type()))
		}
		return err
	}
}

// A boolMapper reads the flags that are true or false.
type boolMapper struct{}

// IsBool implements kong.BoolMapper.
func (boolMapper) IsBool() bool { return true }

// Decode implements kong.Mapper.
func (boolMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	value := true
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		var err error
		if value, err = settings.ParseBool(fmt.Sprint(ctx.Scan.Pop().Value)); err != nil {
			return err
		}
	}
	target.SetBool(value)
	return nil
}

var (
	flagWithoutValue = regexp.MustCompile(`^--[a-z][a-z0-9-]*$`)
	negativeNumber   = regexp.MustCompile(`^-[0-9.]`)
)

// withNegatives returns a command line in which a flag and a negative number after it are one argument. The parser
// would take the number for a flag, and locklab has no flag that begins like a number.
func withNegatives(args []string) []string {
	var all []string
	for i, arg := range args {
		if arg == "--" {
			return append(all, args[i:]...)
		}
		if n := len(all) - 1; n >= 0 && negativeNumber.MatchString(arg) && flagWithoutValue.MatchString(all[n]) {
			all[n] += "=" + arg
			continue
		}
		all = append(all, arg)
	}
	return all
}

var (
	emptyValue = regexp.MustCompile(`^(--[a-z][a-z0-9-]*)=$`)
	oneDash    = regexp.MustCompile(`^-[a-z][a-z0-9-]+(=|$)`)
)

// checkArgs refuses what is wrong with a command line whatever its command is. An empty value is most often that of a
// variable of a shell that is not set, and would be taken for a flag that was not given.
func checkArgs(args []string) error {
	for i, arg := range args {
		flag := emptyValue.FindStringSubmatch(arg)
		switch {
		case arg == "--":
			return nil
		case flag != nil:
			return emptyError(flag[1])
		case arg == "" && i > 0 && flagWithoutValue.MatchString(args[i-1]):
			return emptyError(args[i-1])
		case arg == "":
			return &scenario.InputError{Msg: "an argument is empty", Hint: "drop it, or set the variable that it comes from"}
		case oneDash.MatchString(arg):
			return &scenario.InputError{Flag: arg, Msg: "flags begin with two dashes", Hint: "-" + arg}
		}
	}
	return nil
}

func emptyError(flag string) error {
	return &scenario.InputError{Flag: flag, Msg: "the value is empty",
		Hint: "drop the flag, or set the variable that its value comes from"}
}

// lacksValue matches what the parser says of a flag with nothing after it, or with another flag after it.
var lacksValue = regexp.MustCompile(`^(--[a-z0-9-]+): (?:expected .* value but got|missing value)`)

// outsideChoices matches what the parser says of a value that is none of a flag's or an argument's.
var outsideChoices = regexp.MustCompile(`^(\S+) must be one of (\S+) but got (".*")$`)

// usageError returns the message of an error of the parser. Where a value is at fault, the message is that of package
// settings, which needs no other help.
func usageError(err error) string {
	text := err.Error()
	if _, ok := errors.AsType[*settings.Error](err); !ok {
		if m := lacksValue.FindStringSubmatch(text); m != nil {
			text = m[1] + ": the value is missing; write " + m[1] + "=VALUE"
		}
		if m := outsideChoices.FindStringSubmatch(text); m != nil {
			if word, err := strconv.Unquote(m[3]); err == nil {
				return untrusted.Text(fmt.Sprintf("%s: %v", m[1], settings.Choose(word, unquotedList(m[2]))))
			}
		}
		help := "--help"
		if e, ok := errors.AsType[*kong.ParseError](err); ok && e.Context.Selected() != nil {
			help = "help " + e.Context.Selected().Path()
		}
		text += " (see locklab " + help + ")"
	}
	return untrusted.Text(text)
}

// unquotedList returns the words of a list such as "svg","png", without the empty one.
func unquotedList(list string) []string {
	var all []string
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.Trim(word, `"`); word != "" {
			all = append(all, word)
		}
	}
	return all
}

// asFlags returns a command line in which the words "help" and "version", which other programs have as commands, are
// the flags that locklab has for them.
func asFlags(args []string) []string {
	switch args[0] {
	case "help":
		return append(slices.Clone(args[1:]), "--help")
	case "version":
		return append([]string{"--version"}, args[1:]...)
	}
	return args
}
