package invoice_test

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/charmap"
	"pgregory.net/rapid"

	"weir/internal/fault"
	"weir/internal/invoice"
	"weir/internal/money"
	"weir/internal/rate"
)

func TestINN(t *testing.T) {
	t.Parallel()
	for _, inn := range []string{"0012345673", "0076543215", "001234567887", "0002003007"} {
		if err := invoice.CheckINN(inn); err != nil {
			t.Errorf("%s: %v", inn, err)
		}
		for i := range inn { // every wrong digit is found
			for d := byte('0'); d <= '9'; d++ {
				wrong := inn[:i] + string(d) + inn[i+1:]
				if wrong != inn && invoice.CheckINN(wrong) == nil && len(inn) == 12 {
					t.Errorf("%s for %s", wrong, inn)
				}
			}
		}
	}
	for _, inn := range []string{"", "0", "0000000000", "000000000000", "0012345674", "001234567", "00123456730", "500100732250", "500100732269", "00123456９3", "0012345673 ", "-707083893", strings.Repeat("1", 1000)} {
		if err := invoice.CheckINN(inn); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", inn, err)
		}
	}
}

func TestBuyers(t *testing.T) {
	t.Parallel()
	company := invoice.Buyer{Name: " ООО  «Ромашка»\n", INN: " 0012345673 ", KPP: "0012ab001", Address: "Москва"}
	b := company
	if err := b.Check(); err != nil || b != (invoice.Buyer{Name: "ООО «Ромашка»", INN: "0012345673", KPP: "0012AB001", Address: "Москва"}) {
		t.Errorf("%+v, %v", b, err)
	}
	for field, changes := range map[string][]func(*invoice.Buyer){
		"name":    {func(b *invoice.Buyer) { b.Name = " " }, func(b *invoice.Buyer) { b.Name = "a\x00b" }, func(b *invoice.Buyer) { b.Name = "a\u202eb" }, func(b *invoice.Buyer) { b.Name = "\xff" }, func(b *invoice.Buyer) { b.Name = strings.Repeat("я", 301) }},
		"inn":     {func(b *invoice.Buyer) { b.INN = "1" }, func(b *invoice.Buyer) { b.INN = "" }},
		"kpp":     {func(b *invoice.Buyer) { b.KPP = "" }, func(b *invoice.Buyer) { b.KPP = "00120100" }, func(b *invoice.Buyer) { b.KPP = "7707АБ001" }, func(b *invoice.Buyer) { b.KPP = "001201A01" }, func(b *invoice.Buyer) { b.INN = "001234567887" }},
		"address": {func(b *invoice.Buyer) { b.Address = "" }, func(b *invoice.Buyer) { b.Address = strings.Repeat("я", 501) }},
	} {
		for i, change := range changes {
			b := company
			change(&b)
			if err := b.Check(); !fault.Is(err, fault.Invalid) || fault.From(err).Param != field {
				t.Errorf("%s, %d: %v", field, i, err)
			}
		}
	}
	sole := invoice.Buyer{Name: "ИП Сидоров", INN: "001234567887", Address: "Москва"}
	if err := sole.Check(); err != nil {
		t.Error(err)
	}
}

var seller = invoice.Seller{Name: "ООО «Плотина»", INN: "0012345673", KPP: "001201001", Address: "Москва", Bank: "АО «Речной банк»", BIK: "000000225", Account: "40702810400000000018", Correspondent: "30101810300000000225",
	Director: "Иванова А. П."}

