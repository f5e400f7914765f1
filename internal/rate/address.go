package rate

import (
	"errors"
	"net/netip"
	"net/url"
)

// CheckURL returns the error in the address of a published list, or nil. Plain http is allowed only for this machine: elsewhere an attacker
// in the network could set the prices.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
		return errors.New("it must be an https:// URL without credentials, such as https://www.cbr.ru/scripts/XML_daily.asp")
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if loopback := u.Hostname() == "localhost" || err == nil && ip.IsLoopback(); u.Scheme == "http" && !loopback {
		return errors.New("it must begin with https://")
	}
	return nil
}
