package gemini

import (
	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/rawjson"
)

// native reports whether a request is sent as its client wrote it: it came by this wire, and the gateway has nothing to change in it.
func native(ep *catalog.Endpoint, req *completion.Request) bool {
	return req.Style == completion.Gemini && !req.Translate && req.Revised == 0 && req.Search == nil && !req.WithoutReasoning && !req.Heal && !refusedSearch(ep, req)
}

// refusedSearch reports whether a search that is merely offered could not be billed: it must be left out.
func refusedSearch(ep *catalog.Endpoint, req *completion.Request) bool {
	return req.Needs.Web && !ep.Pricing.Base.WebSearch.Set
}

// ownOnly are the members of this style's requests that are for the gateway: a provider does not know them, or must not obey them.
func ownOnly(name string) bool {
	switch name {
	case "model", "labels", "serviceTier", "store", "metadata":
		return true
	}
	return completion.GatewayOnly(name)
}

// passed writes the client's body without the members that are for the gateway, after the members in first. The bytes of all others stay the same,
// because signatures and cached prefixes depend on them.
func passed(w *rawjson.Writer, req *completion.Request, first string) {
	w.Object()
	w.B = append(w.B, first...)
	for i := range req.Members {
		if m := &req.Members[i]; !ownOnly(m.Name) {
			w.Member(req.Body[m.Start:m.End])
		}
	}
	w.EndObject()
}

// CountRequest encodes a request that counts the tokens of a prompt, which only clients of this wire send. AI Studio counts contents alone unless
// it gets a whole request in one member.
func (d *Dialect) CountRequest(ep *catalog.Endpoint, req *completion.Request) (call dialect.Call, ok bool) {
	if !native(ep, req) {
		return call, false
	}
	call.Path = textPath(ep, &completion.Request{})
	call.Path = call.Path[:len(call.Path)-len("generateContent")] + "countTokens"
	w := dialect.Writer(len(req.Body))
	if vertex(ep) {
		passed(&w, req, "")
	} else {
		w.Object()
		passed(w.Name("generateContentRequest"), req, string(rawjson.AppendText([]byte(`"model":`), "models/"+ep.UpstreamID)))
		w.EndObject()
	}
	call.Body, call.More = w.Pieces()
	return call, true
}