func TestSellers(t *testing.T) {
	t.Parallel()
	s := seller
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	for field, changes := range map[string][]func(*invoice.Seller){
		"inn": {func(s *invoice.Seller) { s.INN = "0012345674" }}, "bank": {func(s *invoice.Seller) { s.Bank = "" }}, "bik": {func(s *invoice.Seller) { s.BIK = "00000022" }, func(s *invoice.Seller) { s.BIK = "" }},
		"account":               {func(s *invoice.Seller) { s.Account = "40702810500000000018" }, func(s *invoice.Seller) { s.Account = "4070281040000000001" }, func(s *invoice.Seller) { s.BIK = "000000226" }},
		"correspondent_account": {func(s *invoice.Seller) { s.Correspondent = "30101810500000000225" }, func(s *invoice.Seller) { s.Correspondent = "" }},
		"director":              {func(s *invoice.Seller) { s.Director = "" }},
	} {
		for i, change := range changes {
			s := seller
			change(&s)
			if err := s.Check(); !fault.Is(err, fault.Invalid) || fault.From(err).Param != field {
				t.Errorf("%s, %d: %v", field, i, err)
			}
		}
	}
}

// What a sum is worth never falls when it grows, and the total of an invoice is worth its amount, for every tax.
func TestTax(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode, percent      string
		amount, tax, total money.Nano // kopecks
	}{{"", "", 12_200_00, 0, 12_200_00}, {rate.Included, "22", 12_200_00, 2_200_00, 12_200_00}, {rate.OnTop, "22", 10_000_00, 2_200_00, 12_200_00}, {rate.Included, "22", 1, 0, 1}, {rate.OnTop, "50", 1, 1, 2}, {rate.OnTop, "7.5", 99_99, 7_50, 107_49}, {rate.Included, "0.7", 100_00, 70, 100_00}} {
		total, tax := invoice.Charge(rate.VAT{Mode: c.mode, Percent: c.percent}, c.amount*invoice.Kopeck)
		if total != c.total*invoice.Kopeck || tax != c.tax*invoice.Kopeck {
			t.Errorf("%s %s of %d: %s with %s", c.mode, c.percent, c.amount, total, tax)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rate.VAT{Mode: rapid.SampledFrom([]string{"", rate.Included, rate.OnTop}).Draw(t, "mode"), Percent: rapid.SampledFrom([]string{"22", "20", "10", "5", "7", "0.7", "100", "33.333"}).Draw(t, "percent")}
		amount := money.Nano(rapid.Int64Range(1, 100_000_000_00).Draw(t, "amount")) * invoice.Kopeck
		total, tax := invoice.Charge(v, amount)
		if got := invoice.Worth(v, total); got != amount {
			t.Fatalf("%+v: %s is charged as %s, which is worth %s", v, amount, total, got)
		}
		// half of one kopeck is rounded to all of it
		if tax < 0 || tax >= total && !(v.Percent == "100" && total == invoice.Kopeck) {
			t.Fatalf("a tax of %s in %s", tax, total)
		}
		part := money.Nano(rapid.Int64Range(0, int64(total/invoice.Kopeck)).Draw(t, "part")) * invoice.Kopeck
		if a, b := invoice.Worth(v, part), invoice.Worth(v, part+invoice.Kopeck); a > b || b > a+invoice.Kopeck || a > part {
			t.Fatalf("%s is worth %s, a kopeck more %s", part, a, b)
		}
	})
}

// Whatever a month brings, acts and what is carried on are what was spent.
func TestActsAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var spent, acted money.Nano
		start := invoice.Sums{Spent: 5}
		c := invoice.Closing{First: "2026-01", Base: start}
		for k := range rapid.IntRange(1, 12).Draw(t, "months") {
			n := money.Nano(rapid.Int64Range(-2e9, 5e9).Draw(t, "spent"))
			late := money.Nano(rapid.Int64Range(0, 1e8).Draw(t, "late"))
			c.Start, c.End = invoice.Sums{Spent: start.Spent + spent + late}, invoice.Sums{Spent: start.Spent + spent + late + n}
			spent += late + n
			a := invoice.Act{Month: time.Date(2026, time.Month(1+k), 1, 0, 0, 0, 0, time.UTC).Format("2006-01")}
			made, err := invoice.CloseMonth(&a, &c)
			if err != nil {
				t.Fatal(err)
			}
			if !made {
				if spent-acted >= invoice.Kopeck {
					t.Fatalf("no act for %s", spent-acted)
				}
				continue
			}
			acted += a.Amount
			if a.Amount <= 0 || a.Amount%invoice.Kopeck != 0 || a.After != spent-acted || a.After < 0 || a.After >= invoice.Kopeck || a.Before+a.Spent != a.Amount+a.After {
				t.Fatalf("%+v; %s was spent and acts are %s", a, spent, acted)
			}
			c.Last, c.Acted = a.Month, acted
		}
	})
}

