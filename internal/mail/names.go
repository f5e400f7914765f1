package mail

import (
	"crypto/rand"
	"net"
	netmail "net/mail"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// ascii writes a name of the net in the letters that SMTP and DNS know: почта.рф becomes xn--80a1acny.xn--p1ai. What is no name stays as it is.
func ascii(name string) string {
	if out, err := idna.Lookup.ToASCII(name); err == nil {
		return out
	}
	return name
}

// asciiAddress is an address whose host has such letters. What stands before the @ belongs to that host alone.
func asciiAddress(address string) string {
	a, err := netmail.ParseAddress(address)
	if err != nil {
		return address // what sends it says why not
	}
	at := strings.LastIndexByte(a.Address, '@')
	a.Address = a.Address[:at+1] + ascii(a.Address[at+1:])
	if a.Name == "" {
		return a.Address
	}
	return a.String()
}

// ownName is what the gateway calls itself to mail servers: the name that clients know, "" where they know it by an address only. A machine's own name, such as that
// of a container, looks like that of a sender of junk.
func ownName(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	name := ascii(u.Hostname())
	if net.ParseIP(name) != nil || !strings.Contains(name, ".") {
		return ""
	}
	return name
}

// newID is the left part of a Message-ID that no other mail has.
func newID() string { return strings.ToLower(rand.Text()) }
