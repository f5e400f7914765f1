package alert

import (
	"strconv"
	"strings"
	"time"
)

// words are what messages of a language say. In texts {s} is the subject, {v} the value, {l} the limit, {f} failed attempts of {c} in {m} minutes,
// {d} what the console says.
type words struct {
	subjects map[Kind]string // what is not well, in some words: the title
	texts    map[Kind]string // with numbers, and what it does
	remedies map[Kind]string
	checks   map[string][3]string // of Money: subject, text, remedy
	gone     [3]string            // of a node: likewise
	out      [3]string            // of what an operator took out of service: likewise, {d} his reason
	targets  map[string]string    // what {s} of that is
	ends     map[End]string
	lasts    string // before the title of what lasts
	over     string
	since    string // {t}, for {n}
	lasted   string
	months   []string
	units    [3]string // days, hours, minutes
	button   map[What]string
	summary  string // {n} messages
	more     string
	test     [2]string
}

// mostLines is how many messages a summary names.
const mostLines = 15

func wordsOf(language string) *words {
	if language == "ru" {
		return &russian
	}
	return &english
}

// pages are where something can be done, by kind.
var pages = map[Kind]string{
	Provider: "/admin/providers", Endpoint: "/admin/endpoints", Ejected: "/admin/endpoints", Money: "/admin/ledger", Prices: "/admin/catalog", Rate: "/admin/catalog", Certificate: "/admin", Disk: "/admin",
	Journal: "/admin", Nodes: "/admin",
}

// compose writes a post of messages.
func (m *Manager) compose(c *Channel, what What, parts []Message) *Post {
	t, base := wordsOf(c.Language), m.Base()
	p := &Post{What: what, Parts: parts, Link: base + "/admin/alerts", Button: t.button[Summary]}
	switch what {
	case Test:
		p.Title, p.Text = t.test[0], t.test[1]
	case Summary:
		p.Title = strings.ReplaceAll(t.summary, "{n}", strconv.Itoa(len(parts)))
		var lines []string
		for i := range parts[:min(len(parts), mostLines)] {
			lines = append(lines, "• "+t.title(parts[i].What, &parts[i].Incident, m.Names)+", "+t.moment(parts[i].At))
		}
		if left := len(parts) - mostLines; left > 0 {
			lines = append(lines, strings.ReplaceAll(t.more, "{n}", strconv.Itoa(left)))
		}
		p.Text = strings.Join(lines, "\n")
	default:
		i := &parts[0].Incident
		p.Title, p.Text = t.title(what, i, m.Names), t.text(what, i, m.Names, parts[0].At)
		p.Link, p.Button = base+pages[i.Kind], t.button[what]
		if i.Kind == Money && i.Subject == "audit" {
			p.Link = base + "/admin/audit"
		}
	}
	return p
}

// of are the title, the text and the remedy of an incident.
func (t *words) of(i *Incident) [3]string {
	switch {
	case i.Kind == Money:
		return t.checks[i.Subject]
	case i.Kind == Nodes && i.Detail == "":
		return t.gone
	case i.Kind == Ejected && byHand(i.Subject):
		return t.out
	}
	return [3]string{t.subjects[i.Kind], t.texts[i.Kind], t.remedies[i.Kind]}
}

func (t *words) fill(text string, i *Incident, names func(Kind, string) string) string {
	subject := names(i.Kind, i.Subject)
	if subject == "" {
		subject = i.Subject
	}
	if i.Kind == Ejected && byHand(i.Subject) {
		what, id, _ := strings.Cut(i.Subject, ":")
		subject = t.targets[what] + " " + id
	}
	if i.Detail == "" {
		text = strings.ReplaceAll(text, " ({d})", "")
	}
	return strings.NewReplacer("{s}", subject, "{v}", strconv.Itoa(i.Value), "{l}", strconv.Itoa(i.Limit), "{f}", strconv.FormatInt(i.Failed, 10), "{c}", strconv.FormatInt(i.Calls, 10),
		"{m}", strconv.Itoa(i.Minutes), "{d}", strings.TrimSuffix(i.Detail, ".")).Replace(text)
}

func (t *words) title(what What, i *Incident, names func(Kind, string) string) string {
	title := t.fill(t.of(i)[0], i, names)
	switch what {
	case Lasts:
		return t.lasts + title
	case Over:
		return t.over + title
	}
	return title
}

func (t *words) text(what What, i *Incident, names func(Kind, string) string, at time.Time) string {
	span := func(text string, from, to time.Time) string {
		return strings.NewReplacer("{t}", t.moment(from), "{n}", t.length(to.Sub(from))).Replace(text)
	}
	of := t.of(i)
	if what == Over {
		return t.ends[i.Why] + "\n" + span(t.lasted, i.BeganAt, i.EndedAt)
	}
	return t.fill(of[1], i, names) + "\n" + span(t.since, i.BeganAt, at) + "\n" + t.fill(of[2], i, names)
}

func (t *words) moment(at time.Time) string {
	at = at.UTC()
	return strconv.Itoa(at.Day()) + " " + t.months[at.Month()-1] + " " + at.Format("15:04") + " UTC"
}

