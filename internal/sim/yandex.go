package sim

import (
	"strings"
)

// yandexWire is the chat wire as Yandex AI Studio serves it: keys of its own, and models that are named by address.
var yandexWire = &wire{
	name: "yandex", say: chatWire.say, fail: chatWire.fail, inside: chatWire.inside, stream: chatWire.stream, frame: chatWire.frame,
	last: chatWire.last, tooLong: chatWire.tooLong, text: chatWire.text, idle: chatWire.idle, shapeless: chatWire.shapeless,
	admit: admitYandex,
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
