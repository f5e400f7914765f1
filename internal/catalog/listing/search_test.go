package listing

import (
	"slices"
	"testing"

	"weir/internal/catalog"
)

// People write names with other separators, by ear, with the wrong layout of their keyboard, and with a slip.
func TestSearchFindsWhatWasMeant(t *testing.T) {
	t.Parallel()
	var items []item
	for _, m := range []catalog.Model{
		{Slug: "openai/gpt-5", Vendor: "openai", Name: "GPT-5", Description: "Thinks."},
		{Slug: "openai/gpt-4o-mini", Vendor: "openai", Name: "GPT-4o mini"},
		{Slug: "anthropic/claude-sonnet-4.5", Vendor: "anthropic", Name: "Claude Sonnet 4.5", Description: "Writes code from 1 to 1 million lines."},
		{Slug: "deepseek/deepseek-chat", Vendor: "deepseek", Name: "DeepSeek V3"},
		{Slug: "google/gemini-2.5-pro", Vendor: "google", Name: "Gemini 2.5 Pro"},
		{Slug: "yandex/yandexgpt-5.1", Vendor: "yandex", Name: "YandexGPT 5.1", DescriptionRU: "Понимает русский язык."},
		{Slug: "openai/o1", Vendor: "openai", Name: "o1"},
	} {
		items = append(items, newItem(Offer{Model: &m, ID: m.Slug, Endpoints: []*catalog.Endpoint{{Model: &m}}}, nil))
	}
	l := newList(head, items, write)
	for search, want := range map[string][]string{
		"gpt5":              {"openai/gpt-5", "yandex/yandexgpt-5.1"},
		"GPT 5":             {"openai/gpt-5", "yandex/yandexgpt-5.1"},
		"gpt_5":             {"openai/gpt-5", "yandex/yandexgpt-5.1"},
		"gpt4omini":         {"openai/gpt-4o-mini"},
		"claude-sonnet-4-5": {"anthropic/claude-sonnet-4.5"},
		"Claude Sonnet 4.5": {"anthropic/claude-sonnet-4.5"},
		"anthropic claude":  {"anthropic/claude-sonnet-4.5"},
		"o1":                {"openai/o1"}, // and not "to 1 million"
		"клод":              {"anthropic/claude-sonnet-4.5"},
		"джемини про":       {"google/gemini-2.5-pro"},
		"джемини лес":       nil,
		"Клод Сонет":        {"anthropic/claude-sonnet-4.5"},
		"русский":           {"yandex/yandexgpt-5.1"},
		"пзе5":              {"openai/gpt-5", "yandex/yandexgpt-5.1"}, // gpt5 with the Russian layout
		"сдфгву":            {"anthropic/claude-sonnet-4.5"},
		"heccrbq":           {"yandex/yandexgpt-5.1"}, // русский with the Latin one
		"cluade":            {"anthropic/claude-sonnet-4.5"},
		"claud sonet":       {"anthropic/claude-sonnet-4.5"},
		"deapseek":          {"deepseek/deepseek-chat"},
		"deepseeek":         {"deepseek/deepseek-chat"},
		"gemin1":            nil, // digits are versions
		"gpt-6":             nil,
		"geminy pro":        {"google/gemini-2.5-pro"},
		"claudexyz":         nil,
		"---":               nil,
	} {
		var got []string
		for _, it := range l.choose(nil, &Query{Search: Fold(search)}) {
			got = append(got, it.ID)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", search, got, want)
		}
	}
}
