package app

import (
	"weir/internal/httpapi"
	"weir/internal/webui"
)

// pages are what people read on the listener for clients, beside the API.
func (g *Gateway) pages() (pages []httpapi.Pages, err error) {
	if g.cfg.Web.Interface {
		site, err := webui.New(webui.Built())
		if err != nil {
			return nil, err
		}
		pages = append(pages, site)
	}
	return pages, nil
}
