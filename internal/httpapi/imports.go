package httpapi

import (
	"cmp"
	"math/big"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/foreign"
	"weir/internal/limit/quota"
	"weir/internal/rate"
	"weir/internal/rawjson"
)

// importBody is the largest body that imports: files of others as texts, in which bytes are escaped.
const importBody = 3*foreign.MaxBytes + 64<<10

// postImport serves POST /api/import: keys and presets from the files of another gateway, or with dry_run what they would become.
func (x *exchange) postImport() error {
	const op = "httpapi.postImport"
	source, files, dry, err := x.readImport()
	if err != nil {
		return err
	}
	if !x.api.imports.Enter(x.caller.User, 1) {
		return quota.Crowded(1, "max_imports_per_user", "An import of this account is running. Wait for its end, and import again: what is there already stays as it is.")
	}
	defer x.api.imports.Leave(x.caller.User)
	if err := x.charge(foreign.Memory(files)); err != nil {
		return err
	}
	records, err := x.api.Rates.Rates(x.context())
	if err != nil {
		return err
	}
	effective, err := rate.At(x.api.Rates.DeclaredRate(), records, x.at)
	if err != nil {
		return err
	}
	snapshot := x.api.Catalog()
	rubles, ok := new(big.Rat).SetString(effective.RubPerUSD)
	if !ok {
		return fault.Newf(fault.Internal, op, "The rate %q is no number.", effective.RubPerUSD)
	}
	plan, err := foreign.Read(source, files, foreign.World{Model: foreign.Models(snapshot), Rate: rubles, Rates: x.api.cfg.mostRates(), Now: x.at})
	if err != nil {
		return err
	}
	result, err := plan.Apply(x.context(), &foreign.Account{
		User: x.caller.User, Keys: x.api.Keys, Presets: x.api.Presets, Check: PresetChecker(snapshot), Actor: x.actor(), Now: x.at,
	}, dry)
	if err != nil {
		return err
	}
	o := newObject(4096)
	o.Object()
	o.Name("data")
	AppendImport(&o.Writer, source, dry, &effective, plan, result)
	o.EndObject()
	x.w.Header()["Cache-Control"] = noStore
	return x.reply(&o)
}

// PresetChecker checks contents of presets against a catalog.
func PresetChecker(c *catalog.Snapshot) func(content []byte) (string, error) {
	return func(content []byte) (string, error) {
		if err := rawjson.Check(content, rawjson.Limits{Depth: 40, Keys: 2000, Values: 20_000}); err != nil {
			return "", err
		}
		p, err := CheckPreset(content, c)
		if err != nil {
			return "", err
		}
		return p.Text(), nil
	}
}

// readImport reads {source, files: [{name, text}], dry_run}. Without dry_run nothing is made: a client that wants it has to ask for it.
func (x *exchange) readImport() (source string, files []foreign.File, dry bool, err error) {
	const op = "httpapi.readImport"
	body, err := x.readBody()
	if err != nil {
		return "", nil, false, err
	}
	if err := rawjson.Check(body, rawjson.Limits{Depth: 4, Keys: 1000, Values: 1000}); err != nil {
		return "", nil, false, err
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return "", nil, false, fault.New(fault.Invalid, op, "The body must be a JSON object.")
	}
	dry = true
	for m := rawjson.MembersOf(body); m.Next(); {
		switch name := string(m.Name); {
		case name == "source" && rawjson.KindOf(m.Value) == rawjson.String:
			source = rawjson.Text(m.Value)
		case name == "files" && rawjson.KindOf(m.Value) == rawjson.Array:
			for e := rawjson.ElementsOf(m.Value); e.Next(); {
				text := rawjson.Find(e.Value, "text")
				if rawjson.KindOf(e.Value) != rawjson.Object || rawjson.KindOf(text) != rawjson.String {
					return "", nil, false, fault.Field(op, "files", "files must be a list of objects with name and text.").Coded("files_list")
				}
				files = append(files, foreign.File{Name: cmp.Or(rawjson.TextAt(e.Value, "name"), "The file"), Text: []byte(rawjson.Text(text))})
			}
		case name == "dry_run" && (string(m.Value) == "true" || string(m.Value) == "false"):
			dry = string(m.Value) == "true"
		case name == "source" || name == "files" || name == "dry_run":
			return "", nil, false, fault.Field(op, name, "%s has the wrong type: it is %s.", name, rawjson.KindOf(m.Value)).Coded("wrong_type")
		default:
			return "", nil, false, fault.Field(op, clip(name), "This route has no field of this name.").Coded("unknown_field")
		}
	}
	return source, files, dry, nil
}

// AppendImport writes what became of a plan, with the secrets of the keys that were made.
func AppendImport(w *rawjson.Writer, source string, dry bool, r *rate.Effective, plan *foreign.Plan, result *foreign.Result) {
	o := object{*w}
	o.Object()
	o.text("source", source)
	o.boolean("dry_run", dry)
	o.Name("rate").Object()
	o.text("rubles_per_dollar", r.RubPerUSD)
	o.text("source", r.Source)
	o.moment("from", r.From)
	o.EndObject()
	o.Name("keys").Array()
	for i := range result.Keys {
		appendImportedKey(&o, &result.Keys[i])
	}
	o.EndArray()
	o.Name("presets").Array()
	for i := range result.Presets {
		appendImportedPreset(&o, &result.Presets[i])
	}
	o.EndArray()
	o.Name("lost").Array()
	for i := range plan.Lost {
		l := &plan.Lost[i]
		o.Object()
		o.text("field", l.Field)
		o.text("why", string(l.Fate))
		o.integer("count", int64(l.Count))
		o.EndObject()
	}
	o.EndArray()
	o.EndObject()
	*w = o.Writer
}

func appendOutcome(o *object, i *foreign.Item, name string, dropped []string) {
	o.text("name", name)
	o.text("outcome", string(i.Outcome))
	o.textOrNull("reason", string(i.Reason))
	o.textOrNull("sentence", i.Why)
	o.texts("models_not_here", dropped)
}

func appendImportedKey(o *object, i *foreign.Item) {
	k := i.Key
	o.Object()
	appendOutcome(o, i, k.Name, k.Dropped)
	if k.Limit == nil {
		o.null("limit")
		o.null("limit_reset")
	} else {
		o.amountText("limit", k.Limit.Amount)
		o.textOrNull("limit_reset", string(k.Limit.Reset))
	}
	appendKeyRates(o, k.Rates)
	if len(k.Models) == 0 {
		o.null("allowed_models")
	} else {
		o.texts("allowed_models", k.Models)
	}
	o.moment("expires_at", k.ExpiresAt)
	o.boolean("disabled", k.Disabled)
	o.textOrNull("key", i.Secret)
	o.EndObject()
}

func appendImportedPreset(o *object, i *foreign.Item) {
	o.Object()
	appendOutcome(o, i, i.Preset.Name, i.Preset.Dropped)
	o.textOrNull("description", i.Preset.Description)
	if i.Outcome == foreign.Refused {
		for _, name := range [...]string{"model", "models", "system_prompt", "parameters", "provider", "tools", "plugins"} {
			o.null(name)
		}
	} else {
		appendContent(o, string(i.Preset.Content))
	}
	o.EndObject()
}
