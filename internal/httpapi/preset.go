package httpapi

import (
	"context"
	"strconv"
	"strings"

	"weir/internal/fault"
	"weir/internal/httpserver"
	"weir/internal/preset"
	"weir/internal/rawjson"
	"weir/internal/wire"
	"weir/internal/wire/gemini"
)

// Presets finds presets. *preset.Manager does.
type Presets interface {
	// Find finds a preset for a call, without a query for one that was used lately.
	Find(ctx context.Context, user, name string) (preset.Preset, error)
}

// filling writes a preset into a body. model is the model that the request names beside it, "" none.
type filling func(body []byte, p *wire.Preset, model string) []byte

// withPreset is a body with the preset that its model or its field preset names; without one it is the body.
func (x *request) withPreset(body []byte, fill filling) ([]byte, error) {
	if !wire.UsesPreset(body) {
		return body, nil
	}
	if err := rawjson.Check(body, rawjson.Defaults); err != nil {
		return nil, err
	}
	body, model, name, err := presetNamed(body, rawjson.TextAt(body, "model"))
	if name == "" || err != nil {
		return body, err
	}
	p, err := x.findPreset(name)
	if err != nil {
		return nil, err
	}
	if model == "" && p.Model == "" {
		return nil, fault.Field("httpapi.preset", "model", "The preset %q names no model. Name one, such as vendor/model%s%s.", name, preset.Prefix, name)
	}
	return x.filled(fill(body, p, model))
}

func (x *request) filled(body []byte) ([]byte, error) {
	if most := x.route.body(&x.api.cfg); int64(len(body)) > most+preset.MaxContent {
		return nil, httpserver.TooLarge(most)
	}
	return body, x.memory.Charge(int64(len(body)))
}

// presetNamed finds the name of the preset that a checked body uses, and the model that is asked for beside it; both may be "".
func presetNamed(body []byte, asked string) (out []byte, model, name string, err error) {
	const op = "httpapi.preset"
	model, name, _ = preset.Split(asked)
	name, _, _ = strings.Cut(name, "[") // a size of context, which coding tools append
	if strings.HasSuffix(asked, preset.Prefix) && asked != "" {
		return nil, "", "", fault.Field(op, "model", "model must name a preset after %s.", preset.Prefix)
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return body, model, name, nil
	}
	if v := wire.Present(rawjson.Find(body, "model")); v != nil && rawjson.KindOf(v) != rawjson.String {
		return nil, "", "", fault.Field(op, "model", "model must be a string: the slug of a model, or a preset.")
	}
	at := 0
	for e := rawjson.ElementsOf(rawjson.Find(body, "models")); e.Next(); at++ {
		if _, _, is := preset.Split(rawjson.Text(e.Value)); is {
			return nil, "", "", fault.Field(op, "models["+strconv.Itoa(at)+"]", "A preset cannot be a fallback. Name models in models, and the preset in model or preset.")
		}
	}
	v := rawjson.Find(body, "preset")
	switch {
	case v == nil:
		return body, model, name, nil
	case rawjson.IsNull(v):
		return wire.WithoutPreset(body), model, name, nil
	case rawjson.KindOf(v) != rawjson.String || rawjson.Text(v) == "":
		return nil, "", "", fault.Field(op, "preset", "preset must be the name of a preset.")
	}
	field := strings.TrimPrefix(rawjson.Text(v), preset.Prefix)
	if name != "" && name != field {
		return nil, "", "", fault.Field(op, "preset", "model and preset name different presets. Leave one of them out.")
	}
	return body, model, field, nil
}

// findPreset finds a preset of the caller's account, and has the record of the call name it.
func (x *request) findPreset(name string) (*wire.Preset, error) {
	if x.api.Presets == nil {
		return nil, preset.Missing(name)
	}
	found, err := x.presetNow(name)
	if err != nil {
		return nil, err
	}
	p, err := wire.ReadPreset([]byte(found.Content))
	if err != nil {
		return nil, fault.Newf(fault.Invalid, "httpapi.preset", "The preset %q cannot be used any more: %s Save it again.", name, fault.From(err).Public)
	}
	x.preset, x.presetVersion = found.Name, found.Version
	return p, nil
}

// presetNow finds a preset as it is; for the answer of a provider's batch as it was when the provider was asked.
func (x *request) presetNow(name string) (*preset.Preset, error) {
	if c := x.part; c != nil && c.Preset != nil && c.Preset.Name == name && c.Preset.User == x.caller.User {
		return c.Preset, nil
	}
	found, err := x.api.Presets.Find(x.context(), x.caller.User, name)
	if err == nil && x.deferred() {
		x.part.Preset = &found
	}
	return &found, err
}

// noPreset refuses a preset where a route has none.
func noPreset(models []string) error {
	for _, m := range models {
		if _, _, is := preset.Split(m); is {
			return fault.Field("httpapi.preset", "model", "Presets work with text, embeddings, rerank and moderation, and not with this route. Name the model itself.")
		}
	}
	return nil
}

// contentsPreset is withPreset for the Gemini style, whose model is in the address.
func (x *request) contentsPreset(body []byte, asked string) (out []byte, model string, err error) {
	if _, _, is := preset.Split(asked); !is && !wire.UsesPreset(body) {
		return body, asked, nil
	}
	if out, err = gemini.Checked(body); err != nil {
		return nil, "", err
	}
	if inner := rawjson.Find(out, "generateContentRequest"); rawjson.KindOf(inner) == rawjson.Object { // of a count
		out = inner
	}
	out, model, name, err := presetNamed(out, asked)
	if err != nil || name == "" {
		return out, model, err
	}
	p, err := x.findPreset(name)
	if err != nil {
		return nil, "", err
	}
	if model == "" {
		model = p.Model
	}
	if model == "" {
		return nil, "", fault.Field("httpapi.preset", "model", "The preset %q names no model. Name one in the address, and the preset in the field preset.", name)
	}
	out, err = x.filled(gemini.WithPreset(out, p))
	return out, model, err
}
