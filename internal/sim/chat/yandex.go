package chat

import (
	"strings"

	"weir/internal/sim/kit"
)

// yandexWire is the chat wire as Yandex AI Studio serves it: its own keys, and models that are named by address.
var yandexWire = &kit.Wire{
	Name: "yandex", Phrases: kit.ChatWire.Phrases, ErrorBody: kit.ChatWire.ErrorBody, ErrorFrame: kit.ChatWire.ErrorFrame, Stream: kit.ChatWire.Stream, Frame: kit.ChatWire.Frame,
	LastData: kit.ChatWire.LastData, TooLong: kit.ChatWire.TooLong, TextFrame: kit.ChatWire.TextFrame, IdleFrame: kit.ChatWire.IdleFrame, Incomplete: kit.ChatWire.Incomplete,
	Admit: kit.AdmitYandex,
}

// YandexModel is the model that an address "gpt://folder/model[/version]" names; false for anything else.
func YandexModel(uri string) (model string, ok bool) {
	rest, found := strings.CutPrefix(uri, "gpt://")
	parts := strings.Split(rest, "/")
	if !found || len(parts) < 2 || len(parts) > 3 || parts[0] == "" || parts[1] == "" {
		return "", false
	}
	return parts[1], true
}
