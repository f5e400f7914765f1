package paper_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/invoice"
	"weir/internal/money"
	"weir/internal/plugin/pdf"
	"weir/internal/rate"
	"weir/internal/report/paper"
)

func TestInWords(t *testing.T) {
	t.Parallel()
	for n, want := range map[money.Nano]string{
		0: "Ноль рублей 00 копеек", 1: "Ноль рублей 01 копейка", 100: "Один рубль 00 копеек", 2_02: "Два рубля 02 копейки", 5_11: "Пять рублей 11 копеек", 11_12: "Одиннадцать рублей 12 копеек", 21_21: "Двадцать один рубль 21 копейка",
		101_00: "Сто один рубль 00 копеек", 1000_00: "Одна тысяча рублей 00 копеек", 2_002_54: "Две тысячи два рубля 54 копейки", 12_200_50: "Двенадцать тысяч двести рублей 50 копеек", 111_111_00: "Сто одиннадцать тысяч сто одиннадцать рублей 00 копеек",
		1_000_000_00: "Один миллион рублей 00 копеек", 22_001_015_99: "Двадцать два миллиона одна тысяча пятнадцать рублей 99 копеек", 1_000_000_000_00: "Один миллиард рублей 00 копеек",
		5_021_342_999_40: "Пять миллиардов двадцать один миллион триста сорок две тысячи девятьсот девяносто девять рублей 40 копеек",
	} {
		if got := paper.InWords(n * invoice.Kopeck); got != want {
			t.Errorf("%s: %s, want %s", n*invoice.Kopeck, got, want)
		}
	}
}

var (
	seller = invoice.Seller{Name: "ООО «Плотина»", INN: "0012345673", KPP: "001201001", Address: "119000, г. Москва, ул. Речная, д. 1", Bank: "АО «Речной банк», г. Москва", BIK: "000000225",
		Account: "40702810400000000018", Correspondent: "30101810300000000225", Director: "Иванова А. П.", Accountant: "Петров Б. В."}
	buyer  = invoice.Buyer{Name: "ООО «Ромашка»", INN: "0076543215", KPP: "007601001", Address: "143400, Московская обл., г. Красногорск, ул. Ленина, д. 5"}
	madeAt = time.Date(2026, 11, 24, 22, 30, 0, 0, time.UTC) // the 25th in Moscow
)

func billOf(v rate.VAT) *invoice.Invoice {
	i := &invoice.Invoice{ID: "inv_1", Number: "W-2026-17", State: invoice.Open, Buyer: buyer, Seller: seller, VAT: v, Line: "Доступ к моделям через API, аванс", Amount: 10_000 * money.Ruble, Total: 10_000 * money.Ruble, CreatedAt: madeAt, ExpiresAt: madeAt.AddDate(0, 0, 10)}
	switch v.Mode {
	case rate.Included:
		i.Tax = 1803_280_000_000
	case rate.OnTop:
		i.Tax, i.Total = 2200*money.Ruble, 12_200*money.Ruble
	}
	return i
}

func actOf() *invoice.Act {
	return &invoice.Act{ID: "act_1", Number: "A-2026-5", Month: "2026-10", Buyer: buyer, Seller: seller, VAT: rate.VAT{Mode: rate.Included, Percent: "22"}, Line: "Доступ к моделям через API", Opening: 1234_567_890_123, ToppedUp: 10_000 * money.Ruble,
		Spent: 1999_994_999_999, Closing: 9234_572_890_124, Before: 9_123_456, Amount: 2000 * money.Ruble, Tax: 360_660_000_000, Total: 2000 * money.Ruble, After: 4_123_455, MadeAt: madeAt}
}

// read prints a document twice, leaves it in a folder if that is wanted, and returns its text.
func read(t *testing.T, name string, made func() ([]byte, error)) string {
	t.Helper()
	b, err := made()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := made(); err != nil || !bytes.Equal(b, again) {
		t.Errorf("%s: printed twice it differs, %v", name, err)
	}
	if *keep != "" {
		if err := os.WriteFile(filepath.Join(*keep, name+".pdf"), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := pdf.Text(b, pdf.Default())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(text.Text), " ")
}

func says(t *testing.T, name, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, strings.Join(strings.Fields(w), " ")) {
			t.Errorf("%s does not say %q", name, w)
		}
	}
}

