package commandline

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"locklab/harness/scenario"
	"locklab/harness/settings"
)

// Parse parses the arguments. Its error says all that there is to say, and may have parts of the arguments in it.
func Parse(parser *kong.Kong, args []string) (*kong.Context, error) {
	if err := checkArgs(args); err != nil {
		return nil, err
	}
	c, err := parser.Parse(withNegatives(asFlags(args)))
	if err != nil {
		return nil, usageError(err)
	}
	return c, nil
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

// usageError returns what to say of an error of the parser. Where a value is at fault, the message is that of package
// settings, which needs no other help.
func usageError(err error) error {
	text := err.Error()
	if _, ok := errors.AsType[*settings.Error](err); !ok {
		if m := lacksValue.FindStringSubmatch(text); m != nil {
			text = m[1] + ": the value is missing; write " + m[1] + "=VALUE"
		}
		if m := outsideChoices.FindStringSubmatch(text); m != nil {
			if word, err := strconv.Unquote(m[3]); err == nil {
				return fmt.Errorf("%s: %w", m[1], settings.Choose(word, unquotedList(m[2])))
			}
		}
		help := "--help"
		if e, ok := errors.AsType[*kong.ParseError](err); ok && e.Context.Selected() != nil {
			help = "help " + e.Context.Selected().Path()
		}
		text += " (see locklab " + help + ")"
	}
	return errors.New(text)
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
	if len(args) == 0 {
		return nil
	}
	switch args[0] {
	case "help":
		return append(slices.Clone(args[1:]), "--help")
	case "version":
		return append([]string{"--version"}, args[1:]...)
	}
	return args
}
