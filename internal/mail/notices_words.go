package mail

import (
	"strconv"
	"strings"

	"weir/internal/notify"
)

var englishTongue = tongue{
	lang: "en", point: ".",
	testSubject: "A test from {host}", testText: "Notifications by e-mail work.",
	settings: "Notification settings", stop: "Stop mails about {cause}", why: "You get this mail because you have an account at {host}. There is at most one of this kind a day.",
	whyOrganization: "You get this mail because you are an owner of an organization at {host}, or pay its bills. There is at most one of this kind a day.",
	causes: map[notify.Cause]string{
		notify.LowBalance: "low balance", notify.KeyLimit: "limits and budgets", notify.KeyExpiry: "expiring keys", notify.ModelRetiring: "retiring models", notify.Payment: "payments", notify.Spending: "unusual spending",
	},
	buttons: map[notify.Cause]string{
		notify.LowBalance: "Top up", notify.KeyLimit: "Open keys", notify.KeyExpiry: "Open keys", notify.ModelRetiring: "Open models", notify.Payment: "Open the statement", notify.Spending: "See what it went on",
	},
	plural: map[notify.Cause]string{
		notify.LowBalance: "The wallet needs attention", notify.KeyLimit: "{n} limits and budgets are near their end", notify.KeyExpiry: "{n} keys expire", notify.ModelRetiring: "{n} models in use retire",
		notify.Payment: "{n} movements of money", notify.Spending: "{n} cases of unusual spending",
	},
	by:     map[notify.GrowthBy]string{notify.ByTag: "tag {name}", notify.BySession: "session {name}", notify.ByKey: "key “{name}”"},
	months: []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"},
}

var russianTongue = tongue{
	lang: "ru", point: ",",
	testSubject: "Проверка с {host}", testText: "Уведомления по почте работают.",
	settings: "Настройки уведомлений", stop: "Не присылать больше: {cause}", why: "Вы получили это письмо, потому что у вас есть аккаунт на {host}. Таких писем не больше одного в день.",
	whyOrganization: "Вы получили это письмо, потому что вы владелец организации на {host} или отвечаете за её платежи. Таких писем не больше одного в день.",
	causes: map[notify.Cause]string{
		notify.LowBalance: "остаток на исходе", notify.KeyLimit: "лимиты и бюджеты", notify.KeyExpiry: "истекающие ключи", notify.ModelRetiring: "уходящие модели", notify.Payment: "платежи", notify.Spending: "необычные расходы",
	},
	buttons: map[notify.Cause]string{
		notify.LowBalance: "Пополнить", notify.KeyLimit: "Открыть ключи", notify.KeyExpiry: "Открыть ключи", notify.ModelRetiring: "Открыть модели", notify.Payment: "Открыть выписку", notify.Spending: "Посмотреть, на что ушло",
	},
	plural: map[notify.Cause]string{
		notify.LowBalance: "Кошелёк требует внимания", notify.KeyLimit: "Подходит к концу {n} лимит или бюджет|Подходят к концу {n} лимита и бюджета|Подходят к концу {n} лимитов и бюджетов", notify.KeyExpiry: "Истекает {n} ключ|Истекают {n} ключа|Истекают {n} ключей",
		notify.ModelRetiring: "Уходит {n} модель, которой вы пользуетесь|Уходят {n} модели, которыми вы пользуетесь|Уходят {n} моделей, которыми вы пользуетесь",
		notify.Payment:       "{n} движение денег|{n} движения денег|{n} движений денег", notify.Spending: "{n} случай необычных расходов|{n} случая необычных расходов|{n} случаев необычных расходов",
	},
	by:     map[notify.GrowthBy]string{notify.ByTag: "тег {name}", notify.BySession: "сессия {name}", notify.ByKey: "ключ «{name}»"},
	months: []string{"января", "февраля", "марта", "апреля", "мая", "июня", "июля", "августа", "сентября", "октября", "ноября", "декабря"},
}

func init() { englishTongue.fact, russianTongue.fact = englishFact, russianFact }

