package settings_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness/settings"
)

// level is a type with few values and a text form of its own.
type level int

func (level) Choices() []string { return []string{"low", "high"} }

func (l level) MarshalText() ([]byte, error) { return []byte(level(0).Choices()[l]), nil }

func (l *level) UnmarshalText(text []byte) error {
	*l = level(slices.Index(level(0).Choices(), string(text)))
	return nil
}

// pair is a type whose errors do not come from this package.
type pair struct{ a, b string }

func (p pair) MarshalText() ([]byte, error) { return []byte(p.a + "-" + p.b), nil }

func (p *pair) UnmarshalText(text []byte) error {
	var found bool
	if p.a, p.b, found = strings.Cut(string(text), "-"); !found {
		return fmt.Errorf("%q is not a pair", text)
	}
	return nil
}

// steps is a type with the methods of flag.Value, whose JSON stays as it is.
type steps struct{ N int }

func (s *steps) String() string { return strings.Repeat("+", s.N) }

func (s *steps) Set(text string) error {
	if strings.Trim(text, "+") != "" {
		return settings.Errorf("such as +++", "%s is not a number of steps", settings.Quote(text))
	}
	s.N = len(text)
	return nil
}

func (pair) Schema() settings.Schema { return settings.TextSchema(`^[^-]*-.*$`) }

type inner struct {
	Share float64       `key:"share" help:"share of reads" min:"0" max:"1"`
	Heap  settings.Size `key:"heap" help:"heap" min:"64MiB" max:"64GiB"`
}

type config struct {
	Clients int    `key:"clients" help:"clients in total" min:"1" max:"10000"`
	Note    string // not a setting
	Seed    uint64 `key:"seed" help:"seed"`
	inner
	Wait    time.Duration `key:"wait" help:"how long to wait" max:"24h"`
	Try     bool          `key:"try" help:"whether to wait"`
	Drain   string        `key:"drain" help:"what to do at the end" enum:"finish,cancel" own:"yes"`
	Servers int           `key:"servers" help:"servers" enum:"1,3,5"`
	Name    string        `key:"name" help:"name" pattern:"^[a-z-]+$" hint:"lower-case letters"`
	About   string        `key:"about" help:"question"`
	Level   level         `key:"level" help:"level"`
	Pair    pair          `key:"pair" help:"pair"`
	Steps   steps         `key:"steps" help:"steps"`
}

func key(t *testing.T, name string) settings.Key {
	t.Helper()
	k, ok := settings.Find(settings.Keys(config{}), name)
	if !ok {
		t.Fatalf("no key %s", name)
	}
	return k
}

func TestKeysAreInTheOrderOfTheFields(t *testing.T) {
	keys := settings.Keys(&config{})
	want := []string{
		"clients",
		"seed",
		"share",
		"heap",
		"wait",
		"try",
		"drain",
		"servers",
		"name",
		"about",
		"level",
		"pair", "steps",
	}
	if got := settings.Names(keys); !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q", got, want)
	}
	if k := key(t, "drain"); k.Help != "what to do at the end" || k.Tag.Get("own") != "yes" ||
		!slices.Equal(k.Choices, []string{"finish", "cancel"}) {
		t.Errorf("drain is %+v", k)
	}
	if k := key(t, "level"); !slices.Equal(k.Choices, []string{"low", "high"}) {
		t.Errorf("level has the choices %q", k.Choices)
	}
	type short struct {
		N int `key:"n"`
	}
	if k := settings.Keys(short{}, map[string]string{"n": "how many"})[0]; k.Help != "how many" {
		t.Errorf("n has the help %q", k.Help)
	}
	if _, ok := settings.Find(keys, "note"); ok {
		t.Error("a field without a tag is a setting")
	}
}

