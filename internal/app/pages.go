package app

import (
	"strings"

	"weir"
	"weir/internal/config"
	"weir/internal/docsite"
	"weir/internal/httpapi"
	"weir/internal/webui"
)

// pages are what people read on the listener for clients, beside the API.
func (g *Gateway) pages() (pages []httpapi.Pages, err error) {
	site, err := webui.New(webui.Built())
	if err != nil {
		return nil, err
	}
	if g.cfg.Web.Docs { // before the interface, which answers every address that a browser opens
		pages = append(pages, docsite.New(docsite.Sources{
			Files: weir.Files, OpenAPI: httpapi.OpenAPI(), Settings: docSettings, Session: httpapi.SessionCookie, Interface: g.cfg.Web.Interface && site.Built(),
		}))
	}
	if g.cfg.Web.Interface {
		pages = append(pages, site)
	}
	return pages, nil
}

// docSettings are the settings for their reference.
func docSettings() (settings []docsite.Setting, err error) {
	example, err := weir.Files.ReadFile("weir.example.yaml")
	if err != nil {
		return nil, err
	}
	all, err := config.Describe(example)
	for _, d := range all {
		value := d.Value
		if d.Example {
			value = ""
			if d.Value != "" {
				d.Means = strings.TrimPrefix(d.Means+" Example: `"+d.Value+"`.", " ")
			}
		}
		settings = append(settings, docsite.Setting{Key: d.Key, Type: d.Type, Default: value, Means: d.Means, Live: d.Live})
	}
	return settings, err
}
