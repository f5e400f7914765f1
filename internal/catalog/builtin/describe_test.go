package builtin_test

import (
	"strings"
	"testing"
	"unicode"

	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/money"
)

// Every built-in model has a sentence in both languages, a name and a vendor.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	d, err := builtin.Declare(all(), rate(t, "1"))
	if err != nil {
		t.Fatal(err)
	}
	address(&d)
	snap, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range snap.Models() {
		for _, text := range []string{m.Summary, m.SummaryRU} {
			if !strings.HasPrefix(text, m.Name) || !strings.HasSuffix(text, ".") || strings.Contains(text, "  ") || strings.Contains(text, ", .") || strings.Contains(text, " ,") {
				t.Errorf("%s: %q", m.Slug, text)
			}
		}
		if !strings.ContainsFunc(m.SummaryRU, func(r rune) bool { return unicode.Is(unicode.Cyrillic, r) }) {
			t.Errorf("%s: %q", m.Slug, m.SummaryRU)
		}
		if vendor := catalog.VendorName(m.Vendor); vendor == "" || unicode.IsLower(rune(vendor[0])) && vendor != "xAI" && vendor != "inclusionAI" {
			t.Errorf("the vendor of %s is %q", m.Slug, vendor)
		}
	}
	for slug, want := range map[string][2]string{
		"openai/gpt-5.4": {
			"GPT-5.4 of OpenAI is a model for conversations that takes text, images and files, answers with text, has a context of 1,050,000 tokens, calls tools and reasons before it answers.",
			"GPT-5.4 (OpenAI) — модель для диалогов: принимает текст, изображения и файлы, отвечает текстом, контекст — 1\u00a0050\u00a0000 токенов, вызывает инструменты и рассуждает перед ответом.",
		},
		"openai/whisper-1": {"whisper-1 of OpenAI turns speech into text.", "whisper-1 (OpenAI) превращает речь в текст."},
	} {
		m, ok := snap.Model(slug)
		if !ok || [2]string{m.Summary, m.SummaryRU} != want {
			t.Errorf("%s: %q, %q", slug, m.Summary, m.SummaryRU)
		}
	}
}

// Of an endpoint about which nothing is declared, nothing is claimed.
func TestSummaryOfUnknownModel(t *testing.T) {
	t.Parallel()
	price := money.Price{Nano: 1, Set: true}
	d := catalog.Declared{
		Providers: []catalog.Provider{{ID: "p", Dialect: "openai", BaseURL: "https://p.test"}},
		Offers:    []catalog.Offer{{Provider: "p", Model: "some-lab/tiny", Pricing: catalog.Pricing{Base: catalog.Prices{Prompt: price, Completion: price}}}},
	}
	snap, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	m := snap.Models()[0]
	if m.Summary != m.Name+" of Some Lab is a model for conversations that answers with text." || m.SummaryRU != m.Name+" (Some Lab) — модель для диалогов: отвечает текстом." {
		t.Errorf("%q, %q", m.Summary, m.SummaryRU)
	}
}
