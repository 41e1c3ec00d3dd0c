package scenario

// The schemas of the values that say how a run is loaded.

func (distributionValue) schema(Key) object {
	const length = ` *(` + durationPattern + `|0) *`
	return object{"anyOf": []object{durationSchema,
		text(`^(constant|exponential)\(` + length + `\)$`),
		text(`^uniform\(` + length + `\.\.` + length + `\)$`),
		text(`^log-normal\(` + length + `, *` + amount + ` *\)$`)}}
}

func (rateValue) schema(Key) object {
	return object{"anyOf": []object{
		{"type": "number", "exclusiveMinimum": 0, "maximum": mostRate},
		text(`^` + amount + ` *(\.\.|(, *` + amount + ` *)*,) *` + amount + `$`),
		{"const": ""}}}
}

func (lockChoiceValue) schema(Key) object {
	return object{"anyOf": []object{{"const": "uniform"}, text(`^zipf\( *` + amount + ` *\)$`)}}
}

func (burstValue) schema(Key) object {
	return text(`^(` + durationPattern + ` every +` + durationPattern + `)?$`)
}

func (resizeValue) schema(Key) object {
	return text(`^([1-9][0-9]{0,4} every +` + durationPattern + `)?$`)
}
