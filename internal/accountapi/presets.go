package accountapi

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/preset"
	"weir/internal/rawjson"
	"weir/internal/routing"
	"weir/internal/wire"
	"weir/internal/wire/chat"
)

// Bodies that save a preset: their content, in which each byte may be escaped, and what is beside it.
const presetBody = 6*preset.MaxContent + 8<<10

var presetForm = rawjson.Limits{Depth: 40, Keys: 2000, Values: 20_000}

// PresetContent is what a preset says, null for what it does not.
type PresetContent struct {
	Model        operation.As[*string]  `json:"model"`                               // slug of the model; null: the request names one
	Models       operation.As[[]string] `json:"models" nullable:"true" maxItems:"9"` // fallbacks, in order
	SystemPrompt operation.As[*string]  `json:"system_prompt" maxLength:"32768"`

	// In the words of /v1/chat/completions: temperature, top_p, top_k, min_p, top_a, frequency_penalty, presence_penalty, repetition_penalty, seed,
	// stop, max_tokens, reasoning, response_format, verbosity, service_tier
	Parameters operation.As[map[string]any] `json:"parameters" nullable:"true"`

	Provider operation.As[map[string]any]   `json:"provider" nullable:"true"`              // routing preferences, as in a request
	Tools    operation.As[[]map[string]any] `json:"tools" nullable:"true" maxItems:"128"`  // functions, in the words of /v1/chat/completions
	Plugins  operation.As[[]map[string]any] `json:"plugins" nullable:"true" maxItems:"64"` // as in a request
}

func contentOf(text string) (c PresetContent) {
	content := []byte(text)
	c.Model.Raw, c.Models.Raw = rawjson.Find(content, "model"), rawjson.Find(content, "models")
	c.SystemPrompt.Raw, c.Parameters.Raw = rawjson.Find(content, "system_prompt"), rawjson.Find(content, "parameters")
	c.Provider.Raw, c.Tools.Raw, c.Plugins.Raw = rawjson.Find(content, "provider"), rawjson.Find(content, "tools"), rawjson.Find(content, "plugins")
	return c
}