func (t *words) length(d time.Duration) string {
	minutes := int(max(d, 0).Minutes())
	days, hours := minutes/(24*60), minutes/60%24
	switch {
	case days > 0:
		return strconv.Itoa(days) + " " + t.units[0] + " " + strconv.Itoa(hours) + " " + t.units[1]
	case hours > 0:
		return strconv.Itoa(hours) + " " + t.units[1] + " " + strconv.Itoa(minutes%60) + " " + t.units[2]
	}
	return strconv.Itoa(minutes) + " " + t.units[2]
}

var english = words{
	subjects: map[Kind]string{
		Provider: "Provider {s} fails", Endpoint: "Endpoint {s} fails", Ejected: "Endpoint {s} gets no calls", Prices: "The price list is {v} days old", Rate: "The exchange rate is {v} days old",
		Certificate: "The certificate of node {s} ends in {v} days", Disk: "The disk of node {s} is {v} % full", Journal: "The database does not take charges", Nodes: "Node {s} differs",
	},
	texts: map[Kind]string{
		Provider:    "{f} of {c} attempts at it failed within {m} minutes, {v} %; the limit is {l} %. Calls go to other providers of the same models; where there are none, they fail.",
		Endpoint:    "{f} of {c} attempts at it failed within {m} minutes, {v} %; the limit is {l} %. Calls go to other endpoints of the model; where there are none, they fail.",
		Ejected:     "It failed too often in a row, for {l} minutes and more. Of the {c} calls an hour that it served, {v} go to other endpoints, and {f} fail because there are none.",
		Prices:      "It is of {d}; the limit is {l} days. Calls are charged by it, also where providers have changed their prices.",
		Rate:        "The last one that could be fetched is {d}; the limit is {l} days. Calls are charged by it.",
		Certificate: "The limit is {l} days: its renewal has failed. When it has ended, clients refuse to connect.",
		Disk:        "The limit is {l} %. When no room is left, the node refuses all new calls.",
		Journal:     "{v} MiB of charges wait in the journals of the nodes; the limit is {l} MiB. They are safe there, but balances lag, and in the end calls are refused.",
		Nodes:       "It serves something else than the others: {d}. What a client gets depends on the node that it reaches.",
	},
	remedies: map[Kind]string{
		Provider:    "What to do: test its keys. If the provider is down, take it out of service, which spares calls the wait.",
		Endpoint:    "What to do: test it. If it is down, take it out of service, which spares calls the wait.",
		Ejected:     "It is tried again by itself, one call at a time. What to do: test it, and look at what the provider says.",
		Prices:      "What to do: look at the draft of prices and publish it, or run: weir catalog update",
		Rate:        "What to do: look in the log why it cannot be fetched; set one by hand meanwhile.",
		Certificate: "What to do: put a renewed certificate into its files; with ACME, look in the log why the authority refuses.",
		Disk:        "What to do: free room on the volume of data_dir, but delete nothing in journal/.",
		Journal:     "What to do: look whether the database runs and has room (weir doctor). It catches up by itself. Delete nothing in journal/.",
		Nodes:       "What to do: give all nodes the same program and settings.",
	},
	checks: map[string][3]string{
		"ledger": {"The ledger does not balance", "{d}. Balances of accounts may be wrong.", "What to do: run weir ledger verify, which says where, and keep a backup of the database as it is."},
		"aside":  {"{v} charges are set aside", "The database did not take them, because a wallet or a record is not as expected. Calls go on.", "What to do: decide about each; weir ledger aside list names the reasons."},
		"audit":  {"The audit log was changed", "{d}. What it says before and after that place cannot be relied on.", "What to do: compare it with a backup, and find out who had access to the database."},
	},
	gone:    [3]string{"Node {s} is gone", "It gives no sign of life, and has not said that it ends. Clients that reach it get no answer; money that it borrowed is free again after a minute.", "What to do: look whether its process runs, and at the end of its log."},
	out:     [3]string{"Out of service: {s}", "An operator took it out of service ({d}). Of the {c} calls an hour that it served, {v} go to other endpoints, and {f} fail because there are none.", "What to do: return it to service when its reason is over."},
	targets: map[string]string{"provider": "provider", "endpoint": "endpoint", "model": "model"},
	ends:    map[End]string{Fine: "All is well again.", Quiet: "Nothing has been heard of it for an hour: there were too few calls, or it is no longer there.", Off: "Its rule was switched off."},
	lasts:   "Still: ",
	over:    "Over: ",
	since:   "Since {t}, for {n}.",
	lasted:  "It began {t} and lasted {n}.",
	months:  []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"},
	units:   [3]string{"d", "h", "min"},
	button:  map[What]string{Began: "Act", Lasts: "Act", Over: "Look", Summary: "All alerts"},

	summary: "{n} more alerts within an hour",
	more:    "and {n} more",
	test:    [2]string{"A test of alerts", "If you read this, alerts of this gateway arrive here."},
}

