package scenario

// faultSchema is the schema of an entry of faults: its keys, and what each kind asks for.
func faultSchema() object {
	var f Fault
	properties := object{}
	for _, k := range faultKeys {
		s := object{}
		if v, ok := k.field(&f).(schemed); ok {
			s = v.schema(Key{Name: k.name, lo: k.lo, hi: k.hi})
		}
		s["description"] = sentence(k.help)
		properties[k.name] = s
	}
	either := func(a, b string) object { return object{"oneOf": []object{given(a), given(b)}} }
	rules := []object{either("at", "trigger"),
		{"if": given("trigger"), "then": object{"allOf": []object{kindIs(faultKindNames(func(k FaultKind) bool { return k.Triggers })), targetIs(OnClient)}}},
		{"if": object{"properties": object{"expect": object{"const": ExpectExpiry}}, "required": []string{"expect"}}, "then": targetIs(OnClient)},
	}
	for _, k := range faultTable() {
		then := []object{targetIs(k.Targets)}
		for _, name := range k.Needs {
			then = append(then, given(name))
		}
		if !k.Momentary {
			then = append(then, either("for", "until"))
		}
		for _, key := range faultKeys {
			if !k.Takes(key.name) {
				then = append(then, object{"not": given(key.name)})
			}
		}
		rules = append(rules, object{"if": kindIs([]string{k.Name}), "then": object{"allOf": then}})
	}
	return object{
		"type": "object", "properties": properties, "additionalProperties": false, "required": []string{"kind", "target"},
		"allOf":             rules,
		"dependentRequired": object{"linger": []string{"until"}, "repeat": []string{"every"}, "until": []string{"trigger"}},
	}
}

func given(key string) object { return object{"required": []string{key}} }

func kindIs(names []string) object {
	return object{"properties": object{"kind": object{"enum": names}}}
}

func targetIs(t Targets) object {
	return object{"properties": object{"target": text(t.pattern())}}
}
