package litellmapi

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"

	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/rawjson"
)

// Refused are fields of LiteLLM that would change what a call may do or where it goes, and have no counterpart: only empty values are taken.
type Refused struct {
	Aliases              operation.Raw `json:"aliases,omitempty" remedy:"Make a preset for each name, and call it as @preset/name."`
	AllowedCacheControls operation.Raw `json:"allowed_cache_controls,omitempty" remedy:"Leave it out."`
	AllowedRoutes        operation.Raw `json:"allowed_routes,omitempty" remedy:"A key here calls models, and manages nothing."`
	BudgetFallbacks      operation.Raw `json:"budget_fallbacks,omitempty" remedy:"Make a preset with fallbacks."`
	BudgetID             operation.Raw `json:"budget_id,omitempty" remedy:"Give max_budget and budget_duration, or make a budget with POST /api/budgets."`
	BudgetLimits         operation.Raw `json:"budget_limits,omitempty" remedy:"Make a budget of each interval with POST /api/budgets."`
	Config               operation.Raw `json:"config,omitempty" remedy:"Set provider of the key with PATCH /v1/keys/{hash}."`
	EnforcedParams       operation.Raw `json:"enforced_params,omitempty" remedy:"Leave it out."`
	Guardrails           operation.Raw `json:"guardrails,omitempty" remedy:"Leave it out: nothing here would run them."`
	ModelAliases         operation.Raw `json:"model_aliases,omitempty" remedy:"Make a preset for each name, and call it as @preset/name."`
	ModelMaxBudget       operation.Raw `json:"model_max_budget,omitempty" remedy:"Make a key for each model, with models and max_budget."`
	ModelRPMLimit        operation.Raw `json:"model_rpm_limit,omitempty" remedy:"Make a key for each model, with models and rpm_limit."`
	ModelTPMLimit        operation.Raw `json:"model_tpm_limit,omitempty" remedy:"Make a key for each model, with models and tpm_limit."`
	ObjectPermission     operation.Raw `json:"object_permission,omitempty" remedy:"Leave it out."`
	PassThroughRoutes    operation.Raw `json:"allowed_passthrough_routes,omitempty" remedy:"Leave it out: there are none here."`
	Permissions          operation.Raw `json:"permissions,omitempty" remedy:"Leave it out."`
	Policies             operation.Raw `json:"policies,omitempty" remedy:"Leave it out."`
	Prompts              operation.Raw `json:"prompts,omitempty" remedy:"Leave it out."`
	RouterSettings       operation.Raw `json:"router_settings,omitempty" remedy:"Set provider of the key with PATCH /v1/keys/{hash}, or make a preset with fallbacks."`
	RPMLimitType         operation.Raw `json:"rpm_limit_type,omitempty" remedy:"A limit holds for each key."`
	SoftBudget           operation.Raw `json:"soft_budget,omitempty" remedy:"Make a budget with alarms with POST /api/budgets."`
	Spend                operation.Raw `json:"spend,omitempty" remedy:"What was spent is what the ledger says. POST /api/keys/{hash}/reset-spending lets a limit count from now on."`
	Tags                 operation.Raw `json:"tags,omitempty" remedy:"Send the tags with each request, as metadata.tags or as header X-Weir-Tags."`
	TPMLimitType         operation.Raw `json:"tpm_limit_type,omitempty" remedy:"A limit holds for each key."`
}

// NoRates are limits of a minute that only keys have here.
type NoRates struct {
	MaxParallelRequests operation.Raw `json:"max_parallel_requests,omitempty" remedy:"Give it to the keys."`
	RPMLimit            operation.Raw `json:"rpm_limit,omitempty" remedy:"Give it to the keys."`
	TPMLimit            operation.Raw `json:"tpm_limit,omitempty" remedy:"Give it to the keys."`
}

