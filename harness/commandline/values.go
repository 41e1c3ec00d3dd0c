package commandline

import (
	"fmt"
	"reflect"
	"time"

	"github.com/alecthomas/kong"

	"locklab/harness/settings"
)

// Values makes kong read the values of flags in the forms that keys of scenarios have.
func Values() []kong.Option {
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
