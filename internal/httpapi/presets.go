package httpapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/preset"
	"weir/internal/rawjson"
	"weir/internal/routing"
	"weir/internal/wire"
	"weir/internal/wire/chat"
)

// presetBody is the largest body that saves a preset: its content, in which each byte may be escaped, and what is beside it.
const presetBody = 6*preset.MaxContent + 8<<10

// listPresets serves GET /api/presets: all of them, since there are few. What they say is left to GET /api/presets/{name}.
func (x *exchange) listPresets() error {
	all, err := x.api.Presets.List(x.context(), x.caller.User)
	if err != nil {
		return err
	}
	uses, err := x.api.Presets.Uses(x.context(), x.caller.Wallet)
	if err != nil {
		return err
	}
	o := newObject(512 * (1 + len(all)))
	o.Object()
	o.Name("data").Array()
	for i := range all {
		o.Object()
		appendPresetHead(&o, &all[i])
		o.raw("model", modelAtHead(all[i].Content))
		appendUses(&o, uses[all[i].Name])
		o.EndObject()
	}
	o.EndArray()
	o.integer("most", preset.MaxPerUser)
	o.null("next")
	o.EndObject()
	return x.reply(&o)
}

// modelAtHead is the model of a content of which only the beginning is there, as JSON: it comes first. It is "" where there is none.
func modelAtHead(head string) string {
	rest, ok := strings.CutPrefix(head, `{"model":`)
	if !ok || rest == "" || rest[0] != '"' {
		return ""
	}
	return rest[:max(0, rawjson.StringEnd([]byte(rest), 0))]
}

func appendPresetHead(o *object, p *preset.Preset) {
	o.text("name", p.Name)
	o.text("slug", preset.Prefix+p.Name)
	o.textOrNull("description", p.Description)
	o.integer("version", p.Version)
	o.moment("created_at", p.CreatedAt)
	o.moment("updated_at", p.UpdatedAt)
}

func appendUses(o *object, u preset.Use) {
	o.Name("uses").Object()
	o.integer("days", 7)
	o.integer("calls", u.Calls)
	o.integer("keys", u.Keys)
	o.EndObject()
}

// appendContent writes what a preset says, null for what it does not.
func appendContent(o *object, content string) {
	for _, name := range [...]string{"model", "models", "system_prompt", "parameters", "provider", "tools", "plugins"} {
		o.raw(name, string(rawjson.Find([]byte(content), name)))
	}
}

// getPreset serves GET /api/presets/{name}.
func (x *exchange) getPreset() error {
	p, err := x.api.Presets.ByName(x.context(), x.caller.User, x.values[0])
	if err != nil {
		return err
	}
	return x.replyPreset(http.StatusOK, &p)
}

func (x *exchange) replyPreset(status int, p *preset.Preset) error {
	uses, err := x.api.Presets.Uses(x.context(), x.caller.Wallet)
	if err != nil {
		return err
	}
	o := newObject(512 + len(p.Content))
	o.Object()
	o.Name("data").Object()
	appendPresetHead(&o, p)
	appendContent(&o, p.Content)
	appendUses(&o, uses[p.Name])
	o.EndObject()
	o.EndObject()
	x.writeBody(status, jsonType, o.B)
	return nil
}

// postPreset serves POST /api/presets.
func (x *exchange) postPreset() error {
	s, err := x.readPreset(true)
	if err != nil {
		return err
	}
	p, err := x.api.Presets.Save(x.context(), s, x.actor())
	if err != nil {
		return err
	}
	return x.replyPreset(http.StatusCreated, &p)
}

// putPreset serves PUT /api/presets/{name}, which adds a version.
func (x *exchange) putPreset() error {
	s, err := x.readPreset(false)
	if err != nil {
		return err
	}
	s.Name = x.values[0]
	p, err := x.api.Presets.Save(x.context(), s, x.actor())
	if err != nil {
		return err
	}
	return x.replyPreset(http.StatusOK, &p)
}

func (x *exchange) readPreset(creating bool) (s preset.Save, err error) {
	const op = "httpapi.readPreset"
	body, err := x.readBody()
	if err != nil {
		return s, err
	}
	if err := rawjson.Check(body, rawjson.Limits{Depth: 40, Keys: 2000, Values: 20_000}); err != nil {
		return s, err
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return s, fault.New(fault.Invalid, op, "The body must be a JSON object.")
	}
	s = preset.Save{User: x.caller.User, New: creating}
	content := newObject(len(body))
	content.Object()
	for m := rawjson.MembersOf(body); m.Next(); {
		kind := rawjson.KindOf(m.Value)
		switch name := string(m.Name); {
		case name == "name" && creating && kind == rawjson.String:
			s.Name = rawjson.Text(m.Value)
		case name == "name" && creating:
			return s, fault.Field(op, "name", "name must be a string.").Coded("name_text")
		case name == "description" && kind == rawjson.String:
			s.Description = rawjson.Text(m.Value)
		case name == "description" && kind != rawjson.Null:
			return s, fault.Field(op, "description", "description must be a string or null.").Coded("description_text")
		case name == "description":
		case name == "from_version" && !creating:
			n, ok := rawjson.Int(m.Value)
			if !ok || n < 1 {
				return s, fault.Field(op, "from_version", "from_version must be the number of the version that was changed.").Coded("from_version")
			}
			s.From = n
		default:
			content.Member(body[m.Start:m.End])
		}
	}
	content.EndObject()
	p, err := CheckPreset(content.B, x.api.Catalog())
	if err != nil {
		return s, err
	}
	s.Content = p.Text()
	return s, nil
}

