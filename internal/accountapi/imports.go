package accountapi

import (
	"cmp"
	"context"
	"math/big"
	"time"

	"weir/internal/fault"
	"weir/internal/gatewayimport"
	"weir/internal/limit"
	"weir/internal/limit/quota"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/rate"
	"weir/internal/rawjson"
)

// ImportFile is a file of another gateway.
type ImportFile struct {
	Name string `json:"name,omitempty" null:"none"` // for errors
	Text string `json:"text"`                       // JSON, or YAML without anchors
}

// ImportInput is files of another gateway, and what is to be made of them.
type ImportInput struct {
	Source string       `json:"source" enum:"openrouter,litellm,one-api,new-api"`
	Files  []ImportFile `json:"files"`                            // at most 120 files with 1 MiB together
	DryRun *bool        `json:"dry_run,omitempty" default:"true"` // only say what would be made
}

// ImportRate is with which dollars became rubles.
type ImportRate struct {
	RublesPerDollar string     `json:"rubles_per_dollar"`
	Source          string     `json:"source" enum:"static,manual,cbr"`
	From            *time.Time `json:"from"` // since when it holds; null for a rate of the configuration
}

// LostField is a field that was given and is not carried.
type LostField struct {
	Field string `json:"field"`
	Why   string `json:"why" enum:"secret,statistics,identity,operator,built_in,none,unknown"`
	Count int    `json:"count"` // how often it was given
}

// ImportOutcome is what became of a key or preset.
type ImportOutcome struct {
	Name    string `json:"name"` // the name here
	Outcome string `json:"outcome" enum:"new,made,exists,refused"`

	// Why it is not made.
	Reason *string `json:"reason" enum:"expired,no_name,not_active,no_content,no_model,management,wrong_limit,no_room,invalid"`

	Sentence      *string  `json:"sentence"`        // what is wrong with one that is invalid
	ModelsNotHere []string `json:"models_not_here"` // models that it named and that are not served here
}

// ImportedKey is what became of a key.
type ImportedKey struct {
	ImportOutcome
	Limit         *money.Nano `json:"limit"` // rubles
	LimitReset    *string     `json:"limit_reset" enum:"daily,weekly,monthly"`
	RateLimits    *KeyRates   `json:"rate_limits"`
	AllowedModels *[]string   `json:"allowed_models" nullable:"true"`
	ExpiresAt     *time.Time  `json:"expires_at"`
	Disabled      bool        `json:"disabled"`
	Key           *string     `json:"key"` // the secret of a key that was made; it is shown this once
}

// ImportedPreset is what became of a preset.
type ImportedPreset struct {
	ImportOutcome
	Description *string `json:"description"`
	PresetContent
}

// Import is what became of the files of another gateway.
type Import struct {
	Source  string           `json:"source" enum:"openrouter,litellm,one-api,new-api"`
	DryRun  bool             `json:"dry_run"`
	Rate    ImportRate       `json:"rate"`
	Keys    []ImportedKey    `json:"keys"`
	Presets []ImportedPreset `json:"presets"`
	Lost    []LostField      `json:"lost"`
}

func imports(d Deps) operation.Operation {
	running := limit.NewCount() // by users: two at once could make a key twice, and take memory
	return operation.Of(operation.Operation{
		Method: "POST", Path: "/api/import", ID: "importFromOthers", Org: operation.Owners, Access: operation.Management, Fresh: true, Tag: "account",
		Body: 3*gatewayimport.MaxBytes + 64<<10, // files as texts, in which bytes are escaped
		Form: rawjson.Limits{Depth: 4, Keys: 1000, Values: 1000}, Summary: "Keys and presets from the files of another gateway", Answer: "What became of the files",
		Description: "Says what the files become here and what is lost, and with `dry_run: false` makes it. What has a name that the account has already stays as it is. " +
			"New keys have new secrets, which are shown in this answer alone. Files of LiteLLM are its config.yaml and what its API lists; those of one-api and new-api are what `GET /api/token/` answers, or rows of their tables. " +
			"Keys of providers in them are not taken: the command of the operator does that.",
		Example: `{"source": "openrouter", "dry_run": true, "files": [{"name": "keys.json", "text": "{\"data\":[{\"hash\":\"f01d\",\"name\":\"Production\",\"limit\":100,\"limit_reset\":\"monthly\"}]}"}]}`,
	}, func(ctx context.Context, c *operation.Call, in *ImportInput) (out operation.Data[Import], err error) {
		if !running.Enter(c.User, 1) {
			return out, quota.Crowded(1, "max_imports_per_user", "An import of this account is running. Wait for its end, and import again: what is there already stays as it is.")
		}
		defer running.Leave(c.User)
		c.NoStore()
		out.Data, err = importFiles(ctx, d, c, in)
		return out, err
	})
}