func TestInvoice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		v    rate.VAT
		want []string
	}{
		"invoice-included": {rate.VAT{Mode: rate.Included, Percent: "22"}, []string{"В том числе НДС 22 %: 1 803,28", "Всего к оплате: 10 000,00", "Десять тысяч рублей 00 копеек", "В т. ч. НДС 22 % 1803.28"}},
		"invoice-on-top":   {rate.VAT{Mode: rate.OnTop, Percent: "22.0"}, []string{"Итого: 10 000,00", "НДС 22 %: 2 200,00", "Всего к оплате: 12 200,00", "Двенадцать тысяч двести рублей 00 копеек"}},
		"invoice-none":     {rate.VAT{}, []string{"Без налога (НДС): —", "Всего к оплате: 10 000,00", "Без НДС»"}},
	} {
		i := billOf(c.v)
		text := read(t, name, func() ([]byte, error) { return paper.Invoice(i) })
		says(t, name, text, c.want...)
		says(t, name, text, "Счёт на оплату № W-2026-17 от 25 ноября 2026 г.", "БИК", "000000225", "40702810400000000018", "30101810300000000225", "ИНН 0012345673", "КПП 001201001", "Банк получателя", "АО «Речной банк», г. Москва",
			"ООО «Плотина», ИНН 0012345673, КПП 001201001, 119000, г. Москва", "ООО «Ромашка», ИНН 0076543215, КПП 007601001, 143400, Московская обл.", "Доступ к моделям через API, аванс", "Оплатить до 5 декабря 2026 г.",
			"Оплата по счёту № W-2026-17 от 25.11.2026.", "Руководитель", "Иванова А. П.", "Бухгалтер", "Петров Б. В.", "Всего наименований 1")
	}
	i := billOf(rate.VAT{})
	i.Buyer, i.Seller.INN, i.Seller.KPP, i.Seller.Accountant = invoice.Buyer{Name: "ИП Сидоров", INN: "001234567887", Address: "Москва"}, "001234567887", "", ""
	i.State, i.EndedAt = invoice.Cancelled, madeAt
	text := read(t, "invoice-sole", func() ([]byte, error) { return paper.Invoice(i) })
	says(t, "of a sole trader", text, "ИП Сидоров, ИНН 001234567887, Москва", "Предприниматель", "СЧЁТ ОТМЕНЁН 25 ноября 2026 г.")
	if strings.Contains(text, "Бухгалтер") || strings.Contains(text, "Код для оплаты") {
		t.Error("a cancelled invoice has a code, or an accountant who is not there")
	}
}

func TestPayload(t *testing.T) {
	t.Parallel()
	i := billOf(rate.VAT{})
	i.Seller.Name = "ООО «Плотина|Sum=1»" + strings.Repeat("я", 300)
	got := paper.Payload(i, "Оплата")
	want := "ST00012|Name=ООО «Плотина Sum=1»" + strings.Repeat("я", 160-19) + "|PersonalAcc=40702810400000000018|BankName=АО «Речной банк», г. Москва|BIC=000000225|CorrespAcc=30101810300000000225|PayeeINN=0012345673|KPP=001201001|Sum=1000000|Purpose=Оплата"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestAct(t *testing.T) {
	t.Parallel()
	text := read(t, "act", func() ([]byte, error) { return paper.Act(actOf()) })
	says(t, "the act", text, "Акт № A-2026-5 от 31 октября 2026 г.", "с 1 октября 2026 г. по 31 октября 2026 г.", "Исполнитель", "Заказчик", "Доступ к моделям через API за октябрь 2026 года", "В том числе НДС 22 %: 360,66", "Всего оказано услуг на сумму: 2 000,00",
		"Две тысячи рублей 00 копеек", "1 234,567890123", "10 000,00", "1 999,994999999", "9 234,572890124", "0,009123456", "0,004123455", "претензий", "ООО «Ромашка», ИНН 0076543215")
}

// hostile are names that people may save: everything that can be printed, as long as it may be.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `=HYPERLINK("http://evil","x")`, `) Tj ET Q (`, `\\(\\)\\`, `/JavaScript (app.alert(1))`, `%PDF-1.7 endobj`, `{nb}{n}`, `|Sum=1|`, "日本語の会社", "🏦🏦", "é̂", strings.Repeat("Щ", 300), strings.Repeat("сло во ", 42),
}

func TestHostileNames(t *testing.T) {
	t.Parallel()
	for _, name := range hostile {
		i, a := billOf(rate.VAT{}), actOf()
		i.Buyer.Name, i.Seller.Name, i.Seller.Bank, i.Seller.Director, i.Line = name, name, name, name, name
		i.Buyer.Address = strings.Repeat(name+" ", 500/len(name)+1)
		a.Buyer, a.Seller, a.Line = i.Buyer, i.Seller, name
		for what, made := range map[string]func() ([]byte, error){"invoice-hostile": func() ([]byte, error) { return paper.Invoice(i) }, "act-hostile": func() ([]byte, error) { return paper.Act(a) }} {
			b, err := made()
			if err != nil {
				t.Fatalf("%s of %q: %v", what, name, err)
			}
			if bytes.Contains(b, []byte("/JavaScript")) || bytes.Contains(b, []byte("/OpenAction")) || bytes.Contains(b, []byte("/URI")) {
				t.Errorf("%s of %q has an action", what, name)
			}
			says(t, what, read(t, what, made), i.Buyer.INN, "ИНН "+i.Seller.INN)
		}
	}
}