func englishFact(f *notify.Fact) (title, text string) {
	t := &englishTongue
	sum, key := rubles(f.Amount, "."), named(f, "Key “", "”")
	switch f.Kind {
	case notify.MoneyGone:
		return sum + " left: calls are refused", "The money of the wallet is used up. Top it up, and calls work again at once."
	case notify.MoneyLow:
		if f.Days < 0 {
			return sum + " left", "That is less than the amount that you chose."
		}
		return sum + " left, " + englishDays(f.Days), "That is how long it lasts if you go on spending as in the last seven days. Without money calls are refused."
	case notify.KeyNear:
		return key + " has used " + strconv.FormatInt(f.Percent, 10) + "% of its limit", rubles(f.Spent, ".") + " of " + sum + englishReset(f.Reset) + ". At the limit its calls are refused."
	case notify.KeyReached:
		return key + " has reached its limit", rubles(f.Spent, ".") + " of " + sum + englishReset(f.Reset) + ". Its calls are refused. Raise the limit" + map[bool]string{true: ".", false: ", or wait."}[f.Reset == ""]
	case notify.BudgetAlarm:
		return named(f, "Budget “", "”") + " has used " + strconv.FormatInt(f.Percent, 10) + "%", rubles(f.Spent, ".") + " of " + sum + englishReset(f.Reset) + "."
	case notify.BudgetReached:
		return named(f, "Budget “", "”") + " is used up", rubles(f.Spent, ".") + " of " + sum + englishReset(f.Reset) + ". Calls that do not fit are refused. Raise it" + map[bool]string{true: ".", false: ", or wait."}[f.Reset == ""]
	case notify.AgentOut:
		return named(f, "Agent “", "”") + " has spent its money", rubles(f.Spent, ".") + " of " + sum + ". Its calls are refused; other keys work." + repeated(f, " It asked for the same tools {n} times in a row: {tools}. That looks like a loop.")
	case notify.KeyExpiring:
		return key + " expires on " + t.date(f.At), "Its calls are refused from " + t.moment(f.At) + ". Make another key, or set a later time."
	case notify.KeyExpired:
		return key + " has expired", "Its calls are refused since " + t.moment(f.At) + "."
	case notify.ModelGone:
		return named(f, "Model ", " is gone"), "Nobody serves " + plain(f.Ref) + " since " + t.date(f.At) + ". Calls of it fail. Choose another model."
	case notify.ModelRetires:
		return named(f, "Model ", " retires on ") + t.date(f.At), "Nobody serves " + plain(f.Ref) + " from then on. You have used it in the last 30 days. Choose another model before."
	case notify.PaymentReceived:
		return sum + " received", "The payment " + plain(f.Ref) + " is in your wallet since " + t.moment(f.At) + "."
	case notify.PaymentRefunded:
		return sum + " refunded", "The refund " + plain(f.Ref) + " was paid back on " + t.moment(f.At) + "."
	case notify.TopUpFailed:
		return "Automatic top-up of " + sum + " failed", "The payment " + plain(f.Ref) + " was refused on " + t.moment(f.At) + ". Nothing was charged. Top up yourself, and check the payment method."
	case notify.UnusualSpending:
		title, text = sum+" in a day, usually about "+rubles(f.Usual, "."), "On "+t.date(f.At)+" far more was spent than usual."
		if f.Ref != "" {
			title, text = named(f, "", ": ")+title, "On "+t.date(f.At)+" far more was spent with this tag than usual."
		}
		return title, text + t.grew(f, " What grew: ", "{name}: {spent}, usually {usual}", "nothing") + " If that was not you, disable the key that spends."
	case notify.CacheRateFell:
		return "Only " + strconv.FormatInt(f.Percent, 10) + "% of prompts read from caches", "On " + t.date(f.At) + " less than half as much of your prompts was read from providers' caches as usual, and the rest cost the full price. The record of each call says why it read less: an earlier message that has changed, another endpoint, or a long pause."
	}
	return t.testText, ""
}

// grew lists what grew, "" where nothing did. each is the words for one of them, and nothing is what one usually costs that is new.
func (t *tongue) grew(f *notify.Fact, begin, each, nothing string) string {
	var all []string
	for i := range f.Grown {
		g := &f.Grown[i]
		name := strings.ReplaceAll(t.by[g.By], "{name}", clip(plain(g.Name), longestName))
		usual := nothing
		if g.Usual != 0 {
			usual = rubles(g.Usual, t.point)
		}
		all = append(all, strings.NewReplacer("{name}", name, "{spent}", rubles(g.Spent, t.point), "{usual}", usual).Replace(each))
	}
	if len(all) == 0 {
		return ""
	}
	return begin + strings.Join(all, "; ") + "."
}

// repeated says what an agent repeated, "" where it did not.
func repeated(f *notify.Fact, words string) string {
	if f.Days <= 0 {
		return ""
	}
	return strings.NewReplacer("{n}", strconv.Itoa(f.Days), "{tools}", plain(f.Reset)).Replace(words)
}

func englishDays(n int) string {
	switch n {
	case 0:
		return "less than a day"
	case 1:
		return "about 1 day"
	}
	return "about " + strconv.Itoa(n) + " days"
}

func englishReset(reset string) string {
	return map[string]string{"daily": " a day", "weekly": " a week", "monthly": " a month"}[reset]
}