func importFiles(ctx context.Context, d Deps, c *operation.Call, in *ImportInput) (out Import, err error) {
	files := make([]gatewayimport.File, len(in.Files))
	for i, f := range in.Files {
		files[i] = gatewayimport.File{Name: cmp.Or(f.Name, "The file"), Text: []byte(f.Text)}
	}
	if err := c.Charge(gatewayimport.Memory(files)); err != nil {
		return out, err
	}
	records, err := d.Rates.Rates(ctx)
	if err != nil {
		return out, err
	}
	effective, err := rate.At(d.Rates.DeclaredRate(), records, c.At)
	if err != nil {
		return out, err
	}
	snapshot := d.Catalog()
	rubles, ok := new(big.Rat).SetString(effective.RubPerUSD)
	if !ok {
		return out, fault.Newf(fault.Internal, "accountapi.import", "The rate %q is not a number.", effective.RubPerUSD)
	}
	plan, err := gatewayimport.Read(in.Source, files, gatewayimport.World{Model: gatewayimport.Models(snapshot), Rate: rubles, Rates: d.MostRates, Now: c.At})
	if err != nil {
		return out, err
	}
	if len(plan.Groups) > 0 {
		return out, fault.Field("accountapi.import", "files", "files: teams, users and tags are brought over by the command, weir import litellm --user org_.... Leave their files out.").Coded("import_groups")
	}
	dry := in.DryRun == nil || *in.DryRun // who wants something made has to say so
	result, err := plan.Apply(ctx, &gatewayimport.Account{User: c.User, Keys: d.Keys, Presets: d.Presets, Check: PresetChecker(snapshot), Actor: c.Actor, Now: c.At}, dry)
	if err != nil {
		return out, err
	}
	out = Import{
		Source: in.Source, DryRun: dry, Rate: ImportRate{RublesPerDollar: effective.RubPerUSD, Source: effective.Source, From: Moment(effective.From)},
		Keys: make([]ImportedKey, len(result.Keys)), Presets: make([]ImportedPreset, len(result.Presets)), Lost: make([]LostField, len(plan.Lost)),
	}
	for i := range result.Keys {
		out.Keys[i] = importedKey(&result.Keys[i])
	}
	for i := range result.Presets {
		out.Presets[i] = importedPreset(&result.Presets[i])
	}
	for i, l := range plan.Lost {
		out.Lost[i] = LostField{Field: l.Field, Why: string(l.Fate), Count: l.Count}
	}
	return out, nil
}

func outcomeOf(i *gatewayimport.Item, name string, dropped []string) ImportOutcome {
	return ImportOutcome{Name: name, Outcome: string(i.Outcome), Reason: OrNull(string(i.Reason)), Sentence: OrNull(i.Why), ModelsNotHere: dropped}
}

func importedKey(i *gatewayimport.Item) ImportedKey {
	k := i.Key
	out := ImportedKey{
		ImportOutcome: outcomeOf(i, k.Name, k.Dropped), RateLimits: ratesOf(k.Rates), AllowedModels: listOrNull(k.Models), ExpiresAt: Moment(k.ExpiresAt), Disabled: k.Disabled, Key: OrNull(i.Secret),
	}
	if k.Limit != nil {
		out.Limit, out.LimitReset = &k.Limit.Amount, OrNull(string(k.Limit.Reset))
	}
	return out
}

func importedPreset(i *gatewayimport.Item) ImportedPreset {
	p := ImportedPreset{ImportOutcome: outcomeOf(i, i.Preset.Name, i.Preset.Dropped), Description: OrNull(i.Preset.Description)}
	if i.Outcome != gatewayimport.Refused {
		p.PresetContent = contentOf(string(i.Preset.Content))
	}
	return p
}
