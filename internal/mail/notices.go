package mail

import (
	"strconv"
	"strings"
	"time"

	"weir/internal/money"
	"weir/internal/notify"
)

const longestName = 60 // characters of a name in a subject

// noticeOf writes the mail of a cause. One fact is the subject; several are a list.
func noticeOf(m *notify.Mail, base, host string) *content {
	t := tongueOf(m.Locale)
	c := &content{Lang: t.lang}
	if m.Cause == "" {
		c.Subject, c.Lead, c.Button, c.Link = strings.ReplaceAll(t.testSubject, "{host}", host), t.testText, t.settings, base+"/settings/notifications"
		return c
	}
	page := pageOf(m.Facts)
	c.Button, c.Link = t.button(m.Cause, page), base+page
	for i := range m.Facts {
		title, text := t.fact(&m.Facts[i])
		c.Items = append(c.Items, item{title, text})
	}
	if len(c.Items) == 1 {
		c.Subject, c.Lead, c.Items = c.Items[0].Title, c.Items[0].Text, nil
	} else {
		c.Subject = t.several(m.Cause, len(c.Items))
	}
	why, in := t.why, ""
	if m.Account != "" {
		why, in = t.whyOrganization, "?account="+m.Account
		c.Link += map[bool]string{true: "&", false: "?"}[strings.Contains(page, "?")] + in[1:]
	}
	c.End = strings.ReplaceAll(why, "{host}", host)
	if m.Account == "" || m.Unsubscribe != "" { // billing people have no settings there
		c.Footer = []footnote{{t.settings, base + "/settings/notifications" + in}}
	}
	if m.Unsubscribe != "" {
		c.Footer = append(c.Footer, footnote{strings.ReplaceAll(t.stop, "{cause}", t.causes[m.Cause]), base + "/unsubscribe#" + m.Unsubscribe})
	}
	return c
}

// pageOf is the page where something can be done: that of the fact, or what those of several facts have in common.
func pageOf(facts []notify.Fact) string {
	page := facts[0].Page()
	for i := range facts {
		if facts[i].Page() != page {
			return "/" + notify.PageName(page)
		}
	}
	return page
}

// tongue is how a language says facts.
type tongue struct {
	lang                  string
	testSubject, testText string
	settings, stop, why   string
	whyOrganization       string
	causes, plural        map[notify.Cause]string
	point, percent        string // of numbers; after them
	months                []string
	said                  map[string]string // of facts
}

func tongueOf(locale string) *tongue {
	if locale == "ru" {
		return &russianTongue
	}
	return &englishTongue
}

// several is the subject of a mail with more than one fact.
func (t *tongue) several(c notify.Cause, n int) string {
	return strings.ReplaceAll(t.form(t.plural[c], n), "{n}", strconv.Itoa(n))
}

// form is the one of several forms that goes with a number.
func (t *tongue) form(words string, n int) string {
	forms := strings.Split(words, "|")
	form := min(max(n, 1)-1, 1)
	if t.lang == "ru" {
		form = russianForm(n)
	}
	return forms[min(form, len(forms)-1)]
}

// russianForm is which of "день, дня, дней" goes with a number.
func russianForm(n int) int {
	switch {
	case n%10 == 1 && n%100 != 11:
		return 0
	case n%10 >= 2 && n%10 <= 4 && (n%100 < 12 || n%100 > 14):
		return 1
	}
	return 2
}

// rubles writes an amount for people: with kopecks, and with all digits below one.
func rubles(n money.Nano, point string) string {
	const kopeck = money.Ruble / 100
	if n > -kopeck && n < kopeck && n != 0 {
		return strings.NewReplacer(".", point, "-", "−").Replace(n.String()) + " ₽"
	}
	sign := ""
	whole, part := n/money.Ruble, n%money.Ruble/kopeck // to zero: not more is said to be there than is
	if n < 0 {
		sign, whole, part = "−", -whole, -part
	}
	digits := strconv.FormatInt(int64(whole), 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "\u00a0" + digits[at:]
	}
	return sign + digits + point + strconv.FormatInt(int64(part)+100, 10)[1:] + "\u00a0₽"
}

// date writes a day, and moment a time of it, in UTC.
func (t *tongue) date(at time.Time) string {
	at = at.UTC()
	return strconv.Itoa(at.Day()) + "\u00a0" + t.months[at.Month()-1] + " " + strconv.Itoa(at.Year())
}

func (t *tongue) moment(at time.Time) string {
	return t.date(at) + ", " + at.UTC().Format("15:04") + " UTC"
}

// named is a name as a subject has it.
func named(f *notify.Fact) string {
	name := plain(f.Name)
	if name == "" {
		name = plain(f.Ref)
	}
	return clip(name, longestName)
}
