package mail

import (
	_ "embed"
	"strconv"
	"strings"

	"weir/internal/notify"
	"weir/internal/rawjson"
)

// What facts are called in mails, and by the web interface, which has the same files: a text with {places}, or its forms by the number {n}.
var (
	//go:embed facts.en.json
	factsEnglish []byte
	//go:embed facts.ru.json
	factsRussian []byte
)

var englishTongue = tongue{
	lang: "en", point: ".", percent: "%", said: sentences(factsEnglish),
	testSubject: "A test from {host}", testText: "Notifications by e-mail work.",
	settings: "Notification settings", stop: "Stop mails about {cause}", why: "You get this mail because you have an account at {host}. There is at most one of this kind a day.",
	whyOrganization: "You get this mail because you are an owner of an organization at {host}, or pay its bills. There is at most one of this kind a day.",
	causes: map[notify.Cause]string{
		notify.LowBalance: "low balance", notify.KeyLimit: "limits and budgets", notify.KeyExpiry: "expiring keys", notify.ModelRetiring: "retiring models", notify.Payment: "payments", notify.Spending: "unusual spending",
	},
	plural: map[notify.Cause]string{
		notify.LowBalance: "The wallet needs attention", notify.KeyLimit: "{n} limits and budgets are near their end", notify.KeyExpiry: "{n} keys expire", notify.ModelRetiring: "{n} models in use retire",
		notify.Payment: "{n} movements of money", notify.Spending: "{n} cases of unusual spending",
	},
	months: []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"},
}

var russianTongue = tongue{
	lang: "ru", point: ",", percent: "\u202f%", said: sentences(factsRussian),
	testSubject: "Проверка с {host}", testText: "Уведомления по почте работают.",
	settings: "Настройки уведомлений", stop: "Не присылать больше: {cause}", why: "Вы получили это письмо, потому что у вас есть аккаунт на {host}. Таких писем не больше одного в день.",
	whyOrganization: "Вы получили это письмо, потому что вы владелец организации на {host} или отвечаете за её платежи. Таких писем не больше одного в день.",
	causes: map[notify.Cause]string{
		notify.LowBalance: "остаток на исходе", notify.KeyLimit: "лимиты и бюджеты", notify.KeyExpiry: "истекающие ключи", notify.ModelRetiring: "уходящие модели", notify.Payment: "платежи", notify.Spending: "необычные расходы",
	},
	plural: map[notify.Cause]string{
		notify.LowBalance: "Кошелёк требует внимания", notify.KeyLimit: "Подходит к концу {n} лимит или бюджет|Подходят к концу {n} лимита и бюджета|Подходят к концу {n} лимитов и бюджетов", notify.KeyExpiry: "Истекает {n} ключ|Истекают {n} ключа|Истекают {n} ключей",
		notify.ModelRetiring: "Уходит {n} модель, которой вы пользуетесь|Уходят {n} модели, которыми вы пользуетесь|Уходят {n} моделей, которыми вы пользуетесь",
		notify.Payment:       "{n} движение денег|{n} движения денег|{n} движений денег", notify.Spending: "{n} случай необычных расходов|{n} случая необычных расходов|{n} случаев необычных расходов",
	},
	months: []string{"января", "февраля", "марта", "апреля", "мая", "июня", "июля", "августа", "сентября", "октября", "ноября", "декабря"},
}

// sentences reads a file of words. The forms of one are joined as russianForm counts them: "день|дня|дней", in English "day|days".
func sentences(file []byte) map[string]string {
	all := map[string]string{}
	for m := rawjson.MembersOf(file); m.Next(); {
		if rawjson.KindOf(m.Value) != rawjson.Object {
			all[string(m.Name)] = rawjson.Text(m.Value)
			continue
		}
		var forms []string
		for _, form := range []string{"one", "few", "many", "other"} {
			if v := rawjson.Find(m.Value, form); v != nil {
				forms = append(forms, rawjson.Text(v))
			}
		}
		all[string(m.Name)] = strings.Join(forms, "|")
	}
	return all
}

// fact says a fact: the title, and what else there is to say. The web interface chooses the same words (sentence in web/src/ui/fact.ts).
func (t *tongue) fact(f *notify.Fact) (title, text string) {
	kind, form := string(f.Kind), ""
	switch f.Kind {
	case notify.MoneyLow:
		form = [...]string{"", "_today", "_days"}[min(max(f.Days+1, 0), 2)]
	case notify.KeyReached, notify.BudgetReached:
		if f.Reset != "" {
			form = "_resets"
		}
	case notify.AgentOut:
		if f.Days > 0 {
			form = "_loop"
		}
	case notify.UnusualSpending:
		if f.Ref != "" {
			form = "_tag"
		}
	}
	places := t.places(f)
	say := func(names ...string) string {
		for _, name := range names {
			if words := t.said[name]; words != "" {
				return places.Replace(t.form(words, f.Days))
			}
		}
		return ""
	}
	return say(kind+form, kind), say(kind+form+"_text", kind+"_text")
}

func (t *tongue) places(f *notify.Fact) *strings.Replacer {
	sum := rubles(f.Amount, t.point)
	limit := sum
	if per := t.said["per_"+f.Reset]; per != "" {
		limit = strings.ReplaceAll(per, "{sum}", sum)
	}
	return strings.NewReplacer(
		"{sum}", sum, "{limit}", limit, "{spent}", rubles(f.Spent, t.point), "{usual}", rubles(f.Usual, t.point), "{percent}", strconv.FormatInt(f.Percent, 10)+t.percent,
		"{name}", named(f), "{ref}", plain(f.Ref), "{day}", t.date(f.At), "{at}", t.moment(f.At), "{n}", strconv.Itoa(f.Days), "{tools}", plain(f.Reset), "{grew}", t.grew(f),
	)
}

// grew lists what grew, "" where nothing did.
func (t *tongue) grew(f *notify.Fact) string {
	var all []string
	for i := range f.Grown {
		g := &f.Grown[i]
		usual := t.said["grew_nothing"]
		if g.Usual != 0 {
			usual = rubles(g.Usual, t.point)
		}
		all = append(all, strings.NewReplacer("{name}", clip(plain(g.Name), longestName), "{spent}", rubles(g.Spent, t.point), "{usual}", usual).Replace(t.said["grew_"+string(g.By)]))
	}
	if len(all) == 0 {
		return ""
	}
	return " " + strings.ReplaceAll(t.said["grew"], "{list}", strings.Join(all, "; "))
}

// button is what the link to the page of a fact is called.
func (t *tongue) button(c notify.Cause, page string) string {
	if c == notify.LowBalance {
		return t.said["to_top_up"]
	}
	return t.said["to_"+notify.PageName(page)]
}
