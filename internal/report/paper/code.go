package paper

import (
	"strconv"
	"strings"

	"github.com/boombuler/barcode/qr"

	"weir/internal/invoice"
)

// payload is what apps of banks read from the code of an invoice: the form ST00012 of GOST R 56042, in UTF-8.
func payload(i *invoice.Invoice, purpose string) string {
	var b strings.Builder
	b.WriteString("ST00012")
	s := &i.Seller
	for _, f := range []struct {
		name, value string
		most        int // characters
	}{
		{"Name", s.Name, 160}, {"PersonalAcc", s.Account, 20}, {"BankName", s.Bank, 45}, {"BIC", s.BIK, 9}, {"CorrespAcc", s.Correspondent, 20},
		{"PayeeINN", s.INN, 12}, {"KPP", s.KPP, 9}, {"Sum", strconv.FormatInt(int64(i.Total/invoice.Kopeck), 10), 18}, {"Purpose", purpose, 210},
	} {
		value := []rune(strings.ReplaceAll(f.value, "|", " "))
		if len(value) > 0 {
			b.WriteString("|" + f.name + "=" + string(value[:min(len(value), f.most)]))
		}
	}
	return b.String()
}

// code draws the code with its quiet zone.
func (p *printer) code(i *invoice.Invoice, purpose string) error {
	c, err := qr.Encode(payload(i, purpose), qr.M, qr.Unicode)
	if err != nil {
		return err
	}
	const size, quiet = 36.0, 3.0
	n := c.Bounds().Dx()
	if p.GetY()+size+2*quiet > 297-bottom {
		p.AddPage()
	}
	x, y, each := left+width-size-quiet, p.GetY()+quiet, size/float64(n)
	p.SetFillColor(0, 0, 0)
	for row := range n {
		for from := 0; from < n; from++ {
			to := from
			for to < n && isDark(c.At(to, row).RGBA()) {
				to++
			}
			if to > from {
				p.Rect(x+float64(from)*each, y+float64(row)*each, float64(to-from)*each, each, "F")
				from = to
			}
		}
	}
	p.SetXY(left, y+size/2-lineHeight)
	p.text("", small, "Код для оплаты в приложении банка. Проверьте, что плательщик — организация с ИНН "+i.Buyer.INN+".", width-size-4*quiet)
	p.SetXY(left, y+size)
	return nil
}

func isDark(r, _, _, _ uint32) bool { return r < 0x8000 }
