package wire

import (
	"strings"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/tag"
)

// Tags adds the tags that the metadata of a request names, of whatever style: LiteLLM's list tags, and pairs of strings. The list comes first, since
// it is made of tags alone. Anything else is no tag, and no error. user_id is who the client's user is, and no tag.
func Tags(s *tag.Set, metadata []byte) {
	for e := rawjson.ElementsOf(rawjson.Find(metadata, "tags")); e.Next(); {
		s.Foreign(rawjson.Text(e.Value))
	}
	for m := rawjson.MembersOf(metadata); m.Next(); {
		if name := string(m.Name); name != "user_id" && !strings.Contains(name, "=") && rawjson.KindOf(m.Value) == rawjson.String {
			s.Add(tag.Join(name, strings.TrimSpace(rawjson.Text(m.Value))))
		}
	}
}

// MetadataOf is the metadata in a body whose members were kept: the member metadata, or labels of the Gemini style; nil without one.
func MetadataOf(body []byte, members []completion.Member) (found []byte) {
	for _, m := range members {
		if (m.Name == "metadata" || m.Name == "labels" && found == nil) && m.Value >= 0 && m.Value < m.End && m.End <= len(body) {
			found = body[m.Value:m.End]
		}
	}
	return found
}

// SessionOfUser parts what coding agents write as one user into the user and the session: a JSON object with session_id and account_uuid or device_id,
// or "user_..._account_..._session_<id>" of older ones. session is "" for any other text.
func SessionOfUser(text string) (user, session string) {
	if strings.HasPrefix(text, "{") {
		b := []byte(text)
		if rawjson.Check(b, rawjson.Defaults) != nil {
			return text, ""
		}
		session = rawjson.TextAt(b, "session_id")
		if user = rawjson.TextAt(b, "account_uuid"); user == "" {
			user = rawjson.TextAt(b, "device_id")
		}
		if session == "" {
			return text, ""
		}
		return user, session
	}
	if at := strings.LastIndex(text, "_session_"); at > 0 && strings.HasPrefix(text, "user_") && at+len("_session_") < len(text) {
		return strings.TrimSuffix(text[:at], "_account_"), text[at+len("_session_"):]
	}
	return text, ""
}
