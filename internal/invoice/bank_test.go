package invoice_test

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"

	"weir/internal/invoice"
)

// What banks really write, as those report it who read it. The format: v8.1c.ru/edi/edi_stnd/100/101.htm, version 1.03.
func TestStatementsOfBanks(t *testing.T) {
	t.Parallel()
	body := func(fields string) string {
		return "1CClientBankExchange\r\nВерсияФормата=1.03\r\nКодировка=Windows\r\nСекцияРасчСчет\r\nДатаНачала=01.11.2026\r\nРасчСчет=40702810400000000018\r\nКонецРасчСчет\r\n" +
			"СекцияДокумент=Платежное поручение\r\nНомер=000017\r\nДата=03.11.2026\r\nСумма=100.00\r\nПлательщик=ИНН 0076543215 ООО Ромашка\r\nПлательщикИНН=0076543215\r\nПлательщикСчет=40702810500000000001\r\n" +
			"ПолучательСчет=40702810400000000018\r\n" + fields + "КонецДокумента\r\nКонецФайла\r\n"
	}
	in := func(page *charmap.Charmap, text string) string {
		out, err := page.NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	arrived := "ДатаПоступило=03.11.2026\r\n"
	for _, x := range []struct {
		name, file, purpose string
		arrived             bool
	}{
		{"windows-1251, as the format says", in(charmap.Windows1251, body(arrived+"НазначениеПлатежа=Счёт W-2026-1\r\n")), "Счёт W-2026-1", true},
		{"UTF-8 although it says Windows: Sberbank, kilylabs/client-bank-exchange-php#16", body(arrived + "НазначениеПлатежа=Счёт W-2026-1\r\n"), "Счёт W-2026-1", true},
		{"UTF-8 with a mark at its beginning", "\ufeff" + body(arrived+"НазначениеПлатежа=Счёт W-2026-1\r\n"), "Счёт W-2026-1", true},
		{"code page 866", in(charmap.CodePage866, strings.Replace(body(arrived+"НазначениеПлатежа=Счет W-2026-1\r\n"), "Windows", "DOS", 1)), "Счет W-2026-1", true},
		{"parts of the purpose, without a space in their names: kilylabs/client-bank-exchange-php#3", body(arrived + "НазначениеПлатежа1=Счёт\r\nНазначениеПлатежа2=W-2026-1\r\n"), "Счёт W-2026-1", true},
		{"the purpose whole and in parts, as 1C writes it", body(arrived + "НазначениеПлатежа=Счёт W-2026-1\r\nНазначениеПлатежа1=Счёт\r\nНазначениеПлатежа2=W-2026-1\r\n"), "Счёт W-2026-1", true},
		{"a purpose over several lines: GoldenSoftwareLtd/gedemin#3422", body(arrived + "НазначениеПлатежа=Оплата по счёту\r\nW-2026-1\r\nбез НДС\r\nОчередность=5\r\n"), "Оплата по счёту W-2026-1 без НДС", true},
		{"no day on which it arrived", body("НазначениеПлатежа=Счёт W-2026-1\r\n"), "Счёт W-2026-1", false},
	} {
		all, err := invoice.ReadStatement([]byte(x.file))
		if err != nil || len(all) != 1 || all[0].Problem != "" {
			t.Errorf("%s: %+v, %v", x.name, all, err)
			continue
		}
		if d := all[0]; d.Purpose != x.purpose || d.Number != "17" || d.PayerINN != "0076543215" || !d.Arrived.IsZero() != x.arrived {
			t.Errorf("%s: %+v", x.name, d)
		}
	}
}
