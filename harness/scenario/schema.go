package scenario

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/harness/check"
	"locklab/harness/settings"
	"locklab/workloads"
	"locklab/workloads/lock"
)

type object = settings.Schema

// Schema returns a JSON Schema (draft 2020-12) of a scenario file, for editors: keys, values, units, and which keys of
// one mapping exclude each other. The known metrics are those that thresholds can be set on. Every scenario that [Load]
// and [Scenario.Validate] accept fits the schema, but they also refuse scenarios that fit it.
func Schema(known []Metric) ([]byte, error) {
	properties, needs := object{}, object{}
	for _, k := range allKeys() {
		properties[k.Name] = k.schema()
		if k.drawn {
			needs[k.Name] = needing(object{"schedule": object{"enum": []string{chaos.ScheduleRandom, chaos.ScheduleSwarm}}})
		}
		if k.elsewhere {
			needs[k.Name] = needing(object{"connect": object{"minLength": 1}})
		}
		if k.workload != "" {
			needs[k.Name] = needing(object{"workload": object{"const": k.workload}})
		}
	}
	properties["faults"] = object{"type": "array", "maxItems": chaos.MaxFaults, "items": object{"$ref": "#/$defs/fault"},
		"description": "What breaks, when, and when it is healed."}
	for _, b := range blocks {
		properties[b.key] = b.schema()
	}
	properties[sometimesKey] = object{"type": "array", "uniqueItems": true,
		"items":       object{"enum": check.ConditionNames()},
		"description": "Conditions that must be met at least once, or the run is unknown."}
	properties[thresholdsKey] = object{"type": "array", "maxItems": maxThresholds,
		"items":       object{"$ref": "#/$defs/threshold"},
		"description": "Limits that numbers of the result must keep to, such as acquire.p99 < 50ms."}
	var recipes []object
	for _, w := range workloads.All {
		fitting := object{"properties": object{"recipe": recipeSchema(lock.Serving(w))}}
		recipes = append(recipes, object{"if": isWorkload(w), "then": fitting})
	}
	bothEnds := needing(object{
		"duration": object{"type": "string", "pattern": "[1-9]"}, "iterations": object{"minimum": 1}})
	defs := settings.Definitions()
	maps.Copy(defs, object{"fault": chaos.Schema(), "threshold": thresholdSchema(known)})
	b, err := json.MarshalIndent(object{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                "locklab scenario",
		"type":                 "object",
		"properties":           properties,
		"additionalProperties": false,
		"dependentSchemas":     needs,
		"allOf":                recipes,
		"not":                  bothEnds,
		"$defs":                defs,
	}, "", "  ")
	return append(b, '\n'), err
}

func (k Key) schema() object {
	s := k.Schema()
	if k.needsText() && s["type"] == "string" {
		s["minLength"] = 1
	}
	if k.Name == "recipe" {
		maps.Copy(s, recipeSchema(lock.Names()))
		delete(s, "type")
	}
	if k.Name == "zookeeper" {
		const one = ensembles.VersionPattern
		maps.Copy(s, settings.TextSchema(`^`+one+`( *, *`+one+`)*$`))
	}
	if k.Default != "" {
		s["default"] = k.Literal(k.Default)
	}
	return s
}

// needing returns the schema of an object that must have these keys with these values.
func needing(properties object) object {
	return object{"required": sortedKeys(properties), "properties": properties}
}

// isWorkload returns the schema of a scenario of that workload.
func isWorkload(name string) object {
	is := object{"properties": object{"workload": object{"const": name}}}
	if name != Defaults().Workload { // without the key it is the default
		is["required"] = []string{"workload"}
	}
	return is
}

// recipeSchema returns the schema of one of these recipes, several with commas, or a command.
func recipeSchema(names []string) object {
	var all, patterns []string
	for _, name := range names {
		r, _ := lock.Find(name)
		all = append(append(all, name), r.Versions()...)
	}
	for _, name := range all {
		patterns = append(patterns, regexp.QuoteMeta(name))
	}
	one := `(` + strings.Join(patterns, "|") + `)`
	return object{"anyOf": []object{{"enum": all}, settings.TextSchema(`^` + one + `( *, *` + one + `)+$`),
		settings.TextSchema(`^` + lock.ExecPrefix + lock.ArgPattern + `(\s+` + lock.ArgPattern + `)*$`)}}
}

// thresholdSchema returns the schema of a threshold. Metrics that are durations need a limit with a unit.
func thresholdSchema(known []Metric) object {
	pattern := func(durations bool, limit string) object {
		var names []string
		for _, m := range known {
			if m.Duration == durations {
				names = append(names, regexp.QuoteMeta(m.Name))
			}
		}
		slices.Sort(names)
		oneOf := func(words []string) string { return `(` + strings.Join(words, "|") + `)` }
		return settings.TextSchema(`^ *(` + oneOf(metricBlocks) + `\.)?` + oneOf(names) + `(_ns)? *` +
			oneOf(comparisons) + ` *` + limit + ` *$`)
	}
	return object{"anyOf": []object{pattern(true, settings.DurationPattern),
		pattern(false, settings.NumberPattern+`([eE][+-]?[0-9]+)?`)}}
}
