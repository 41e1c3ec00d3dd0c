package scenario

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A value reads and writes one field of a scenario as text, the same for
// files, flags and variables. Set returns a *valueError.
type value interface {
	String() string
	Set(text string) error
}

// A number is a value with an order, to be held against a key's bounds.
type number interface {
	value
	get() int64
	format(int64) string
}

type durationValue struct{ p *time.Duration }

func (v durationValue) String() string        { return formatDuration(*v.p) }
func (v durationValue) get() int64            { return int64(*v.p) }
func (v durationValue) format(n int64) string { return formatDuration(time.Duration(n)) }
func (v durationValue) Set(text string) (err error) {
	*v.p, err = keep(*v.p, text, parseDuration)
	return err
}

type sizeValue struct{ p *Size }

func (v sizeValue) String() string        { return v.p.String() }
func (v sizeValue) get() int64            { return int64(*v.p) }
func (v sizeValue) format(n int64) string { return Size(n).String() }
func (v sizeValue) Set(text string) (err error) {
	*v.p, err = keep(*v.p, text, ParseSize)
	return err
}

type countValue struct{ p *int }

func (v countValue) String() string        { return strconv.Itoa(*v.p) }
func (v countValue) get() int64            { return int64(*v.p) }
func (v countValue) format(n int64) string { return strconv.FormatInt(n, 10) }
func (v countValue) Set(text string) (err error) {
	*v.p, err = keep(*v.p, text, func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0, &valueError{msg: quote(text) + " is not a whole number", hint: "digits only, such as 16"}
		}
		return n, nil
	})
	return err
}

type seedValue struct{ p *uint64 }

func (v seedValue) String() string { return strconv.FormatUint(*v.p, 10) }
func (v seedValue) Set(text string) (err error) {
	*v.p, err = keep(*v.p, text, func(text string) (uint64, error) {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return 0, &valueError{msg: quote(text) + " is not a seed", hint: "a whole number from 0 to 18446744073709551615; 0 draws one"}
		}
		return n, nil
	})
	return err
}

type boolValue struct{ p *bool }

func (v boolValue) String() string { return strconv.FormatBool(*v.p) }
func (v boolValue) Set(text string) (err error) {
	*v.p, err = keep(*v.p, text, func(text string) (bool, error) {
		if text != "true" && text != "false" {
			return false, &valueError{msg: quote(text) + " is neither true nor false", hint: "write true or false"}
		}
		return text == "true", nil
	})
	return err
}

type choiceValue struct {
	p       *string
	choices []string
}

func (v choiceValue) String() string { return *v.p }
func (v choiceValue) Set(text string) error {
	if err := choose(text, v.choices); err != nil {
		return err
	}
	*v.p = text
	return nil
}

// A choiceOf is a number that is one of few.
type choiceOf struct {
	number
	choices []string
}

func (v choiceOf) Set(text string) error {
	if err := choose(text, v.choices); err != nil {
		return err
	}
	return v.number.Set(text)
}

// A recipeValue is one of the recipes, or several with commas, or a command.
type recipeValue struct{ p *string }

func (v recipeValue) String() string { return *v.p }
func (v recipeValue) Set(text string) error {
	if command, ok := strings.CutPrefix(text, RecipeExec); ok {
		if strings.TrimSpace(command) != command || command == "" || !printable(command) {
			return &valueError{msg: quote(text) + " names no command", hint: RecipeExec + "FILE ARGUMENTS, with spaces in between"}
		}
		*v.p = text
		return nil
	}
	names := recipeNames(text)
	for i, name := range names {
		if strings.HasPrefix(name, RecipeExec) {
			return &valueError{msg: "a command cannot be mixed with other recipes", hint: "its znodes are not known; several of: " + strings.Join(commonRecipes(), ", ")}
		}
		if _, known := findRecipe(name); !known {
			return &valueError{msg: "unknown value " + quote(name), hint: didYouMean(name, closest(name))}
		}
		if slices.Contains(names[:i], name) {
			return &valueError{msg: name + " is given twice", hint: "each recipe once: they are dealt to the client processes in turn"}
		}
	}
	*v.p = strings.Join(names, ",")
	return nil
}

// A shareValue is a part of a whole.
type shareValue struct{ p *float64 }

func (v shareValue) String() string { return strconv.FormatFloat(*v.p, 'f', -1, 64) }
func (v shareValue) Set(text string) (err error) {
	*v.p, err = keep(*v.p, text, func(text string) (float64, error) {
		share, err := strconv.ParseFloat(text, 64)
		if err != nil || !(share >= 0 && share <= 1) { // NaN is neither
			return 0, &valueError{msg: quote(text) + " is not a share", hint: "a number from 0 to 1, such as 0.9"}
		}
		return math.Abs(share), nil // -0 is 0
	})
	return err
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// imageValue is the name of an image, or empty.
type imageValue struct{ p *string }

func (v imageValue) String() string { return *v.p }
func (v imageValue) Set(text string) error {
	if !printable(text) || strings.Contains(text, " ") {
		return &valueError{msg: quote(text) + " is no image", hint: "a name such as debian:bookworm"}
	}
	*v.p = text
	return nil
}

// choose refuses a word that is none of the choices.
func choose(text string, choices []string) error {
	if slices.Contains(choices, text) {
		return nil
	}
	return &valueError{msg: "unknown value " + quote(text), hint: didYouMean(text, choices)}
}

// textValue is one line of prose.
type textValue struct{ p *string }

func (v textValue) String() string { return *v.p }
func (v textValue) Set(text string) (err error) {
	*v.p, err = keep(*v.p, text, func(text string) (string, error) {
		if !utf8.ValidString(text) {
			return "", &valueError{msg: "text is not UTF-8", hint: "save the file as UTF-8"}
		}
		for _, r := range text {
			if !unicode.IsPrint(r) {
				return "", &valueError{msg: "unprintable character " + strconv.QuoteRune(r), hint: "one line of plain text"}
			}
		}
		return text, nil
	})
	return err
}

// nameValue is a text that can be part of a file's name.
type nameValue struct{ p *string }

func (v nameValue) String() string { return *v.p }
func (v nameValue) Set(text string) error {
	if !validName(text) {
		return &valueError{msg: quote(text) + " is not a name", hint: "up to 64 lower-case letters, digits and dashes, such as mutex-pause"}
	}
	*v.p = text
	return nil
}

func validName(text string) bool {
	for i, c := range []byte(text) {
		letter := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || c != '-') {
			return false
		}
	}
	return text != "" && len(text) <= 64
}

// livenessValue is a duration, or auto.
type livenessValue struct{ p *time.Duration }

func (v livenessValue) String() string {
	if *v.p == LivenessAuto {
		return "auto"
	}
	return formatDuration(*v.p)
}

func (v livenessValue) Set(text string) (err error) {
	*v.p, err = keep(*v.p, text, func(text string) (time.Duration, error) {
		if text == "auto" {
			return LivenessAuto, nil
		}
		d, err := parseDuration(text)
		if err == nil && (d < 0 || d > time.Hour) {
			err = &valueError{msg: "liveness of " + formatDuration(d) + " is out of range", hint: "auto, or from 0 to 1h"}
		}
		return d, err
	})
	return err
}

func (livenessValue) schema(Key) object {
	return object{"anyOf": []object{{"const": "auto"}, durationSchema}}
}

// keep returns what text parses to, or the old value if it does not parse.
func keep[T any](old T, text string, parse func(string) (T, error)) (T, error) {
	v, err := parse(text)
	if err != nil {
		return old, err
	}
	return v, nil
}