// PresetHead is a preset without what it says.
type PresetHead struct {
	Name        string    `json:"name"`
	Slug        string    `json:"slug"` // in place of a model: @preset/name
	Description *string   `json:"description"`
	Version     int64     `json:"version"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

func presetHead(p *preset.Preset) PresetHead {
	return PresetHead{Name: p.Name, Slug: preset.Prefix + p.Name, Description: OrNull(p.Description), Version: p.Version, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt}
}

// PresetUses is how much a preset was used.
type PresetUses struct {
	Days  int   `json:"days"` // over so many days, today included (UTC)
	Calls int64 `json:"calls"`
	Keys  int64 `json:"keys"` // how many different keys made them
}

func usesOf(u preset.Use) PresetUses { return PresetUses{Days: 7, Calls: u.Calls, Keys: u.Keys} }

// PresetRow is a preset in the list.
type PresetRow struct {
	PresetHead
	Model *string    `json:"model"`
	Uses  PresetUses `json:"uses"`
}

// PresetList is all presets of an account.
type PresetList struct {
	Data []PresetRow    `json:"data"`
	Most int            `json:"most"` // how many presets an account may have
	Next operation.Null `json:"next"`
}

// Preset is a preset with what it says.
type Preset struct {
	PresetHead
	PresetContent
	Uses PresetUses `json:"uses"`
}

// PresetInput is a new preset.
type PresetInput struct {
	Name        string `json:"name" minLength:"1" maxLength:"64" pattern:"^[a-z0-9][a-z0-9_-]*$"`
	Description string `json:"description,omitempty" null:"none" maxLength:"200"`
	PresetContentInput
}

// PresetChange is the whole of a preset as it is to be.
type PresetChange struct {
	Of          string `json:"-" path:"name" example:"email-writer"`      // name of the preset
	Version     int64  `json:"-" query:"version" most:"9007199254740991"` // only if it has this version: somebody else's change meanwhile is answered with 409
	New         bool   `json:"-" query:"new"`                             // only if it is not there yet
	Description string `json:"description,omitempty" null:"none" maxLength:"200"`
	FromVersion *int64 `json:"from_version,omitempty" minimum:"1"` // the version that was changed. If it is not the current one, the answer is 409
	PresetContentInput
}

// PresetContentInput is what a preset is to say. It is read by what reads requests of chat.
type PresetContentInput struct {
	Model        operation.As[*string]  `json:"model,omitempty"`                               // slug of the model; null: the request names one
	Models       operation.As[[]string] `json:"models,omitempty" nullable:"true" maxItems:"9"` // fallbacks, in order
	SystemPrompt operation.As[*string]  `json:"system_prompt,omitempty" maxLength:"32768"`

	// In the words of /v1/chat/completions: temperature, top_p, top_k, min_p, top_a, frequency_penalty, presence_penalty, repetition_penalty, seed,
	// stop, max_tokens, reasoning, response_format, verbosity, service_tier
	Parameters operation.As[map[string]any] `json:"parameters,omitempty" nullable:"true"`

	Provider operation.As[map[string]any]   `json:"provider,omitempty" nullable:"true"`              // routing preferences, as in a request
	Tools    operation.As[[]map[string]any] `json:"tools,omitempty" nullable:"true" maxItems:"128"`  // functions, in the words of /v1/chat/completions
	Plugins  operation.As[[]map[string]any] `json:"plugins,omitempty" nullable:"true" maxItems:"64"` // as in a request
}

type presetName struct {
	Name string `json:"-" path:"name" example:"email-writer"` // name of the preset
}

type presetGone struct {
	Name    string `json:"-" path:"name" example:"email-writer"`      // name of the preset
	Version int64  `json:"-" query:"version" most:"9007199254740991"` // only if it has this version: somebody else's change meanwhile is answered with 409
}

// PresetVersionHead is a version of a preset.
type PresetVersionHead struct {
	Version int64     `json:"version"`
	SavedBy string    `json:"saved_by"` // user:… or key:…
	SavedAt time.Time `json:"saved_at"`
}

func versionHead(v *preset.Version) PresetVersionHead {
	return PresetVersionHead{Version: v.Number, SavedBy: v.By, SavedAt: v.At}
}

// PresetVersionList is the versions of a preset that are kept.
type PresetVersionList struct {
	Data []PresetVersionHead `json:"data"`
	Most int                 `json:"most"` // how many versions are kept
	Next operation.Null      `json:"next"`
}

// PresetVersion is a version of a preset with what it says.
type PresetVersion struct {
	PresetVersionHead
	PresetContent
}

type versionName struct {
	Name    string `json:"-" path:"name" example:"email-writer"` // name of the preset
	Version string `json:"-" path:"version" example:"1"`
}

// PresetRestore says which version is to be the newest one.
type PresetRestore struct {
	Name    string `json:"-" path:"name" example:"email-writer"` // name of the preset
	Version int64  `json:"version" minimum:"1"`
}

func presets(d Deps) []operation.Operation {
	return slices.Concat(stateOperations(d), []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/presets", ID: "listPresets", Org: operation.Workers, Access: operation.Management, Tag: "presets",
			Summary: "The presets of the account, by name", Answer: "All presets; there are at most 100",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (l PresetList, err error) {
			all, err := d.Presets.List(ctx, c.User)
			if err != nil {
				return l, err
			}
			uses, err := d.Presets.Uses(ctx, c.Wallet)
			l = PresetList{Data: make([]PresetRow, len(all)), Most: preset.MaxPerUser}
			for i := range all {
				l.Data[i] = PresetRow{PresetHead: presetHead(&all[i]), Model: modelAtHead(all[i].Content), Uses: usesOf(uses[all[i].Name])}
			}
			return l, err
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/presets", ID: "createPreset", Org: operation.Leaders, Access: operation.Management, Fresh: true, Status: 201, Tag: "presets",
			Body: presetBody, Form: presetForm, Summary: "Make a preset", Answer: "The new preset",
			Example: `{"name": "email-writer", "description": "Polite answers", "model": "sim/chat", "system_prompt": "You write short, polite e-mails.", ` +
				`"parameters": {"temperature": 0.3, "max_tokens": 400}, "provider": {"sort": "price"}}`,
		}, func(ctx context.Context, c *operation.Call, in *PresetInput) (operation.Data[Preset], error) {
			made, err := savePreset(ctx, d, c, preset.Save{Name: in.Name, Description: in.Description, New: true})
			return operation.Data[Preset]{Data: made.Data}, err
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/presets/{name}", ID: "getPreset", Org: operation.Workers, Access: operation.Management, Tag: "presets",
			Summary: "One preset with what it says", Answer: "The preset",
		}, func(ctx context.Context, c *operation.Call, in *presetName) (out operation.Data[Preset], err error) {
			p, err := d.Presets.ByName(ctx, c.User, in.Name)
			if err != nil {
				return out, err
			}
			return presetOf(ctx, d, c, &p)
		}),
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/presets/{name}", ID: "savePreset", Org: operation.Leaders, Access: operation.Management, Fresh: true, Tag: "presets",
			Body: presetBody, Form: presetForm, Summary: "Make a preset what the body says, whether or not it is there", Answer: "The preset, and whether anything changed",
			Description: "The body is the whole preset: what is missing, it does not have any more. It becomes the next version. Sent again, it changes nothing.",
			Example: `{"description": "Polite answers", "model": "sim/chat", "system_prompt": "You write short, polite e-mails.", ` +
				`"parameters": {"temperature": 0.2, "max_tokens": 400}}`,
		}, func(ctx context.Context, c *operation.Call, in *PresetChange) (out Put[Preset], err error) {
			s := preset.Save{Name: in.Of, Description: in.Description, New: in.New, From: in.Version}
			if in.FromVersion != nil {
				if s.From = *in.FromVersion; s.From < 1 {
					return out, fault.Field("accountapi.savePreset", "from_version", "from_version must be the number of the version that was changed.").Coded("from_version")
				}
			}
			return savePreset(ctx, d, c, s)
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/presets/{name}", ID: "deletePreset", Org: operation.Leaders, Access: operation.Management, Fresh: true, Tag: "presets",
			Summary: "Delete a preset with all its versions", Answer: "It is deleted",
		}, func(ctx context.Context, c *operation.Call, in *presetGone) (operation.Deleted, error) {
			return operation.Deleted{}, d.Presets.Delete(ctx, c.User, in.Name, in.Version, c.Actor)
		}),
	}, presetVersions(d))
}

func presetVersions(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/presets/{name}/versions", ID: "listPresetVersions", Org: operation.Workers, Access: operation.Management, Tag: "presets",
			Summary: "The versions of a preset that are kept, newest first", Answer: "All versions; the newest 50 are kept",
		}, func(ctx context.Context, c *operation.Call, in *presetName) (PresetVersionList, error) {
			all, err := d.Presets.Versions(ctx, c.User, in.Name)
			l := PresetVersionList{Data: make([]PresetVersionHead, len(all)), Most: preset.MaxVersions}
			for i := range all {
				l.Data[i] = versionHead(&all[i])
			}
			return l, err
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/presets/{name}/versions/{version}", ID: "getPresetVersion", Org: operation.Workers, Access: operation.Management, Tag: "presets",
			Summary: "One version with what it says", Answer: "The version",
		}, func(ctx context.Context, c *operation.Call, in *versionName) (out operation.Data[PresetVersion], err error) {
			n, err := strconv.ParseInt(in.Version, 10, 64)
			if err != nil || n < 1 {
				return out, fault.Field("accountapi.getPresetVersion", "version", "version must be a number: 1, 2, and so on.").Coded("version_number")
			}
			v, err := d.Presets.VersionOf(ctx, c.User, in.Name, n)
			return operation.Data[PresetVersion]{Data: PresetVersion{PresetVersionHead: versionHead(&v), PresetContent: contentOf(v.Content)}}, err
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/presets/{name}/restore", ID: "restorePreset", Org: operation.Leaders, Access: operation.Management, Fresh: true, Tag: "presets",
			Form: rawjson.Limits{Depth: 2, Keys: 10, Values: 20}, Summary: "Make an earlier version the newest one", Answer: "The preset with its new version", Example: `{"version": 1}`,
		}, func(ctx context.Context, c *operation.Call, in *PresetRestore) (out operation.Data[Preset], err error) {
			if in.Version < 1 {
				return out, fault.Field("accountapi.restorePreset", "version", "version must be the number of the version to restore.").Coded("version_number")
			}
			p, err := d.Presets.Restore(ctx, c.User, in.Name, in.Version, c.Actor)
			if err != nil {
				return out, err
			}
			return presetOf(ctx, d, c, &p)
		}),
	}
}

func presetOf(ctx context.Context, d Deps, c *operation.Call, p *preset.Preset) (operation.Data[Preset], error) {
	uses, err := d.Presets.Uses(ctx, c.Wallet)
	return operation.Data[Preset]{Data: Preset{PresetHead: presetHead(p), PresetContent: contentOf(p.Content), Uses: usesOf(uses[p.Name])}}, err
}

// modelAtHead is the model of a content of which only the beginning is there: it comes first. It is nil without one.
func modelAtHead(head string) *string {
	rest, ok := strings.CutPrefix(head, `{"model":`)
	if !ok || rest == "" || rest[0] != '"' {
		return nil
	}
	return OrNull(rawjson.Text([]byte(rest[:max(0, rawjson.StringEnd([]byte(rest), 0))])))
}

// savePreset saves what a body says beside the name and what is said of the preset.
func savePreset(ctx context.Context, d Deps, c *operation.Call, s preset.Save) (out Put[Preset], err error) {
	content := rawjson.Writer{B: make([]byte, 0, len(c.Content))}
	content.Object()
	for m := rawjson.MembersOf(c.Content); m.Next(); {
		switch string(m.Name) {
		case "name", "description", "from_version":
		default:
			content.Member(c.Content[m.Start:m.End])
		}
	}
	content.EndObject()
	checked, err := checkPreset(content.B, d.Catalog())
	if err != nil {
		return out, err
	}
	s.User, s.Content = c.User, checked.Text()
	is, was, err := d.Presets.Put(ctx, s, c.Actor)
	if err != nil {
		return out, err
	}
	shown, err := presetOf(ctx, d, c, &is)
	return Put[Preset]{Result: string(presetOutcome(&is, &was)), Data: shown.Data}, err
}

// checkPreset reads the content of a preset and has the chat style check it, in a request with nothing else. Without a catalog, models may be any.
func checkPreset(content []byte, c *catalog.Snapshot) (*wire.Preset, error) {
	p, err := wire.ReadPreset(content)
	if err != nil {
		return nil, err
	}
	for i, slug := range slices.Concat([]string{p.Model}, p.Models) {
		if slug == "" || c == nil {
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

// PresetChecker checks contents of presets against a catalog; without one, their models may be any.
func PresetChecker(c *catalog.Snapshot) func(content []byte) (string, error) {
	return func(content []byte) (string, error) {
		if err := rawjson.Check(content, presetForm); err != nil {
			return "", err
		}
		p, err := checkPreset(content, c)
		if err != nil {
			return "", err
		}
		return p.Text(), nil
	}
}