// refuse fails for fields of these structs that say something.
func refuse(all ...any) error {
	for _, fields := range all {
		v := reflect.ValueOf(fields)
		for i, t := range reflect.VisibleFields(v.Type()) {
			if says(v.Field(i).Interface().(operation.Raw)) {
				name, _, _ := strings.Cut(t.Tag.Get("json"), ",")
				return refused(name, t.Tag.Get("remedy"))
			}
		}
	}
	return nil
}

func refused(name, remedy string) error {
	return fault.Field("litellmapi.refuse", name, "%s has no counterpart here. %s", name, remedy)
}

// says reports whether a value says anything: null, false, zero and what is empty do not.
func says(v operation.Raw) bool {
	switch string(v) {
	case "", "null", "false", `""`, "0", "0.0":
		return false
	}
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		m := rawjson.MembersOf(v)
		return m.Next()
	case rawjson.Array:
		e := rawjson.ElementsOf(v)
		return e.Next()
	}
	return true
}

// kept is what is kept of a thing because it has no effect here.
type kept struct {
	Metadata operation.Raw
	Duration string // the word of budget_duration
	Alias    string // of a user that is no service: those have a name here
	Email    string // of a user who was invited: by it they are found when they have accepted

	// Named are which of user_id, team_id and organization_id the client has named, of what it has made: it expects none of the others back. nil: it was
	// made elsewhere, and has all.
	Named []string
}

func keptOf(text string) (k kept) {
	if text == "" {
		return k
	}
	k.Metadata = operation.Raw(rawjson.Find([]byte(text), "metadata"))
	k.Duration = textOf(rawjson.Find([]byte(text), "budget_duration"))
	k.Alias = textOf(rawjson.Find([]byte(text), "user_alias"))
	k.Email = textOf(rawjson.Find([]byte(text), "user_email"))
	if named := rawjson.Find([]byte(text), "named"); named != nil {
		k.Named = []string{}
		for e := rawjson.ElementsOf(named); e.Next(); {
			k.Named = append(k.Named, textOf(e.Value))
		}
	}
	return k
}

func (k *kept) text() string {
	var w rawjson.Writer
	w.Object()
	if says(k.Metadata) {
		w.Name("metadata").Raw(k.Metadata)
	}
	if k.Duration != "" {
		w.Name("budget_duration").Text(k.Duration)
	}
	if k.Alias != "" {
		w.Name("user_alias").Text(k.Alias)
	}
	if k.Email != "" {
		w.Name("user_email").Text(k.Email)
	}
	if k.Named != nil {
		w.Name("named").Any(k.Named)
	}
	w.EndObject()
	return string(w.B)
}

// name notes which fields were named.
func (k *kept) name(fields map[string]string) {
	k.Named = []string{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if fields[name] != "" {
			k.Named = append(k.Named, name)
		}
	}
}

// shows is a value that a client expects back; nil where it has not named it.
func (k *kept) shows(field, v string) *string {
	if v == "" || k.Named != nil && !slices.Contains(k.Named, field) {
		return nil
	}
	return &v
}

func textOf(v []byte) string {
	if rawjson.KindOf(v) != rawjson.String {
		return ""
	}
	return rawjson.Text(v)
}

// setMetadata keeps metadata. LiteLLM has limits in it, too: those are refused.
func (k *kept) setMetadata(v operation.Raw) error {
	switch {
	case v == nil:
		return nil
	case rawjson.IsNull(v):
		k.Metadata = nil
		return nil
	case rawjson.KindOf(v) != rawjson.Object:
		return operation.WrongType("metadata", rawjson.KindOf(v).String())
	}
	remedies := map[string]string{}
	for _, t := range reflect.VisibleFields(reflect.TypeFor[Refused]()) {
		name, _, _ := strings.Cut(t.Tag.Get("json"), ",")
		remedies[name] = t.Tag.Get("remedy")
	}
	for m := rawjson.MembersOf(v); m.Next(); {
		if remedy, is := remedies[string(m.Name)]; is && says(m.Value) {
			return refused("metadata."+string(m.Name), remedy)
		}
	}
	k.Metadata = bytes.Clone(v)
	return nil
}
