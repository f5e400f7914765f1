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
		s, err := docSources()
		if err != nil {
			return nil, err
		}
		s.Interface = g.cfg.Web.Interface && site.Built()
		pages = append(pages, docsite.New(s))
	}
	if g.cfg.Web.Interface {
		pages = append(pages, site)
	}
	return pages, nil
}

// docSources is what the documentation is made from.
func docSources() (docsite.Sources, error) {
	s := docsite.Sources{Files: weir.Files, OpenAPI: httpapi.OpenAPI(), Session: httpapi.SessionCookie}
	example, err := weir.Files.ReadFile("weir.example.yaml")
	if err != nil {
		return s, err
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
		s.Settings = append(s.Settings, docsite.Setting{Key: d.Key, Type: d.Type, Default: value, Means: d.Means, Live: d.Live})
	}
	return s, err
}