// CheckPreset reads the content of a preset and has the chat style check it, in a request with nothing else.
func CheckPreset(content []byte, c *catalog.Snapshot) (*wire.Preset, error) {
	p, err := wire.ReadPreset(content)
	if err != nil {
		return nil, err
	}
	for i, slug := range slices.Concat([]string{p.Model}, p.Models) {
		if slug == "" {
			continue
		}
		if _, _, ok := c.Resolve(slug); !ok {
			f := fault.From(routing.Unknown(slug, catalog.TypeChat, c))
			f.Kind, f.Param = fault.Invalid, "model"
			if i > 0 {
				f.Param = "models[" + strconv.Itoa(i-1) + "]"
			}
			return nil, f
		}
	}
	probe, _ := chat.WithPreset([]byte(`{"messages":[{"role":"user","content":"?"}]}`), p, "any/model")
	if _, err := chat.Decode(probe); err != nil {
		f := *fault.From(err)
		if !strings.HasPrefix(f.Param, "tools") && !strings.HasPrefix(f.Param, "plugins") {
			f.Param = "parameters." + f.Param
		}
		return nil, &f
	}
	return p, nil
}

// deletePreset serves DELETE /api/presets/{name}.
func (x *exchange) deletePreset() error {
	if err := x.api.Presets.Delete(x.context(), x.caller.User, x.values[0], x.actor()); err != nil {
		return err
	}
	var o object
	o.Object()
	o.boolean("deleted", true)
	o.EndObject()
	return x.reply(&o)
}

// listPresetVersions serves GET /api/presets/{name}/versions, newest first.
func (x *exchange) listPresetVersions() error {
	all, err := x.api.Presets.Versions(x.context(), x.caller.User, x.values[0])
	if err != nil {
		return err
	}
	o := newObject(256 * (1 + len(all)))
	o.Object()
	o.Name("data").Array()
	for i := range all {
		o.Object()
		appendVersionHead(&o, &all[i])
		o.EndObject()
	}
	o.EndArray()
	o.integer("most", preset.MaxVersions)
	o.null("next")
	o.EndObject()
	return x.reply(&o)
}

func appendVersionHead(o *object, v *preset.Version) {
	o.integer("version", v.Number)
	o.text("saved_by", v.By)
	o.moment("saved_at", v.At)
}

// getPresetVersion serves GET /api/presets/{name}/versions/{version}.
func (x *exchange) getPresetVersion() error {
	n, err := strconv.ParseInt(x.values[1], 10, 64)
	if err != nil || n < 1 {
		return fault.Field("httpapi.getPresetVersion", "version", "version must be a number: 1, 2, and so on.").Coded("version_number")
	}
	v, err := x.api.Presets.VersionOf(x.context(), x.caller.User, x.values[0], n)
	if err != nil {
		return err
	}
	o := newObject(256 + len(v.Content))
	o.Object()
	o.Name("data").Object()
	appendVersionHead(&o, &v)
	appendContent(&o, v.Content)
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}

// restorePreset serves POST /api/presets/{name}/restore: an earlier version becomes the newest one.
func (x *exchange) restorePreset() error {
	body, err := x.readBody()
	if err != nil {
		return err
	}
	if err := rawjson.Check(body, rawjson.Limits{Depth: 2, Keys: 10, Values: 20}); err != nil {
		return err
	}
	n, ok := rawjson.Int(rawjson.Find(body, "version"))
	if !ok || n < 1 {
		return fault.Field("httpapi.restorePreset", "version", "version is required: the number of the version to restore.").Coded("version_missing")
	}
	for m := rawjson.MembersOf(body); m.Next(); {
		if string(m.Name) != "version" {
			return fault.Field("httpapi.restorePreset", clip(string(m.Name)), "This route has no field of this name.").Coded("unknown_field")
		}
	}
	p, err := x.api.Presets.Restore(x.context(), x.caller.User, x.values[0], n, x.actor())
	if err != nil {
		return err
	}
	return x.replyPreset(http.StatusOK, &p)
}
