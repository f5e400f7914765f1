package mail

import (
	"net/url"
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
	c := &content{Lang: t.lang, Button: t.buttons[m.Cause], Link: base + linkOf(m.Cause, m.Facts)}
	if m.Cause == "" {
		c.Subject, c.Lead, c.Button, c.Link = strings.ReplaceAll(t.testSubject, "{host}", host), t.testText, t.settings, base+"/settings/notifications"
		return c
	}
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
		c.Link += map[bool]string{true: "&", false: "?"}[strings.Contains(c.Link, "?")] + in[1:]
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

// linkOf is the page where something can be done.
func linkOf(c notify.Cause, facts []notify.Fact) string {
	switch c {
	case notify.KeyLimit, notify.KeyExpiry:
		return "/keys"
	case notify.ModelRetiring:
		if len(facts) == 1 {
			return "/models/" + facts[0].Ref
		}
		return "/models"
	case notify.Spending:
		if len(facts) == 1 && facts[0].Ref != "" {
			return "/activity?tag=" + strings.ReplaceAll(url.QueryEscape(facts[0].Ref), "+", "%20")
		}
		return "/activity"
	}
	return "/money"
}

// tongue is how a language says facts.
type tongue struct {
	lang                    string
	testSubject, testText   string
	settings, stop, why     string
	whyOrganization         string
	causes, buttons, plural map[notify.Cause]string
	point                   string
	by                      map[notify.GrowthBy]string
	months                  []string
	fact                    func(f *notify.Fact) (title, text string)
}

func tongueOf(locale string) *tongue {
	if locale == "ru" {
		return &russianTongue
	}
	return &englishTongue
}

// several is the subject of a mail with more than one fact.
func (t *tongue) several(c notify.Cause, n int) string {
	forms := strings.Split(t.plural[c], "|")
	form := 0
	if t.lang == "ru" {
		form = russianForm(n)
	}
	return strings.ReplaceAll(forms[min(form, len(forms)-1)], "{n}", strconv.Itoa(n))
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
func named(f *notify.Fact, left, right string) string {
	name := plain(f.Name)
	if name == "" {
		name = plain(f.Ref)
	}
	return left + clip(name, longestName) + right
}
