package scenario

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Schema returns a JSON Schema (draft 2020-12) of a scenario file, for editors: keys,
// values, units and what excludes what within one place. The known metrics are those
// that thresholds can be set on. What [Load] and [Scenario.Validate] accept fits the
// schema; they refuse more than it can say.
func Schema(known []Metric) ([]byte, error) {
	properties := object{}
	needs := object{}
	for _, k := range keys {
		properties[k.Name] = k.schema()
		if k.drawn {
			needs[k.Name] = object{"required": []string{"schedule"}, "properties": object{"schedule": object{"enum": []string{ScheduleRandom, ScheduleSwarm}}}}
		}
		if k.workload != "" {
			needs[k.Name] = object{"required": []string{"workload"}, "properties": object{"workload": object{"const": k.workload}}}
		}
	}
	properties["faults"] = object{"type": "array", "maxItems": maxFaults, "items": object{"$ref": "#/$defs/fault"},
		"description": "What breaks, when, and when it is healed."}
	properties["expect"] = mapOf(checks, object{"enum": expectations}, "What checks are to come out as; those not named are to pass.")
	properties["shown"] = mapOf(counters, object{"type": "integer", "minimum": 1, "maximum": 1_000_000_000}, "The least that counters must come to.")
	properties[thresholdsKey] = object{"type": "array", "maxItems": maxThresholds, "items": object{"$ref": "#/$defs/threshold"},
		"description": "Limits that numbers of the result must keep to, such as acquire.p99 < 50ms."}
	var recipes []object
	for _, w := range allWorkloads {
		recipes = append(recipes, object{"if": isWorkload(w), "then": object{"properties": object{"recipe": recipeSchema(serving(w))}}})
	}
	bothEnds := object{"required": []string{"duration", "iterations"}, "properties": object{
		"iterations": object{"minimum": 1}, "duration": object{"type": "string", "pattern": "[1-9]"}}}
	b, err := json.MarshalIndent(object{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                "locklab scenario",
		"type":                 "object",
		"properties":           properties,
		"additionalProperties": false,
		"dependentSchemas":     needs,
		"allOf":                recipes,
		"not":                  bothEnds,
		"$defs":                object{"duration": durationSchema, "fault": faultSchema(), "threshold": thresholdSchema(known)},
	}, "", "  ")
	return append(b, '\n'), err
}

type object = map[string]any

// isWorkload is the schema of a scenario of that workload.
func isWorkload(name string) object {
	is := object{"properties": object{"workload": object{"const": name}}}
	if name != Defaults().Workload {
		is["required"] = []string{"workload"} // else it is the default
	}
	return is
}

func mapOf(names []string, value object, about string) object {
	properties := object{}
	for _, n := range names {
		properties[n] = value
	}
	return object{"type": "object", "properties": properties, "additionalProperties": false, "description": about}
}

// A schemed value knows what it looks like in a file.
type schemed interface{ schema(Key) object }

func (k Key) schema() object {
	s := object{}
	if v, ok := k.field(&Scenario{}).(schemed); ok {
		s = v.schema(k)
	}
	s["description"] = sentence(k.Help)
	if k.Default != "" {
		s["default"] = literal(s, k.Default)
	}
	return s
}

func sentence(help string) string { return strings.ToUpper(help[:1]) + help[1:] + "." }

// literal is a value as JSON has it, if the schema wants something else than text.
func literal(schema object, text string) any {
	var v any
	if t := schema["type"]; t == "integer" || t == "number" || t == "boolean" {
		if json.Unmarshal([]byte(text), &v) == nil {
			return v
		}
	}
	return text
}

// amount is a number that may have a fraction, as in Go's durations.
const (
	amount          = `([0-9]+(\.[0-9]*)?|\.[0-9]+)`
	durationPattern = `\+?(` + amount + `(ns|us|µs|μs|ms|s|m|h))+`
)

// Spans told in terms of the session timeout, and all spans.
const (
	toldPattern = amount + `T|expiry(\+` + durationPattern + `)?`
	spanPattern = toldPattern + `|` + durationPattern + `|0`
)

// Only 0 needs no unit.
var durationSchema = object{"anyOf": []object{{"type": "string", "pattern": "^" + durationPattern + "$"}, {"const": 0}}}

func (durationValue) schema(Key) object { return object{"$ref": "#/$defs/duration"} }
func (countValue) schema(k Key) object {
	return object{"type": "integer", "minimum": k.lo, "maximum": k.hi}
}
func (seedValue) schema(Key) object {
	return object{"type": "integer", "minimum": 0, "maximum": json.Number(strconv.FormatUint(1<<64-1, 10))}
}
func (boolValue) schema(Key) object   { return object{"type": "boolean"} }
func (shareValue) schema(Key) object  { return object{"type": "number", "minimum": 0, "maximum": 1} }
func (sizeValue) schema(Key) object   { return text(`^[0-9]+ *(KiB|MiB|GiB)$`) }
func (imageValue) schema(Key) object  { return text(`^[^ ]*$`) }
func (textValue) schema(Key) object   { return object{"type": "string"} }
func (nameValue) schema(Key) object   { return text(`^[a-z0-9][a-z0-9-]{0,63}$`) }
func (recipeValue) schema(Key) object { return recipeSchema(recipeList()) }
func (v choiceValue) schema(Key) object {
	return object{"enum": v.choices}
}
func (v choiceOf) schema(Key) object {
	var numbers []json.Number
	for _, c := range v.choices {
		numbers = append(numbers, json.Number(c))
	}
	return object{"type": "integer", "enum": numbers}
}
func (spanValue) schema(Key) object {
	return object{"anyOf": []object{durationSchema, text(`^(` + toldPattern + `)$`)}}
}

func text(pattern string) object { return object{"type": "string", "pattern": pattern} }

// recipeSchema is one of these recipes, several with commas, or a command.
func recipeSchema(names []string) object {
	one := `(` + strings.Join(names, "|") + `)`
	return object{"anyOf": []object{{"enum": names}, text(`^` + one + `( *, *` + one + `)+$`), text(`^` + RecipeExec + `\S`)}}
}

// thresholdSchema names every metric, durations and plain numbers apart.
func thresholdSchema(known []Metric) object {
	pattern := func(durations bool, limit string) object {
		var names []string
		for _, m := range known {
			if m.Duration == durations {
				names = append(names, regexp.QuoteMeta(m.Name))
			}
		}
		slices.Sort(names)
		return text(`^ *(` + strings.Join(names, "|") + `) *(` + strings.Join(comparisons, "|") + `) *` + limit + ` *$`)
	}
	return object{"anyOf": []object{pattern(true, durationPattern), pattern(false, amount+`([eE][+-]?[0-9]+)?`)}}
}