func russianFact(f *notify.Fact) (title, text string) {
	t := &russianTongue
	sum, key := rubles(f.Amount, ","), named(f, "Ключ «", "»")
	switch f.Kind {
	case notify.MoneyGone:
		return "Осталось " + sum + ": вызовы отклоняются", "Деньги в кошельке закончились. Пополните его, и вызовы сразу заработают."
	case notify.MoneyLow:
		if f.Days < 0 {
			return "Осталось " + sum, "Это меньше суммы, которую вы выбрали."
		}
		return "Осталось " + sum + ", " + russianDays(f.Days), "Столько они продержатся, если тратить как в последние семь дней. Без денег вызовы отклоняются."
	case notify.KeyNear:
		return key + ": израсходовано " + strconv.FormatInt(f.Percent, 10) + "\u00a0% лимита", rubles(f.Spent, ",") + " из " + sum + russianReset(f.Reset) + ". На лимите его вызовы отклоняются."
	case notify.KeyReached:
		return key + ": лимит исчерпан", rubles(f.Spent, ",") + " из " + sum + russianReset(f.Reset) + ". Его вызовы отклоняются. Поднимите лимит" + map[bool]string{true: ".", false: " или подождите."}[f.Reset == ""]
	case notify.BudgetAlarm:
		return named(f, "Бюджет «", "»") + ": израсходовано " + strconv.FormatInt(f.Percent, 10) + "\u00a0%", rubles(f.Spent, ",") + " из " + sum + russianReset(f.Reset) + "."
	case notify.BudgetReached:
		return named(f, "Бюджет «", "»") + " исчерпан", rubles(f.Spent, ",") + " из " + sum + russianReset(f.Reset) + ". Вызовы, которые в него не помещаются, отклоняются. Увеличьте его" + map[bool]string{true: ".", false: " или подождите."}[f.Reset == ""]
	case notify.AgentOut:
		return named(f, "Агент «", "»") + " потратил свои деньги", rubles(f.Spent, ",") + " из " + sum + ". Его вызовы отклоняются, остальные ключи работают." + repeated(f, " Он {n} "+strings.Split("раз|раза|раз", "|")[russianForm(f.Days)]+" подряд вызвал одни и те же инструменты: {tools}. Похоже на зацикливание.")
	case notify.KeyExpiring:
		return key + " истекает " + t.date(f.At), "Его вызовы будут отклоняться с " + t.moment(f.At) + ". Создайте другой ключ или продлите этот."
	case notify.KeyExpired:
		return key + " истёк", "Его вызовы отклоняются с " + t.moment(f.At) + "."
	case notify.ModelGone:
		return named(f, "Модели ", " больше нет"), "С " + t.date(f.At) + " никто не обслуживает " + plain(f.Ref) + ". Её вызовы завершаются ошибкой. Выберите другую модель."
	case notify.ModelRetires:
		return named(f, "Модель ", " уходит ") + t.date(f.At), "С этого дня никто не обслуживает " + plain(f.Ref) + ". Вы пользовались ею в последние 30 дней. Выберите другую модель заранее."
	case notify.PaymentReceived:
		return "Получено " + sum, "Платёж " + plain(f.Ref) + " в вашем кошельке с " + t.moment(f.At) + "."
	case notify.PaymentRefunded:
		return "Возвращено " + sum, "Возврат " + plain(f.Ref) + " выплачен " + t.moment(f.At) + "."
	case notify.TopUpFailed:
		return "Автопополнение на " + sum + " не прошло", "Платёж " + plain(f.Ref) + " отклонён " + t.moment(f.At) + ". Ничего не списано. Пополните кошелёк сами и проверьте способ оплаты."
	case notify.UnusualSpending:
		title, text = sum+" за день, обычно около "+rubles(f.Usual, ","), "За "+t.date(f.At)+" потрачено намного больше обычного."
		if f.Ref != "" {
			title, text = named(f, "", ": ")+title, "За "+t.date(f.At)+" с этим тегом потрачено намного больше обычного."
		}
		return title, text + t.grew(f, " Выросло: ", "{name}: {spent}, обычно {usual}", "ничего") + " Если это были не вы, отключите ключ, который тратит."
	case notify.CacheRateFell:
		return "Из кэша прочитано только " + strconv.FormatInt(f.Percent, 10) + "\u202f% промптов", "За " + t.date(f.At) + " из кэша провайдеров прочитано меньше половины обычной доли промптов, а остальное оплачено по полной цене. Причина видна в записи каждого вызова: изменилось прежнее сообщение, ответила другая точка или пауза была долгой."
	}
	return t.testText, ""
}

func russianDays(n int) string {
	if n == 0 {
		return "меньше чем на день"
	}
	return "примерно на " + strconv.Itoa(n) + "\u00a0" + strings.Split("день|дня|дней", "|")[russianForm(n)]
}

func russianReset(reset string) string {
	return map[string]string{"daily": " в день", "weekly": " в неделю", "monthly": " в месяц"}[reset]
}