func TestSetAndText(t *testing.T) {
	for _, tt := range []struct{ key, text, want string }{
		{"clients", "16", "16"},
		{"seed", "18446744073709551615", "18446744073709551615"},
		{"share", "0.90", "0.9"},
		{"share", "-0", "0"},
		{"share", "5e-1", "0.5"},
		{"heap", "1024 MiB", "1GiB"},
		{"wait", "120s", "2m"},
		{"wait", "3h", "3h"},
		{"wait", "0", "0s"},
		{"try", "Yes", "true"},
		{"try", "off", "false"},
		{"drain", "cancel", "cancel"},
		{"servers", "5", "5"},
		{"name", "mutex-pause", "mutex-pause"},
		{"about", "how fast?", "how fast?"},
		{"level", "high", "high"},
		{"pair", "a-b", "a-b"},
		{"steps", "+++", "+++"},
	} {
		k, c := key(t, tt.key), config{}
		if err := k.Set(&c, tt.text); err != nil {
			t.Errorf("%s: %s: %v", tt.key, tt.text, err)
		} else if got := k.Text(&c); got != tt.want {
			t.Errorf("%s: %s reads back as %s, want %s", tt.key, tt.text, got, tt.want)
		} else if again := (config{}); k.Set(&again, got) != nil || again != c {
			t.Errorf("%s: %s is not read back", tt.key, got)
		}
	}
}

func TestSetRefuses(t *testing.T) {
	for _, tt := range []struct{ key, text, want string }{
		{"clients", "0", "clients of 0 is out of range (from 1 to 10000)"},
		{"clients", "1.5", `"1.5" is not a whole number (digits only, such as 16)`},
		{"seed", "-1", `"-1" is not a whole number from 0 to 18446744073709551615 (digits only, such as 16)`},
		{"share", "1.5", "share of 1.5 is out of range (from 0 to 1)"},
		{"share", "NaN", `"NaN" is not a number (a number from 0 to 1, such as 0.9)`},
		{"share", "0x1p-2", `"0x1p-2" is not a number (a number from 0 to 1, such as 0.9)`},
		{"heap", "63MiB", "heap of 63MiB is out of range (from 64MiB to 64GiB)"},
		{"heap", "1GB", `"1GB" is not a size (a whole number and KiB, MiB or GiB, such as 256MiB)`},
		{"wait", "25h", "wait of 25h is out of range (at most 24h)"},
		{"wait", "5", `"5" is not a duration (the unit is missing: 5s or 5ms)`},
		{"wait", "soon", `"soon" is not a duration (a number and a unit, such as 20s, 500ms or 1m30s)`},
		{"try", "maybe", `"maybe" is neither true nor false (true or false, yes or no, on or off, 1 or 0)`},
		{"drain", "finsh", `unknown value "finsh" (did you mean finish?)`},
		{"servers", "2", `unknown value "2" (known: 1, 3, 5)`},
		{"name", "Mutex", `"Mutex" is not a valid name (lower-case letters)`},
		{"about", "a\nb", `unprintable character '\n' (one line of plain text)`},
		{"about", "\xff", "text is not UTF-8 (save the file as UTF-8)"},
		{"level", "middle", `unknown value "middle" (known: low, high)`},
		{"pair", "ab", `"ab" is not a pair`},
		{"steps", "++-", `"++-" is not a number of steps (such as +++)`},
	} {
		k, c := key(t, tt.key), config{}
		err := k.Set(&c, tt.text)
		if _, ok := err.(*settings.Error); !ok || err.Error() != tt.want {
			t.Errorf("%s: %q: error %v, want %s", tt.key, tt.text, err, tt.want)
		}
		if !k.IsZero(&c) {
			t.Errorf("%s: %q is refused, and the field is %s", tt.key, tt.text, k.Text(&c))
		}
	}
}

// ParseBool reads the forms that YAML 1.1, kong and strconv know, in upper and lower case.
func TestParseBool(t *testing.T) {
	for want, texts := range map[bool][]string{
		true:  {"true", "TRUE", "t", "1", "yes", "Y", "On"},
		false: {"false", "False", "F", "0", "NO", "n", "off"},
	} {
		for _, text := range texts {
			if got, err := settings.ParseBool(text); err != nil || got != want {
				t.Errorf("%s is %t, %v", text, got, err)
			}
		}
	}
	for _, text := range []string{"", "2", "truee", "ja"} {
		if _, err := settings.ParseBool(text); err == nil {
			t.Errorf("%q is a truth value", text)
		}
	}
}

// Check finds values that Set would refuse and that code has set.
func TestCheck(t *testing.T) {
	c := config{Clients: 20_000, Drain: "finish"}
	if err := key(t, "clients").Check(&c); err == nil ||
		err.Error() != "clients of 20000 is out of range (from 1 to 10000)" {
		t.Errorf("error %v", err)
	}
	if err := key(t, "drain").Check(&c); err != nil {
		t.Error(err)
	}
}

