package dialect

import (
	"weir/internal/catalog"
	"weir/internal/completion"
)

// Search removes from a prompt a web search that the client merely offers to the model, as coding agents do unasked, where it could not
// be billed: the endpoint has no price for it. The client gets a notice. A chat request can only name a search to request one, so there
// it stays.
func Search(ep *catalog.Endpoint, req *completion.Request, p *completion.Prompt) (_ *completion.Prompt, notice string) {
	if p.Search == nil || req.Search != nil || req.Style == completion.Chat || ep.Pricing.Base.WebSearch.Set {
		return p, ""
	}
	silent := *p
	silent.Search = nil
	return &silent, completion.NoticeSearch
}

// Domains records the lists of domains of a search that the wire does not have.
func (s *Sent) Domains(req *completion.Request, x *completion.Search, include, exclude bool) {
	allowed, blocked := "allowed_domains", "blocked_domains"
	if x == req.Search {
		allowed, blocked = "include_domains", "exclude_domains"
	}
	if len(x.Include) > 0 && !include {
		s.Drop(allowed)
	}
	if len(x.Exclude) > 0 && !exclude {
		s.Drop(blocked)
	}
}
