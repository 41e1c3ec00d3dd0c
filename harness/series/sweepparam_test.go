package series

import (
	"slices"
	"strings"
	"testing"
)

func TestParseParam(t *testing.T) {
	for text, want := range map[string]string{
		"clients=1..256":                  "1 2 4 8 16 32 64 128 256",
		"clients=1..100":                  "1 2 4 8 16 32 64 100",
		"clients=1..1000x10":              "1 10 100 1000",
		"clients=10..50+20, 100":          "10 30 50 100",
		"hold=1ms..8ms":                   "1ms 2ms 4ms 8ms",
		"hold=0..4ms+2ms":                 "0s 2ms 4ms",
		"read-share=0.5..0.9+0.1":         "0.5 0.6 0.7 0.8 0.9",
		"recipe=mutex,naive-mutex":        "mutex naive-mutex",
		"recipe={mutex,curator-mutex},rw": "mutex,curator-mutex rw",
		"hold=log-normal(5ms, 0.5),1ms":   "log-normal(5ms, 0.5) 1ms",
		"hold=uniform(1ms..9ms)":          "uniform(1ms..9ms)",
		"rate={100..400}":                 "100..400",
		"servers=1,3,5":                   "1 3 5",
		"session-timeout = 1s..1m":        "1s 2s 4s 8s 16s 32s 1m0s",
		"clients=4..4":                    "4",
	} {
		p, err := ParseParam(text)
		if err != nil || strings.Join(p.Values, " ") != want {
			t.Errorf("%s: %q, %v; want %q", text, p.Values, err, want)
		}
		if key, _, _ := strings.Cut(text, "="); p.Key != strings.TrimSpace(key) {
			t.Errorf("%s: key %q", text, p.Key)
		}
	}
	for text, says := range map[string]string{
		"clients":              "does not say what to vary",
		"clients=":             "does not say what to vary",
		"=1":                   "does not say what to vary",
		"clients=1,,2":         "a value is missing",
		"clients=8..1":         "ends before it begins",
		"clients=0..8":         "0..8 cannot grow by a factor of 2",
		"clients=1..8x1":       "cannot grow by a factor of 1",
		"clients=1..8+0":       "cannot go in steps of 0",
		"hold=1ms..8":          "is a duration and the other is not",
		"clients=1..1000000+1": "more than 1000 values",
		"hold=exponential(5ms": "brackets do not close",
		"hold=5ms)":            "brackets do not close",
		"recipe={}":            "a value is missing",
	} {
		if p, err := ParseParam(text); err == nil || !strings.Contains(err.Error(), says) ||
			!strings.HasPrefix(err.Error(), "--param") {
			t.Errorf("%s: %v, %v; want %q", text, p, err, says)
		}
	}
	if p, err := ParseParam("clients=1,2,3"); err != nil || !slices.Equal(p.Values, []string{"1", "2", "3"}) {
		t.Errorf("%v, %v", p, err)
	}
}