func TestCopyAndClear(t *testing.T) {
	k, from, to := key(t, "share"), config{inner: inner{Share: 0.5}}, config{}
	if k.Copy(&to, &from); to.Share != 0.5 {
		t.Errorf("a share of 0.5 is copied as %v", to.Share)
	}
	if k.Clear(&to); !k.IsZero(&to) {
		t.Errorf("share is %v when cleared", to.Share)
	}
}

func TestSchema(t *testing.T) {
	for name, want := range map[string]string{
		"clients": `{"description":"Clients in total.","maximum":10000,"minimum":1,"type":"integer"}`,
		"seed":    `{"description":"Seed.","maximum":18446744073709551615,"minimum":0,"type":"integer"}`,
		"share":   `{"description":"Share of reads.","maximum":1,"minimum":0,"type":"number"}`,
		"heap":    `{"description":"Heap.","pattern":"^[0-9]+ *(KiB|MiB|GiB)$","type":"string"}`,
		"wait":    `{"$ref":"#/$defs/duration","description":"How long to wait."}`,
		"try":     `{"$ref":"#/$defs/bool","description":"Whether to wait."}`,
		"drain":   `{"description":"What to do at the end.","enum":["finish","cancel"]}`,
		"servers": `{"description":"Servers.","enum":[1,3,5],"type":"integer"}`,
		"name":    `{"description":"Name.","pattern":"^[a-z-]+$","type":"string"}`,
		"about":   `{"description":"Question.","type":"string"}`,
		"level":   `{"description":"Level.","enum":["low","high"]}`,
		"pair":    `{"description":"Pair.","pattern":"^[^-]*-.*$","type":"string"}`,
	} {
		got, err := json.Marshal(key(t, name).Schema())
		if err != nil || string(got) != want {
			t.Errorf("%s: schema %s (%v), want %s", name, got, err, want)
		}
	}
}

// The patterns of the definitions match what the parsers accept.
func TestDefinitions(t *testing.T) {
	pattern := func(name string) *regexp.Regexp {
		for _, s := range settings.Definitions()[name].(settings.Schema)["anyOf"].([]settings.Schema) {
			if p, ok := s["pattern"].(string); ok {
				return regexp.MustCompile(p)
			}
		}
		t.Fatalf("%s has no pattern", name)
		return nil
	}
	for _, text := range []string{"true", "yEs", "ON", "n", "off", "ja", "truefalse"} {
		_, err := settings.ParseBool(text)
		if got := pattern("bool").MatchString(text); got != (err == nil) {
			t.Errorf("bool: the pattern matches %s: %t, and the parser says %v", text, got, err)
		}
	}
	for _, text := range []string{"5ms", "1m30s", ".5h", "1.s", "5", "soon", "5 s"} {
		_, err := settings.ParseDuration(text)
		if got := pattern("duration").MatchString(text); got != (err == nil) {
			t.Errorf("duration: the pattern matches %s: %t, and the parser says %v", text, got, err)
		}
	}
}

func TestLiteral(t *testing.T) {
	for _, tt := range []struct {
		key, text string
		want      any
	}{{"clients", "8", 8.0}, {"try", "false", false}, {"wait", "2s", "2s"}, {"heap", "64MiB", "64MiB"},
		{"drain", "finish", "finish"}} {
		if got := key(t, tt.key).Literal(tt.text); got != tt.want {
			t.Errorf("%s: %#v, want %#v", tt.key, got, tt.want)
		}
	}
}

// A wrong tag is found when keys are listed, and not only when a user sets the key.
func TestKeysPanicsAtWrongTags(t *testing.T) {
	for name, of := range map[string]any{
		"a bound that is not a duration": struct {
			D time.Duration `key:"d" help:"d" max:"soon"`
		}{},
		"a bound without an order": struct {
			S string `key:"s" help:"s" max:"9"`
		}{},
		"a key without help": struct {
			S string `key:"s"`
		}{},
		"a type without a text form": struct {
			M map[string]int `key:"m" help:"m"`
		}{},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			settings.Keys(of)
		}()
	}
}

func TestDidYouMean(t *testing.T) {
	known := []string{"clients", "client-image", "clients-per-session"}
	for word, want := range map[string]string{
		"cleints":                 "did you mean clients?",
		"CLIENT_IMAGE":            "did you mean client-image?",
		"x":                       "known: clients, client-image, clients-per-session",
		strings.Repeat("long", 9): "known: clients, client-image, clients-per-session",
	} {
		if got := settings.DidYouMean(word, known); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}
