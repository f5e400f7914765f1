package usage

import (
	"fmt"

	"weir/internal/catalog"
	"weir/internal/money"
)

// Follow returns why lines do not follow from what was consumed, "" when they do: their kinds and quantities follow from u, as TaskCost makes
// them. Prices are as the lines have them; a part that has no price of its own and is no part of a prompt or an answer may have no line.
func Follow(u *Usage, lines []Line) string {
	var t catalog.Tariff
	left := *u
	for i := range lines {
		l := &lines[i]
		if l.Kind == KindMinute { // in records of old
			continue
		}
		price := l.Kind.own(&t)
		if price == nil {
			return fmt.Sprintf("line %d is of kind %d, which does not exist", i+1, l.Kind)
		}
		*price = money.Price{Nano: l.Price, Set: true, Dollars: l.Dollars}
		if n := left.unkept(l.Kind); n != nil && n.N == 0 {
			*n = Of(l.Quantity)
		}
	}
	var room [maxLines]Line
	want := appendTariff(room[:0], &left, &t)
	i := 0
	for _, l := range lines {
		switch {
		case l.Kind == KindMinute && l.Quantity >= 0:
		case i == len(want) || l.Kind != want[i].Kind:
			return fmt.Sprintf("there is a line of %d of %s, which does not follow from what was consumed", l.Quantity, l.Kind)
		case l != want[i]:
			return fmt.Sprintf("the line of %s says %d, what was consumed is %d", l.Kind, l.Quantity, want[i].Quantity)
		default:
			i++
		}
	}
	if i < len(want) {
		return fmt.Sprintf("there is no line for %d of %s, which were consumed", want[i].Quantity, want[i].Kind)
	}
	return ""
}

// unkept is the count that lines of the kind are made of, where records did not always keep it, and else nil.
func (u *Usage) unkept(k Kind) *Count {
	if !kinds[k].late {
		return nil
	}
	return u.of(k)
}

// PriceOf is the ruble price of lines like l at a rate, as it follows from their price in dollars.
func (l Line) PriceOf(r money.Rate) (int64, error) {
	read := func(dollars string) (money.Price, error) { return r.PerThousand(dollars, money.Million) }
	if k := l.Kind; k == KindMegapixel || k == KindAudio || int(k) < len(kinds) && kinds[k].each {
		read = func(dollars string) (money.Price, error) { return r.Each(dollars, 1) }
	}
	p, err := read(l.Dollars)
	return p.Nano, err
}
