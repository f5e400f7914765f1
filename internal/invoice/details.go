package invoice

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"weir/internal/fault"
)

// Bounds of texts, in characters.
const (
	MostName    = 300
	MostAddress = 500
)

// Check normalizes the data of a buyer. It fails with fault.Invalid, and names the field.
func (b *Buyer) Check() error {
	const op = "invoice.Buyer"
	b.Name, b.Address = tidy(b.Name), tidy(b.Address)
	b.INN, b.KPP = strings.TrimSpace(b.INN), strings.ToUpper(strings.TrimSpace(b.KPP))
	if err := checkText(op, "name", b.Name, MostName, "the organization's name, such as ООО «Ромашка»"); err != nil {
		return err
	}
	if err := CheckINN(b.INN); err != nil {
		return err
	}
	if err := checkKPP(op, b.INN, b.KPP); err != nil {
		return err
	}
	return checkText(op, "address", b.Address, MostAddress, "the legal address")
}

// Check is Buyer.Check for the seller.
func (s *Seller) Check() error {
	const op = "invoice.Seller"
	for _, p := range []*string{&s.Name, &s.Address, &s.Bank, &s.Director, &s.Accountant} {
		*p = tidy(*p)
	}
	as := Buyer{Name: s.Name, INN: s.INN, KPP: s.KPP, Address: s.Address}
	if err := as.Check(); err != nil {
		return err
	}
	s.INN, s.KPP = as.INN, as.KPP
	if err := checkText(op, "bank", s.Bank, MostName, "the name of the bank and its town"); err != nil {
		return err
	}
	if !digits(s.BIK, 9) {
		return fault.Field(op, "bik", "bik must be the 9 digits of the bank's BIK.").Coded("bik")
	}
	if !accountFits(s.BIK[6:], s.Account) {
		return fault.Field(op, "account", "account must be 20 digits, and its check digit does not fit the BIK. Compare both with the bank's letter.").Coded("account_number")
	}
	if !accountFits("0"+s.BIK[4:6], s.Correspondent) {
		return fault.Field(op, "correspondent_account", "correspondent_account must be 20 digits, and its check digit does not fit the BIK. Compare both with the bank's letter.").Coded("correspondent_account_number")
	}
	if err := checkText(op, "director", s.Director, MostName, "who signs, such as Иванова А. П."); err != nil {
		return err
	}
	if s.Accountant == "" {
		return nil
	}
	return checkText(op, "accountant", s.Accountant, MostName, "who signs as the accountant, or nothing")
}

// Sole reports whether an INN is that of a sole trader.
func Sole(inn string) bool { return len(inn) == 12 }

var (
	inn10 = []int{2, 4, 10, 3, 5, 9, 4, 6, 8}
	inn11 = []int{7, 2, 4, 10, 3, 5, 9, 4, 6, 8}
	inn12 = []int{3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8}
)

// CheckINN fails with fault.Invalid unless the text is an INN with right check digits.
func CheckINN(inn string) error {
	sum := func(weights []int) byte {
		n := 0
		for i, w := range weights {
			n += w * int(inn[i]-'0')
		}
		return byte('0' + n%11%10)
	}
	var fits bool
	switch {
	case digits(inn, 10):
		fits = inn[9] == sum(inn10)
	case digits(inn, 12):
		fits = inn[10] == sum(inn11) && inn[11] == sum(inn12)
	default:
		return fault.Field("invoice.CheckINN", "inn", "inn must be the 10 digits of a company or the 12 of a sole trader.").Coded("inn")
	}
	if !fits || strings.Trim(inn, "0") == "" {
		return fault.Field("invoice.CheckINN", "inn", "inn has a wrong check digit: compare each digit.").Coded("inn_check_digit")
	}
	return nil
}

func checkKPP(op, inn, kpp string) error {
	switch {
	case Sole(inn) && kpp != "":
		return fault.Field(op, "kpp", "A sole trader has no KPP: leave kpp out.").Coded("kpp_of_trader")
	case Sole(inn):
		return nil
	case kpp == "":
		return fault.Field(op, "kpp", "kpp is missing: a company has one, of 9 characters.").Coded("kpp_missing")
	}
	// Four digits of the tax office, two digits or letters of the reason, three digits of the order.
	fits := len(kpp) == 9 && digits(kpp[:4], 4) && digits(kpp[6:], 3)
	for i := 4; fits && i < 6; i++ {
		fits = kpp[i] >= '0' && kpp[i] <= '9' || kpp[i] >= 'A' && kpp[i] <= 'Z'
	}
	if !fits {
		return fault.Field(op, "kpp", "kpp must have 9 characters: four digits, two digits or Latin capitals, three digits.").Coded("kpp")
	}
	return nil
}

// accountFits checks the key of a bank account with three digits of its bank.
func accountFits(bank, account string) bool {
	if !digits(account, 20) {
		return false
	}
	n := 0
	for i, c := range []byte(bank + account) {
		n += int(c-'0') * []int{7, 1, 3}[i%3] % 10
	}
	return n%10 == 0
}

func digits(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// tidy puts a text on one line with single spaces.
func tidy(s string) string { return strings.Join(strings.Fields(s), " ") }

func checkText(op, field, s string, most int, what string) error {
	switch {
	case s == "":
		return fault.Field(op, field, "%s is missing: give %s.", field, what).Coded("buyer_field_missing")
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fault.Field(op, field, "%s has characters that cannot be printed.", field).Coded("not_printable")
	case utf8.RuneCountInString(s) > most:
		return fault.Field(op, field, "%s may have at most %d characters.", field, most).Coded("most_characters", "most", most)
	}
	return nil
}
