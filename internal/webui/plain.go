package webui

import (
	"bytes"
	_ "embed" // the page
	"html/template"
	"net/http"
)

// notBuilt answers where the interface is not part of the binary.
type notBuilt struct{ secure bool }

//go:embed plain.html
var plainSource string

// plainPage follows the colours of the interface.
var plainPage = template.Must(template.New("plain").Parse(plainSource))

// ServeHTTP sends one plain page for every address.
func (p *notBuilt) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var b bytes.Buffer
	err := plainPage.Execute(&b, struct{ Lang, Theme, Nonce string }{Language(r), Theme(r), Protect(w.Header(), p.secure)})
	if err != nil { // a test executes it
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, r, "text/html; charset=utf-8", b.Bytes())
}