func TestNumbersIn(t *testing.T) {
	t.Parallel()
	for purpose, want := range map[string]string{
		"Оплата по счёту № W-2026-17 от 25.11.2026": "W-2026-17", "w-2026-17": "W-2026-17", "W - 2026 - 17": "W-2026-17", "сч.W–2026–17.": "W-2026-17", "№W-2026-0017": "W-2026-17", "W-2026-17, W-2026-17": "W-2026-17",
		"W-2026-17 и W-2026-18": "W-2026-17 W-2026-18", "": "", "W-2026-": "", "W-26-17": "", "W-2026-0": "", "XW-2026-17": "", "1W-2026-17": "", "W-2026-17A": "", "W-20261-17": "", "W2026-17": "", "Оплата 2026-17": "",
		"W-2026-99999999999999999999": "", "договор 12-W-2026-5/1": "W-2026-5", strings.Repeat("W-", 400): "",
	} {
		if got := strings.Join(invoice.NumbersIn(purpose, "W-"), " "); got != want {
			t.Errorf("%q: %q, want %q", purpose, got, want)
		}
	}
	if got := invoice.NumbersIn("счет СНТ-2026-5", "CHT-"); len(got) != 1 || got[0] != "CHT-2026-5" {
		t.Errorf("Cyrillic letters of the same form: %q", got)
	}
}

const statement = "1CClientBankExchange\r\nВерсияФормата=1.03\r\nКодировка=Windows\r\nСекцияРасчСчет\r\nНачальныйОстаток=10.00\r\nКонецРасчСчет\r\nСекцияДокумент=Платежное поручение\r\nНомер=0017\r\nДата=24.11.2026\r\nСумма=12200.50\r\n" +
	"ПлательщикСчет=40702810500000000001\r\nПлательщик=ИНН 0012345673 ООО \"Ромашка\"\r\nПлательщик1=ООО \"Ромашка\"\r\nПлательщикИНН=0012345673\r\nПолучательРасчСчет=40702810400000000018\r\nДатаПоступило=25.11.2026\r\nНазначениеПлатежа1=Оплата по\r\n" +
	"НазначениеПлатежа2=счету W-2026-17\r\nКонецДокумента\r\nКонецФайла\r\n"

