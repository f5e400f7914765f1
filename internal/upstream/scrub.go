package upstream

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"weir/internal/catalog"
	"weir/internal/redact"
)

// How much of a provider's error texts is shown, in bytes.
const (
	maxPublicBytes = 2 << 10
	maxRawBytes    = 1 << 10
	maxCodeBytes   = 128
)

// scrub makes a provider's text safe to show: no secrets, no addresses, valid UTF-8, at most limit bytes.
func scrub(r *redact.Redactor, p *catalog.Provider, secrets []string, text string, limit int) string {
	if text == "" {
		return ""
	}
	b := []byte(strings.ToValidUTF8(text, "\uFFFD"))
	b = withoutSecrets(p, secrets, b)
	b = r.Redact(b)
	b = withoutNumbered(withoutAccounts(b))
	b = withoutURLs(b)
	if host := hostOf(p.BaseURL); host != "" {
		b = bytes.ReplaceAll(b, []byte(host), []byte("[host]"))
		if name, _, ok := strings.Cut(host, ":"); ok && name != "" {
			b = bytes.ReplaceAll(b, []byte(name), []byte("[host]"))
		}
	}
	return string(cut(withoutAddresses(b), limit))
}

// cut keeps at most n bytes, and whole characters.
func cut(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return b[:n]
}

// withoutSecrets hides the declared secrets of p, and secrets.
func withoutSecrets(p *catalog.Provider, secrets []string, b []byte) []byte {
	hide := func(s string) {
		if len(s) >= 4 {
			b = bytes.ReplaceAll(b, []byte(s), []byte("[redacted:secret]"))
		}
	}
	hide(p.Key)
	for _, key := range p.Keys {
		hide(key)
	}
	for _, key := range p.Draining {
		hide(key)
	}
	for _, v := range p.Headers {
		hide(v)
	}
	for _, s := range secrets {
		hide(s)
	}
	return b
}

// withoutFetched makes a cause safe for the log, which redacts configured secrets but not those that were fetched.
func withoutFetched(cause error, secrets []string) error {
	if cause == nil || len(secrets) == 0 {
		return cause
	}
	text := cause.Error()
	for _, s := range secrets {
		if strings.Contains(text, s) {
			return errors.New(string(withoutSecrets(new(catalog.Provider), secrets, []byte(text))))
		}
	}
	return cause
}

// accountMarks begin the ids of the operator's accounts, as OpenAI, Groq, Moonshot and OpenRouter write them.
var accountMarks = []string{"org-", "org_", "proj_", "proj-", "user_", "acct_", "ak-"}

// leastAccount is how long an id of an account is at least, after its mark: words such as user_input are shorter, or have more parts.
const leastAccount = 10

// withoutAccounts replaces ids of the operator's accounts.
func withoutAccounts(b []byte) []byte {
	for _, mark := range accountMarks {
		for from := 0; ; {
			at := bytes.Index(b[from:], []byte(mark))
			if at < 0 {
				break
			}
			at += from
			end := at + len(mark)
			for end < len(b) && (b[end] >= '0' && b[end] <= '9' || b[end]|0x20 >= 'a' && b[end]|0x20 <= 'z') {
				end++
			}
			if from = end; end-at-len(mark) < leastAccount || at > 0 && (b[at-1]|0x20 >= 'a' && b[at-1]|0x20 <= 'z' || b[at-1] == '_') {
				continue
			}
			const hidden = "[account]"
			b = append(append(append([]byte(nil), b[:at]...), hidden...), b[end:]...)
			from = at + len(hidden)
		}
	}
	return b
}

// withoutURLs replaces every URL, also one whose slashes are escaped as JSON.
func withoutURLs(b []byte) []byte {
	var out []byte
	for {
		at := bytes.Index(b, []byte(":/"))
		if esc := bytes.Index(b, []byte(`:\/`)); esc >= 0 && (at < 0 || esc < at) {
			at = esc
		}
		if at < 0 {
			if out == nil {
				return b
			}
			return append(out, b...)
		}
		start, end := at, at
		for start > 0 && (b[start-1]|0x20 >= 'a' && b[start-1]|0x20 <= 'z' || b[start-1] == '+') {
			start--
		}
		for end < len(b) && b[end] > ' ' && b[end] < 0x7F && strings.IndexByte("\"'<>)]}|`", b[end]) < 0 {
			end++
		}
		out = append(out, b[:start]...)
		out = append(out, "[url]"...)
		b = b[end:]
	}
}

// withoutAddresses replaces IPv4 addresses with their ports.
func withoutAddresses(b []byte) []byte {
	for i := 0; i < len(b); i++ {
		if b[i] < '0' || b[i] > '9' || i > 0 && (b[i-1] == '.' || b[i-1] >= '0' && b[i-1] <= '9') {
			continue
		}
		end, dots := i, 0
		for end < len(b) && (b[end] >= '0' && b[end] <= '9' || b[end] == '.' && end+1 < len(b) && b[end+1] >= '0' && b[end+1] <= '9') {
			if b[end] == '.' {
				dots++
			}
			end++
		}
		if dots != 3 {
			continue
		}
		if end+1 < len(b) && b[end] == ':' && b[end+1] >= '0' && b[end+1] <= '9' {
			for end++; end < len(b) && b[end] >= '0' && b[end] <= '9'; end++ {
			}
		}
		b = append(append(append([]byte(nil), b[:i]...), "[address]"...), b[end:]...)
	}
	return b
}

func hostOf(base string) string {
	_, rest, _ := strings.Cut(base, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}
