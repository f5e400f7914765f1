package paper

import (
	"strconv"
	"strings"
	"time"

	"weir/internal/ledger"
	"weir/internal/money"
)

// words are what is printed in one language.
type words struct {
	title, account, wallet, site, made, currency, rubles string
	opening, credited, debited, closing                  string
	date, what, debit, credit, balance                   string
	page, now, agrees, disagrees, utc                    string
	kinds, sources                                       map[string]string
	months                                               [12]string
	payBack                                              string
	calls                                                func(int64) string
	point                                                string
	spent, net, vat, gross, together                     string
	tax, untaxed, outOf                                  string
}

func wordsOf(language string) *words {
	if language == "ru" {
		return &russian
	}
	return &english
}

var english = words{ //nolint:gosec // no credentials, but what is credited
	title: "Statement of account", account: "Account", wallet: "Wallet", site: "Service", made: "Made", currency: "Currency", rubles: "Russian rubles (RUB)",
	opening: "Opening balance", credited: "Credited", debited: "Debited", closing: "Closing balance",
	date: "Date", what: "Entry", debit: "Debit, ₽", credit: "Credit, ₽", balance: "Balance, ₽",
	page: "Page %d of {n}", now: "On %s the balance was %s ₽, of it on hold %s ₽, available %s ₽.",
	agrees:    "Checked: all entries of the account from its beginning sum to its balance.",
	disagrees: "The entries of the account do not sum to its balance. The operator must look into it.",
	utc:       "Days are those of the time zone %s, times are UTC. A call belongs to the day on which it began. Amounts are exact, with all digits.",
	kinds:     map[string]string{ledger.TopUpKind: "Top-up", ledger.AdjustmentKind: "Adjustment", ledger.RefundKind: "Refund"},
	sources:   map[string]string{"voucher": "voucher", "yookassa": "YooKassa", "operator": "operator", "invoice": "invoice"},
	payBack:   "Returned to the payer",
	months:    [12]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"},
	calls: func(n int64) string {
		if n == 1 {
			return "1 call of models"
		}
		return grouped(strconv.FormatInt(n, 10)) + " calls of models"
	},
	point: ".",
	spent: "Calls less refunds", net: "Net, ₽", vat: "VAT, ₽", gross: "Gross, ₽", together: "Together",
	tax: "VAT", untaxed: "Without VAT", outOf: "of",
}

var russian = words{ //nolint:gosec // likewise
	title: "Выписка по счёту", account: "Аккаунт", wallet: "Кошелёк", site: "Сервис", made: "Составлена", currency: "Валюта", rubles: "российские рубли (RUB)",
	opening: "Остаток на начало", credited: "Зачислено", debited: "Списано", closing: "Остаток на конец",
	date: "Дата", what: "Запись", debit: "Списание, ₽", credit: "Зачисление, ₽", balance: "Остаток, ₽",
	page: "Страница %d из {n}", now: "На %s остаток %s ₽, из них в резерве %s ₽, доступно %s ₽.",
	agrees:    "Проверено: сумма всех записей аккаунта с его начала равна остатку.",
	disagrees: "Сумма записей аккаунта не равна остатку. Это должен проверить оператор.",
	utc:       "Дни указаны по часовому поясу %s, время — по UTC. Вызов относится к тому дню, в который он начался. Суммы точные, со всеми знаками.",
	kinds:     map[string]string{ledger.TopUpKind: "Пополнение", ledger.AdjustmentKind: "Корректировка", ledger.RefundKind: "Возврат"},
	sources:   map[string]string{"voucher": "ваучер", "yookassa": "ЮKassa", "operator": "оператор", "invoice": "счёт на оплату"},
	payBack:   "Возврат плательщику",
	months:    [12]string{"января", "февраля", "марта", "апреля", "мая", "июня", "июля", "августа", "сентября", "октября", "ноября", "декабря"},
	calls: func(n int64) string {
		word := "вызовов"
		switch {
		case n%10 == 1 && n%100 != 11:
			word = "вызов"
		case n%10 >= 2 && n%10 <= 4 && (n%100 < 12 || n%100 > 14):
			word = "вызова"
		}
		return grouped(strconv.FormatInt(n, 10)) + " " + word + " моделей"
	},
	point: ",",
	spent: "Вызовы за вычетом возвратов", net: "Без НДС, ₽", vat: "НДС, ₽", gross: "С НДС, ₽", together: "Всего",
	tax: "НДС", untaxed: "Без НДС", outOf: "из",
}

// space separates groups of digits and never breaks.
const space = "\u00a0"

// grouped puts a space between every three digits.
func grouped(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + space + digits[i:]
	}
	return digits
}

// amount writes rubles with all their digits, at least two after the point.
func (w *words) amount(n money.Nano) string {
	text, minus := strings.CutPrefix(n.String(), "-")
	whole, part, _ := strings.Cut(text, ".")
	for len(part) < 2 {
		part += "0"
	}
	text = grouped(whole) + w.point + part
	if minus {
		return "−" + text
	}
	return text
}

func (w *words) day(t time.Time) string {
	if w == &russian {
		return t.Format("02.01.2006")
	}
	return t.Format(time.DateOnly)
}

func (w *words) long(t time.Time) string {
	return strconv.Itoa(t.Day()) + space + w.months[t.Month()-1] + space + strconv.Itoa(t.Year())
}

func (w *words) period(from, to time.Time) string { return w.long(from) + " – " + w.long(to) }

func (w *words) moment(t time.Time) string {
	return w.long(t) + ", " + t.Format("15:04") + space + "UTC"
}