func TestReadStatement(t *testing.T) {
	t.Parallel()
	encoded := func(c *charmap.Charmap) string {
		s, err := c.NewEncoder().String(statement)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, file := range map[string]string{"UTF-8": statement, "with a mark": "\ufeff" + statement, "windows-1251": encoded(charmap.Windows1251), "866": encoded(charmap.CodePage866), "other line ends": strings.ReplaceAll(statement, "\r\n", "\n")} {
		all, err := invoice.ReadStatement([]byte(file))
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %d, %v", name, len(all), err)
		}
		d := all[0]
		if d.Kind != "Платежное поручение" || d.Number != "17" || d.Amount != 12_200_500_000_000 || d.Date.Format(time.DateOnly) != "2026-11-24" || d.Arrived.Format(time.DateOnly) != "2026-11-25" || d.PayerINN != "0012345673" ||
			d.PayerName != `ООО "Ромашка"` || d.PayerAccount != "40702810500000000001" || d.Receiver != "40702810400000000018" || d.Purpose != "Оплата по счету W-2026-17" || d.Problem != "" || d.Line != 7 {
			t.Errorf("%s: %+v", name, d)
		}
	}
	for name, change := range map[string][2]string{
		"Номер": {"Номер=0017\r\n", ""}, "a long Номер": {"Номер=0017", "Номер=" + strings.Repeat("1", 41)}, "Дата": {"Дата=24.11.2026", "Дата=2026-11-24"}, "the 31st": {"Дата=24.11.2026", "Дата=31.11.2026"}, "Сумма": {"12200.50", "12200.501"},
		"a negative Сумма": {"12200.50", "-1.00"}, "Сумма 0": {"12200.50", "0.00"}, "a huge Сумма": {"12200.50", "99999999999.00"}, "an exponent": {"12200.50", "1e5"}, "ДатаПоступило": {"ДатаПоступило=25.11.2026", "ДатаПоступило=soon"},
		"an account": {"40702810500000000001", "4070281050000000000"}, "no account": {"ПлательщикСчет=40702810500000000001\r\n", ""}, "twice": {"Сумма=12200.50", "Сумма=1.00\r\nСумма=12200.50"}, "long": {"счету", strings.Repeat("ы", 4000)},
	} {
		file := strings.Replace(statement, change[0], change[1], 1)
		if file == statement {
			t.Fatalf("%s changes nothing", name)
		}
		if all, err := invoice.ReadStatement([]byte(file)); err != nil || len(all) != 1 || all[0].Problem == "" {
			t.Errorf("%s: %+v, %v", name, all, err)
		}
	}
	for name, file := range map[string]string{
		"nothing": "", "another format": "<xml/>", "no end": strings.Replace(statement, "КонецФайла", "", 1), "cut in a document": statement[:len(statement)/2], "a document in a document": strings.Replace(statement, "Номер=", "СекцияДокумент=x\r\nНомер=", 1),
		"an end without a beginning": strings.Replace(statement, "СекцияРасчСчет", "КонецДокумента", 1), "binary": "1CClientBankExchange\n" + strings.Repeat("\xff\x00", 1000),
	} {
		if all, err := invoice.ReadStatement([]byte(file)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %d, %v", name, len(all), err)
		}
	}
	if _, err := invoice.ReadStatement(make([]byte, 100<<20)); !fault.Is(err, fault.PayloadTooLarge) {
		t.Errorf("100 MB: %v", err)
	}
	many := "1CClientBankExchange\n" + strings.Repeat("СекцияДокумент=x\nКонецДокумента\n", invoice.MostDocuments+1) + "КонецФайла\n"
	if _, err := invoice.ReadStatement([]byte(many)); !fault.Is(err, fault.PayloadTooLarge) {
		t.Errorf("very many documents: %v", err)
	}
}

// Whatever the bytes are, they are documents with sound fields or an error.
func FuzzReadStatement(f *testing.F) {
	win, _ := charmap.Windows1251.NewEncoder().String(statement)
	for _, seed := range []string{"", statement, win, "1CClientBankExchange\n", "1CClientBankExchange\nСекцияДокумент\nКонецДокумента\nКонецФайла"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		all, err := invoice.ReadStatement(file)
		if err != nil {
			if fault.From(err).Public == "" {
				t.Fatal(err)
			}
			return
		}
		for _, d := range all {
			if d.Problem == "" && (d.Amount <= 0 || d.Amount%invoice.Kopeck != 0 || d.Number == "" || d.Date.IsZero() || len(d.PayerAccount) != 20 || len(d.Receiver) != 20) {
				t.Fatalf("%+v", d)
			}
			if strings.ContainsFunc(d.Purpose+d.PayerName+d.Kind+d.Number, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Fatalf("%+v", d)
			}
			for _, n := range invoice.NumbersIn(d.Purpose, "W-") {
				if !strings.HasPrefix(n, "W-") {
					t.Fatal(n)
				}
			}
		}
	})
}
