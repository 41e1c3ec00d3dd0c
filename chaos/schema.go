package chaos

import (
	"strings"

	"locklab/harness/settings"
)

// Schema returns the JSON schema of an entry of faults: its keys, and what each kind requires. The document that has
// it must also have the definitions of package [settings].
func Schema() settings.Schema {
	properties := settings.Schema{}
	for _, k := range FaultKeys() {
		properties[k.Name] = k.Schema()
	}
	properties["repeat"] = settings.Schema{"type": "integer", "minimum": 1, "maximum": MaxFaults,
		"description": properties["repeat"].(settings.Schema)["description"]}
	rules := []settings.Schema{
		either("at", "trigger"),
		{
			"if":   allOfSchemas(given("repeat"), settings.Schema{"not": given("trigger")}),
			"then": given("every"),
		},
		{
			"if": given("trigger"),
			"then": allOfSchemas(kindIs(kindNames((*Kind).strikesHolders)), targetIs(OnClient),
				settings.Schema{"not": given("every")}),
		},
		{
			"if":   allOfSchemas(given("until"), settings.Schema{"not": given("trigger")}),
			"then": settings.Schema{"properties": settings.Schema{"target": settings.Schema{"const": TargetHolder}}},
		},
		{
			"if": settings.Schema{
				"properties": settings.Schema{"expect": settings.Schema{"const": ExpectExpiry}},
				"required":   []string{"expect"},
			},
			"then": targetIs(OnClient),
		},
	}
	for _, k := range known().kinds {
		rules = append(rules, settings.Schema{"if": kindIs([]string{k.Name}), "then": allOfSchemas(k.schemas()...)})
	}
	return settings.Schema{
		"type": "object", "properties": properties, "additionalProperties": false, "required": []string{"kind", "target"},
		"allOf": rules,
		"dependentRequired": settings.Schema{
			"linger": []string{"until"},
		},
	}
}

// schemas returns the rules for faults of the kind.
func (k Kind) schemas() []settings.Schema {
	all := []settings.Schema{targetIs(k.Targets)}
	for _, key := range k.keys() {
		if required(key) {
			all = append(all, given(key.Name))
		}
	}
	if !k.Momentary {
		all = append(all, either("for", "until"))
	}
	for _, key := range FaultKeys() {
		if !k.takes(key.Name) {
			all = append(all, settings.Schema{"not": given(key.Name)})
		}
	}
	return all
}

func given(key string) settings.Schema { return settings.Schema{"required": []string{key}} }

func either(a, b string) settings.Schema {
	return settings.Schema{"oneOf": []settings.Schema{given(a), given(b)}}
}

func allOfSchemas(all ...settings.Schema) settings.Schema { return settings.Schema{"allOf": all} }

func kindIs(names []string) settings.Schema {
	return settings.Schema{"properties": settings.Schema{"kind": settings.Schema{"enum": names}}}
}

func targetIs(t Targets) settings.Schema {
	return settings.Schema{"properties": settings.Schema{"target": t.Schema()}}
}

// Values says what the value of a fault's key can be.
func Values(key settings.Key) string {
	switch {
	case key.Name == "target":
		return anyTarget().choices()
	case key.Choices != nil:
		return strings.Join(key.Choices, ", ")
	}
	return key.Help
}
