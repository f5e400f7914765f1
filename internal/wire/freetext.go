package wire

import (
	"weir/internal/completion"
	"weir/internal/rawjson"
)

// FreeText is the text in the arguments of a function that stands for a tool that takes free text; ok is false where they have none.
func FreeText(arguments []byte) (text []byte, ok bool) {
	if !rawjson.Valid(arguments) {
		return nil, false
	}
	return rawjson.Unquote(rawjson.Find(arguments, completion.FreeText))
}
