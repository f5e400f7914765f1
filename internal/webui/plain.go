package webui

import (
	"net/http"
)

// notBuilt answers where the interface is not part of the binary.
type notBuilt struct{ secure bool }

// plainStyle follows the colours of the interface.
const plainStyle = `:root{color-scheme:light dark;--c:#f6f7f7;--s:#fff;--l:#dde2e3;--i:#10191c;--j:#445157;--a:#0b6777}` +
	`@media(prefers-color-scheme:dark){:root:not([data-theme=light]){--c:#0e1416;--s:#141c1f;--l:#263136;--i:#e8eef0;--j:#b3c0c5;--a:#4fb8c9}}` +
	`[data-theme=dark]{color-scheme:dark;--c:#0e1416;--s:#141c1f;--l:#263136;--i:#e8eef0;--j:#b3c0c5;--a:#4fb8c9}[data-theme=light]{color-scheme:light}` +
	`body{margin:0;background:var(--c);color:var(--i);font:16px/1.5 system-ui,sans-serif}main{max-width:34rem;margin:12vh auto 0;padding:0 20px}` +
	`h1{font-size:20px;line-height:28px;font-weight:600}p,li{color:var(--j)}code{font:14px ui-monospace,monospace;background:var(--s);border:1px solid var(--l);border-radius:4px;padding:1px 5px;color:var(--i)}a{color:var(--a)}`

var plainTexts = map[string]string{
	"en": `<h1>Weir is running</h1><p>This program was built without the web interface. The API works as usual.</p>` +
		`<p>To get the interface, build it where Node 20 and npm are installed:</p><p><code>make build</code></p>` +
		`<ul><li><a href="/openapi.yaml">Description of the API</a></li><li><a href="/v1/models">Models</a></li></ul>`,
	"ru": `<h1>Weir работает</h1><p>Эта программа собрана без веб-интерфейса. API работает как обычно.</p>` +
		`<p>Чтобы получить интерфейс, соберите программу там, где есть Node 20 и npm:</p><p><code>make build</code></p>` +
		`<ul><li><a href="/openapi.yaml">Описание API</a></li><li><a href="/v1/models">Модели</a></li></ul>`,
}

// ServeHTTP sends one plain page for every address.
func (p *notBuilt) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	nonce, lang := Protect(w.Header(), p.secure), Language(r)
	send(w, r, "text/html; charset=utf-8", []byte(`<!doctype html><html lang="`+lang+`" data-theme="`+Theme(r)+`"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">`+
		`<title>Weir</title><style nonce="`+nonce+`">`+plainStyle+`</style></head><body><main>`+plainTexts[lang]+`</main></body></html>`))
}
