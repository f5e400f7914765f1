package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // machines without time zones have these
)

// Hours replaces prices for calls that begin within hours of the day. Prices not set in it are those of the base; thresholds hold at any hour.
type Hours struct {
	From, To string   // "09:00", "24:00": from the first minute to before the last
	Days     []string // "mon", "sun"; none: every day
	Zone     string   // in which hours and days are meant, such as "Asia/Shanghai"; "": UTC
	Prices   Prices

	from, to int   // minutes of the day
	days     uint8 // a bit for each time.Weekday
	place    *time.Location
	whole    *Pricing // everything that is charged by then
}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// At returns the prices of calls that begin at t: p itself when they are the same at any time. The first hours that fit count.
func (p *Pricing) At(t time.Time) *Pricing {
	for i := range p.Hours {
		if h := &p.Hours[i]; h.include(t) {
			return h.whole
		}
	}
	return p
}

func (h *Hours) include(t time.Time) bool {
	if h.whole == nil { // not built
		return false
	}
	t = t.In(h.place)
	hour, minute, _ := t.Clock()
	m := 60*hour + minute
	return h.days&(1<<t.Weekday()) != 0 && h.from <= m && m < h.to
}

// String is the schedule as text, for the source of a price.
func (h *Hours) String() string {
	days := strings.Join(h.Days, ",")
	if days != "" {
		days += " "
	}
	return days + h.From + "-" + h.To + " " + cmp.Or(h.Zone, "UTC")
}

// schedule checks the hours of an endpoint and computes the prices in each.
func (b *builder) schedule(where, kind string, p *Pricing) {
	if len(p.Hours) == 0 {
		return
	}
	p.Hours = slices.Clone(p.Hours)
	if kind == TypeVideo || kind == TypeImage {
		b.fail(where, "models of type %s cannot have prices by hours", kind)
		return
	}
	for i := range p.Hours {
		h := &p.Hours[i]
		if err := h.parse(); err != nil {
			b.fail(where, "hours %s: %w", h, err)
			continue
		}
		base, own := p.Base.All(), h.Prices.All()
		for j, k := range PriceKinds() {
			if own[j].Set && !base[j].Set {
				b.fail(where, "hours %s: there is a price for %s, but none for the other hours", h, k.Name)
			}
		}
		if h.Prices.negative() || h.Prices == (Prices{}) {
			b.fail(where, "hours %s: a price is negative, or there is none", h)
		}
		whole := *p
		whole.Hours, whole.Base = nil, *p.Base.overriddenBy(&h.Prices)
		whole.Source = p.Source + "; charged by the hours " + h.String()
		h.whole = &whole
	}
}

func (h *Hours) parse() (err error) {
	if h.from, err = minuteOf(h.From); err != nil {
		return err
	}
	if h.to, err = minuteOf(h.To); err != nil {
		return err
	}
	if h.from >= h.to {
		return fmt.Errorf("from must be before to; hours past midnight are two entries, the first of them until 24:00")
	}
	if h.place, err = time.LoadLocation(cmp.Or(h.Zone, "UTC")); err != nil || h.Zone == "Local" {
		return fmt.Errorf("there is no time zone %q; write one such as Asia/Shanghai, or UTC", h.Zone)
	}
	if len(h.Days) == 0 {
		h.days = 1<<len(weekdays) - 1
	}
	for _, day := range h.Days {
		at := slices.Index(weekdays, day)
		if at < 0 {
			return fmt.Errorf("%q is not one of mon, tue, wed, thu, fri, sat, sun", day)
		}
		h.days |= 1 << at
	}
	return nil
}

// minuteOf reads a time such as 09:30 or 24:00.
func minuteOf(text string) (int, error) {
	if text == "24:00" {
		return 24 * 60, nil
	}
	t, err := time.Parse("15:04", text)
	if err != nil || len(text) != len("15:04") {
		return 0, fmt.Errorf("%q is no time of the day; write one such as 09:30, or 24:00", text)
	}
	return 60*t.Hour() + t.Minute(), nil
}
