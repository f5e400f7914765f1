package config

import (
	"encoding"
	"reflect"
	"slices"
	"sync"
	"time"

	"weir/internal/money"
	"weir/internal/outbound"
	"weir/internal/secret"
)

// entry is a field of a section that has a name in the file. Fields without one are not for operators.
type entry struct {
	name     string
	constant bool         // see Constant
	index    []int        // of the field
	read     reflect.Type // how its text is read: the type of the field, or what the tag as says of it
	reload   string       // the tag of the field
}

// Packages below declare their settings with plain types, so that they need nothing of this package. The tag as says how the text of such a
// field is read: as:"size" for bytes, as:"decimal" for a number as it was written,
// as:"kopecks" for an amount that is paid; amounts in lists are all of this kind.
var readAs = map[string][]reflect.Type{
	"size":    {sizeType, intSizeType},
	"decimal": {decimalType, floatType},
	"kopecks": {kopecksType},
}

var entries sync.Map // reflect.Type -> []entry, because a large catalog asks for the same few types thousands of times

// entriesOf lists the entries of a section. Those of a struct with the tag yaml:",inline" are entries of the section around it.
func entriesOf(t reflect.Type) []entry {
	if all, ok := entries.Load(t); ok {
		return all.([]entry)
	}
	var all []entry
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("yaml") == ",inline" {
			for _, e := range entriesOf(f.Type) {
				e.index = append([]int{i}, e.index...)
				all = append(all, e)
			}
			continue
		}
		e := entry{name: f.Tag.Get("constant"), index: []int{i}, read: readType(f), reload: f.Tag.Get("reload")}
		if e.constant = e.name != ""; !e.constant {
			e.name = f.Tag.Get("yaml")
		}
		if e.name != "" && e.name != "-" {
			all = append(all, e)
		}
	}
	entries.Store(t, all)
	return all
}

func readType(f reflect.StructField) reflect.Type {
	for _, t := range readAs[f.Tag.Get("as")] {
		if t.Kind() == f.Type.Kind() {
			return t
		}
	}
	return f.Type
}

// of is the field in a section, as a value of the type that it is read as.
func (e *entry) of(section reflect.Value) reflect.Value {
	v := section.FieldByIndex(e.index)
	switch {
	case e.read == v.Type():
		return v
	case v.CanAddr():
		return v.Addr().Convert(reflect.PointerTo(e.read)).Elem()
	}
	return v.Convert(e.read)
}

func entryNamed(t reflect.Type, name string) (entry, bool) {
	all := entriesOf(t)
	if i := slices.IndexFunc(all, func(e entry) bool { return e.name == name }); i >= 0 {
		return all[i], true
	}
	return entry{}, false
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	sizeType     = reflect.TypeFor[Size]()
	intSizeType  = reflect.TypeFor[intSize]()
	memoryType   = reflect.TypeFor[Memory]()
	decimalType  = reflect.TypeFor[Decimal]()
	nanoType     = reflect.TypeFor[money.Nano]()
	kopecksType  = reflect.TypeFor[kopecks]()
	floatType    = reflect.TypeFor[decimalFloat]()
	amountsType  = reflect.TypeFor[[]money.Nano]()
	secretType   = reflect.TypeFor[secret.Text]()
	builtinType  = reflect.TypeFor[Builtin]()
	dsnType      = reflect.TypeFor[DSN]()
	proxyType    = reflect.TypeFor[outbound.Proxy]()
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// readsItself reports whether a type of a package below knows its texts.
func readsItself(t reflect.Type) bool { return reflect.PointerTo(t).Implements(textType) }

func isScalar(t reflect.Type) bool {
	if t == secretType || t == floatType || t == builtinType || t == proxyType || readsItself(t) {
		return true
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int64, reflect.Int:
		return true
	}
	return false
}

// isSection reports whether a struct has entries, and is not a value such as Secret.
func isSection(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !isScalar(t) && len(entriesOf(t)) > 0
}