var russian = words{
	subjects: map[Kind]string{
		Provider: "Провайдер {s} сбоит", Endpoint: "Точка {s} сбоит", Ejected: "Точка {s} не получает вызовов", Prices: "Прайс-листу {v} дн.", Rate: "Курсу {v} дн.",
		Certificate: "Сертификат узла {s} истекает через {v} дн.", Disk: "Диск узла {s} заполнен на {v} %", Journal: "База не принимает списания", Nodes: "Узел {s} отличается",
	},
	texts: map[Kind]string{
		Provider:    "За {m} мин не удались {f} из {c} попыток, {v} %; порог {l} %. Вызовы идут к другим провайдерам тех же моделей, а где их нет, завершаются ошибкой.",
		Endpoint:    "За {m} мин не удались {f} из {c} попыток, {v} %; порог {l} %. Вызовы идут к другим точкам модели, а где их нет, завершаются ошибкой.",
		Ejected:     "Она слишком часто сбоила подряд, уже {l} мин или дольше. Из {c} вызовов в час, которые она обслуживала, {v} идут к другим точкам, а {f} завершаются ошибкой: других нет.",
		Prices:      "Он от {d}; порог {l} дн. Вызовы оплачиваются по нему, даже если провайдеры изменили цены.",
		Rate:        "Последний полученный: {d}; порог {l} дн. Вызовы оплачиваются по нему.",
		Certificate: "Порог {l} дн.: продлить его не удалось. Когда он истечёт, клиенты не смогут подключиться.",
		Disk:        "Порог {l} %. Когда место кончится, узел откажет всем новым вызовам.",
		Journal:     "В журналах узлов ждут {v} МиБ списаний; порог {l} МиБ. Они в сохранности, но балансы отстают, а в конце концов вызовам будет отказано.",
		Nodes:       "Он обслуживает не так, как другие: {d}. Ответ клиенту зависит от того, на какой узел он попал.",
	},
	remedies: map[Kind]string{
		Provider:    "Что делать: проверьте ключи. Если провайдер недоступен, выведите его из работы: вызовы не будут его ждать.",
		Endpoint:    "Что делать: проверьте её. Если она недоступна, выведите её из работы: вызовы не будут её ждать.",
		Ejected:     "К ней снова и снова направляют по одному пробному вызову. Что делать: проверьте её и посмотрите, что отвечает провайдер.",
		Prices:      "Что делать: посмотрите черновик цен и опубликуйте его или выполните: weir catalog update",
		Rate:        "Что делать: посмотрите в логе, почему курс не удаётся получить; пока задайте его вручную.",
		Certificate: "Что делать: положите в файлы продлённый сертификат; с ACME посмотрите в логе, почему центр отказывает.",
		Disk:        "Что делать: освободите место на томе data_dir, но ничего не удаляйте в journal/.",
		Journal:     "Что делать: проверьте, работает ли база и есть ли у неё место (weir doctor). Она догонит сама. Ничего не удаляйте в journal/.",
		Nodes:       "Что делать: дайте всем узлам одну программу и одни настройки.",
	},
	checks: map[string][3]string{
		"ledger": {"Книга не сходится", "{d}. Балансы аккаунтов могут быть неверны.", "Что делать: выполните weir ledger verify, он скажет, где; сохраните копию базы как есть."},
		"aside":  {"Отложено списаний: {v}", "База их не приняла: кошелёк или запись не такие, как ожидалось. Вызовы продолжаются.", "Что делать: решите по каждому; weir ledger aside list называет причины."},
		"audit":  {"Журнал аудита изменён", "{d}. На него нельзя полагаться вокруг этого места.", "Что делать: сравните его с резервной копией и выясните, у кого был доступ к базе."},
	},
	gone:    [3]string{"Узел {s} пропал", "Он не подаёт признаков жизни и не сообщал об остановке. Клиенты, которые попадают на него, не получают ответа; занятые им деньги освобождаются через минуту.", "Что делать: проверьте, работает ли его процесс, и посмотрите конец лога."},
	out:     [3]string{"Не в работе: {s}", "Выведено из работы вручную ({d}). Из {c} вызовов в час {v} идут к другим точкам, а {f} завершаются ошибкой: других нет.", "Что делать: верните в работу, когда причина отпадёт."},
	targets: map[string]string{"provider": "провайдер", "endpoint": "точка", "model": "модель"},
	ends:    map[End]string{Fine: "Всё снова в порядке.", Quiet: "Час ничего не известно: было слишком мало вызовов, или этого больше нет.", Off: "Правило выключено."},
	lasts:   "Всё ещё: ",
	over:    "Прошло: ",
	since:   "С {t}, длится {n}.",
	lasted:  "Началось {t} и длилось {n}.",
	months:  []string{"января", "февраля", "марта", "апреля", "мая", "июня", "июля", "августа", "сентября", "октября", "ноября", "декабря"},
	units:   [3]string{"сут", "ч", "мин"},
	button:  map[What]string{Began: "Исправить", Lasts: "Исправить", Over: "Посмотреть", Summary: "Все оповещения"},

	summary: "Ещё оповещений за час: {n}",
	more:    "и ещё {n}",
	test:    [2]string{"Проверка оповещений", "Если вы это читаете, оповещения этого шлюза сюда доходят."},
}
