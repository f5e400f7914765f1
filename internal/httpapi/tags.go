package httpapi

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/tag"
	"weir/internal/wire"
)

const (
	tagsHeader = "X-Weir-Tags"
	maxSession = 256 // bytes, as in the styles
)

// sessionHeaders are where clients name the session of a request that has none in its body: any client, Claude Code, Codex.
var sessionHeaders = []string{"X-Session-Id", "X-Claude-Code-Session-Id", "Session-Id", "Session_id"}

// checkTags refuses a request whose header for tags has something that is none: it was written for this gateway, and money would be counted where it
// does not belong. What is written for other gateways, or for the provider, never fails.
func (x *request) checkTags() error {
	list := x.r.Header[tagsHeader]
	if len(list) == 0 {
		return nil
	}
	var s tag.Set
	if wrong := s.Parse(strings.Join(list, ",")); wrong != "" {
		return fault.Field("httpapi.tags", tagsHeader, "%s: %s. Write name=value or a name, with commas between tags, each name once.", tagsHeader, wrong)
	}
	return nil
}

// tags are the tags of a request, in the order in which they count where two have one name: X-Weir-Tags, LiteLLM's header, and metadata. That of a
// request whose members were not kept is looked up in its body, which was checked by then.
func (x *request) tags(metadata []byte) []string {
	var s tag.Set
	s.Parse(strings.Join(x.r.Header[tagsHeader], ","))
	for _, list := range x.r.Header["X-Litellm-Tags"] {
		for text := range strings.SplitSeq(list, ",") {
			s.Foreign(text)
		}
	}
	if metadata == nil && bytes.Contains(x.sent, []byte(`"metadata"`)) {
		metadata = rawjson.Find(x.sent, "metadata")
	}
	wire.Tags(&s, metadata)
	return s.List()
}

// sessionNamed is the session in a header, "" without one.
func (x *request) sessionNamed() string {
	for _, name := range sessionHeaders {
		if id := x.header(name); id != "" && len(id) <= maxSession && utf8.ValidString(id) {
			return id
		}
	}
	return ""
}

// identify completes who a request says that it is from: the session in a header, or in what coding agents write as the user.
func (x *request) identify(req *completion.Request) {
	if req.SessionID == "" {
		req.SessionID = x.sessionNamed()
	}
	user, session := wire.SessionOfUser(req.User)
	if req.User = user; req.SessionID == "" && len(session) <= maxSession {
		req.SessionID = session
	}
}
