package builtin

import (
	"errors"
	"sync"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/rawjson"
)

// List is a price list as the importer makes it: the built-in one, or one that was published later.
type List struct {
	AsOf    time.Time // day of the lists that it is made from
	Version string
	data    []byte
	day     time.Time
}

// On returns the list without offers that are retired by that day.
func (l *List) On(day time.Time) *List {
	with := *l
	with.day = day
	return &with
}

var embedded = sync.OnceValue(func() *List {
	l := &List{data: catalogJSON, Version: ListVersion(catalogJSON)}
	l.AsOf, _ = time.Parse(time.DateOnly, rawjson.TextAt(catalogJSON, "as_of")) // tested
	return l
})

// Embedded is the list that is part of the program.
func Embedded() *List { return embedded() }

// Data is the list as a file. Do not change it.
func (l *List) Data() []byte { return l.data }

// Declare is the function Declare with this list.
func (l *List) Declare(keys map[string]string, rate Rate) (catalog.Declared, error) {
	all, err := documents(l.data)
	if err != nil {
		return catalog.Declared{}, err
	}
	d, err := declare(all, keys, rate, l.day)
	if len(keys) > 0 {
		d.PricesAsOf = l.AsOf
	}
	return d, err
}

// ReadList checks a list that is not part of the program: that it is one, and that a catalog of it could be served. It fails with fault.Invalid.
func ReadList(data []byte) (*List, error) {
	const op = "builtin.ReadList"
	if err := rawjson.Check(data, rawjson.Limits{Depth: 16}); err != nil {
		return nil, fault.New(fault.Invalid, op, "The price list is not valid JSON.").Because(err)
	}
	l := &List{data: data, Version: ListVersion(data)}
	var err error
	if l.AsOf, err = time.Parse(time.DateOnly, rawjson.TextAt(data, "as_of")); err != nil {
		return nil, fault.New(fault.Invalid, op, "The price list has no valid as_of.").Because(err)
	}
	if _, err := l.Build(); err != nil {
		return nil, fault.New(fault.Invalid, op, "No catalog can be made of the price list.").Because(err)
	}
	own := 0
	for p := rawjson.MembersOf(rawjson.Find(data, "offers")); p.Next(); {
		for e := rawjson.ElementsOf(p.Value); e.Next(); {
			own++
		}
	}
	if own == 0 {
		return nil, fault.New(fault.Invalid, op, "The price list is empty.").Because(errors.New("no offers"))
	}
	return l, nil
}

// Build makes a catalog of the list with all providers, which cannot be called: their addresses and keys are made up.
func (l *List) Build() (*catalog.Snapshot, error) {
	keys := map[string]string{}
	for _, p := range Providers() {
		if !p.Template {
			keys[p.ID] = "none"
		}
	}
	one, err := money.NewRate("1", "0")
	if err != nil {
		return nil, err
	}
	d, err := l.Declare(keys, Rate{Rate: one, Version: "none"})
	if err != nil {
		return nil, err
	}
	for i := range d.Providers {
		d.Providers[i].BaseURL, d.Providers[i].Wires = "https://provider.invalid/", nil
	}
	return catalog.Build(d)
}
