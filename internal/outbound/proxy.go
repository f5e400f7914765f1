// Package outbound decides by which way connections leave the gateway: directly, or through a proxy of the operator. It opens no connection;
// package tunnel does.
package outbound

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
)

// Direct is the text of a provider's way that is no proxy, whatever the whole gateway uses.
const Direct = "direct"

// Proxy is one way: the zero value says nothing of it, Direct is without a proxy, any other is through one. It is comparable. When it is printed,
// encoded or logged, it shows no user name and no password.
type Proxy struct {
	scheme         string // "http", "https", "socks5", or Direct
	host, port     string
	user, password string
}

// Lookup finds an environment variable, like os.LookupEnv.
type Lookup func(name string) (value string, ok bool)

var ports = map[string]string{"http": "80", "https": "443", "socks5": "1080"}

var errForm = errors.New("it is no address of a proxy; write " + Direct + ", http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT, with USER:PASSWORD@ before the host where it wants that")

// Parse reads a way: "", "direct", or the address of a proxy. It may hold ${NAME} for variables: as the whole, or as user name and password, which
// are taken as they are then; written out, both are escaped as in every URL. Errors contain no part of a secret.
func Parse(text string, env Lookup) (Proxy, error) {
	if names := References(text); len(names) == 1 && text == "${"+names[0]+"}" {
		value, err := expand(text, env)
		if err != nil {
			return Proxy{}, err
		}
		text, env = value, nil
	}
	switch text {
	case "":
		return Proxy{}, nil
	case Direct:
		return Proxy{scheme: Direct}, nil
	}
	scheme, rest, found := strings.Cut(text, "://")
	// Both spellings leave names to the proxy, so that they mean the same here.
	if scheme = strings.ToLower(scheme); scheme == "socks5h" {
		scheme = "socks5"
	}
	p := Proxy{scheme: scheme, port: ports[scheme]}
	if !found || p.port == "" {
		return Proxy{}, errForm
	}
	at := strings.LastIndexByte(rest, '@')
	if err := p.locate(rest[at+1:]); err != nil {
		return Proxy{}, err
	}
	if at < 0 {
		return p, nil
	}
	return p, p.login(rest[:at], env)
}

// locate reads host and port.
func (p *Proxy) locate(text string) error {
	u, err := url.Parse("http://" + text)
	if err != nil || u.Host == "" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return errForm
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errForm
		}
		p.port = port
	}
	p.host = strings.ToLower(u.Hostname())
	return nil
}

// maxLogin is how long RFC 1929 allows a user name and a password to be.
const maxLogin = 255

func (p *Proxy) login(text string, env Lookup) error {
	user, password, _ := strings.Cut(text, ":")
	for _, part := range []struct {
		text string
		into *string
	}{{user, &p.user}, {password, &p.password}} {
		var err error
		if len(References(part.text)) > 0 {
			*part.into, err = expand(part.text, env)
		} else if *part.into, err = url.PathUnescape(part.text); err != nil {
			err = errors.New("its user name or password is not escaped as in a URL; write %25 for %, %40 for @, or name variables: ${NAME}")
		}
		switch {
		case err != nil:
			return err
		case strings.ContainsAny(*part.into, "\r\n\x00"):
			return errors.New("its user name or password contains a line break")
		case p.scheme == "socks5" && len(*part.into) > maxLogin:
			return fmt.Errorf("its user name or password is longer than the %d bytes that SOCKS allows", maxLogin)
		}
	}
	if p.user == "" || p.scheme != "socks5" && strings.Contains(p.user, ":") {
		return errors.New("its user name is empty, or contains a colon, which cannot be sent")
	}
	return nil
}

// References are the names of the variables in a text, in order.
func References(text string) (names []string) {
	for {
		_, rest, found := strings.Cut(text, "${")
		name, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			return names
		}
		names, text = append(names, name), after
	}
}

// Written reports whether a text holds a password itself, and not the name of a variable with it.
func Written(text string) bool {
	_, rest, _ := strings.Cut(text, "://")
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return false
	}
	user, secret, _ := strings.Cut(rest[:at], ":")
	if secret == "" { // some proxies have one word for both
		secret = user
	}
	for _, name := range References(secret) {
		secret = strings.ReplaceAll(secret, "${"+name+"}", "")
	}
	return secret != ""
}

func expand(text string, env Lookup) (string, error) {
	for _, name := range References(text) {
		value, set := "", false
		if env != nil {
			value, set = env(name)
		}
		if !set || value == "" {
			return "", fmt.Errorf("the environment variable %s is not set", name)
		}
		text = strings.Replace(text, "${"+name+"}", value, 1)
	}
	return text, nil
}

// Set reports whether anything was said.
func (p Proxy) Set() bool { return p.scheme != "" }

// Through reports whether connections go through a proxy.
func (p Proxy) Through() bool { return p.host != "" }

// Scheme is "http", "https" or "socks5".
func (p Proxy) Scheme() string { return p.scheme }

// Host is the name or address of the proxy, without brackets.
func (p Proxy) Host() string { return p.host }

// Address is where the proxy listens, as host and port.
func (p Proxy) Address() string {
	if strings.Contains(p.host, ":") {
		return "[" + p.host + "]:" + p.port
	}
	return p.host + ":" + p.port
}

// Login returns user name and password, "" without.
func (p Proxy) Login() (user, password string) { return p.user, p.password }

// Secrets are the texts that no log may contain.
func (p Proxy) Secrets() []string {
	secret := cmp.Or(p.password, p.user)
	if secret == "" {
		return nil
	}
	login := base64.StdEncoding.EncodeToString([]byte(p.user + ":" + p.password))
	return []string{secret, url.PathEscape(secret), url.QueryEscape(secret), login}
}

// String is the way as it is shown: "direct", "http://proxy.example:3128", "" for none.
func (p Proxy) String() string {
	if !p.Through() {
		return p.scheme
	}
	return p.scheme + "://" + p.Address()
}

// Format prints the way without user name and password for every verb.
func (p Proxy) Format(f fmt.State, _ rune) { fmt.Fprint(f, p.String()) }

// MarshalText returns the way without user name and password.
func (p Proxy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// MarshalYAML returns the way without user name and password.
func (p Proxy) MarshalYAML() (any, error) { return p.String(), nil }

// LogValue returns the way without user name and password, for slog.
func (p Proxy) LogValue() slog.Value { return slog.StringValue(p.String()) }
