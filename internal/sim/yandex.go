package sim

import (
	"net/http"
	"strings"
)

// yandexWire is the chat wire as Yandex AI Studio serves it: keys of its own, and models that are named by address.
var yandexWire = &wire{
	name: "yandex", say: chatWire.say, fail: chatWire.fail, inside: chatWire.inside, stream: chatWire.stream, frame: chatWire.frame,
	last: chatWire.last, tooLong: chatWire.tooLong, text: chatWire.text, idle: chatWire.idle, shapeless: chatWire.shapeless,
	admit: func(s *Server, r *http.Request) *refusal {
		key, given := strings.CutPrefix(r.Header.Get("Authorization"), "Api-Key ")
		if !given {
			key, given = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		}
		switch {
		case !given:
			return wrongKey(401, "UNAUTHENTICATED: No authentication credentials provided. Use 'Api-Key' or an IAM token as 'Bearer'.")
		case !s.hasKey(key):
			return wrongKey(401, "UNAUTHENTICATED: Unknown api key '****'.")
		}
		return nil
	},
}

// yandexModel is the model that an address "gpt://folder/model[/version]" names; false for anything else.
func yandexModel(uri string) (model string, ok bool) {
	rest, found := strings.CutPrefix(uri, "gpt://")
	parts := strings.Split(rest, "/")
	if !found || len(parts) < 2 || len(parts) > 3 || parts[0] == "" || parts[1] == "" {
		return "", false
	}
	return parts[1], true
}
