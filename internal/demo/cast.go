package demo

import (
	"weir/internal/apikey"
	"weir/internal/money"
)

// role is what is known of an account before the month.
type role struct {
	name   string
	as     apikey.Role
	keysOf []keyOf
	habits []habit
	pays   bool       // by card; else an operator tops it up
	step   money.Nano // by how much
}

type keyOf struct {
	name     string
	limit    *apikey.Limit
	disabled bool
}

// habit is one program of an account, and how it calls.
type habit struct {
	key            int     // of keysOf
	perDay         float64 // calls on a working day
	weekend        float64 // of them on others
	from, to       int     // hours of its day, UTC
	models         []choice
	api            string
	agent          string
	title, referer string
	prompt, answer span // tokens
	cached         int  // percent of the prompts' tokens that come from a cache
	thinks         int  // percent of the answers' tokens that are reasoning
	stream         bool
	parameters     string
	until          int // last day, from 0; 0: all
}

// choice is a model with how often it is chosen.
type choice struct {
	model string
	share int
}

type span struct{ least, most int }

func limitOf(rubles int64, reset apikey.Reset) *apikey.Limit {
	return &apikey.Limit{Amount: money.Nano(rubles) * money.Ruble, Reset: reset}
}

// Owner is the name of the account that the demo signs in to.
const Owner = "demo"

// cast are the accounts. The first is the owner of the demo.
var cast = []role{
	{
		name: Owner, as: apikey.Administrator, pays: true, step: 1000 * money.Ruble,
		keysOf: []keyOf{{name: "Support bot", limit: limitOf(300, apikey.Monthly)}, {name: "Coding agents", limit: limitOf(100, apikey.Daily)}, {name: "Nightly summaries", limit: limitOf(50, apikey.Weekly)}, {name: "Old laptop", disabled: true}},
		habits: []habit{
			{key: 0, perDay: 18, weekend: .5, from: 7, to: 20, models: []choice{{"sim/gpt-5-mini", 6}, {"sim/gemini-2.5-flash", 3}, {"sim/claude-haiku-4.5", 1}}, api: "completions", agent: "OpenAI/Python 1.99.9", title: "Support bot", referer: "https://support.example", prompt: span{900, 3800}, answer: span{80, 420}, cached: 35, stream: true, parameters: `{"temperature":0.3,"max_tokens":800}`},
			{key: 1, perDay: 13, weekend: .2, from: 8, to: 18, models: []choice{{"sim/claude-sonnet-4.5", 7}, {"sim/claude-haiku-4.5", 3}}, api: "messages", agent: "claude-cli/2.1.4 (external, cli)", prompt: span{9000, 42000}, answer: span{150, 1600}, cached: 82, thinks: 20, stream: true, parameters: `{"max_tokens":32000}`},
			{key: 1, perDay: 5, weekend: .2, from: 9, to: 18, models: []choice{{"sim/gpt-5", 1}}, api: "responses", agent: "codex_cli_rs/0.58.0 (Linux 6.8; x86_64)", prompt: span{7000, 26000}, answer: span{200, 1800}, cached: 70, thinks: 45, stream: true, parameters: `{"reasoning":{"effort":"medium"}}`},
			{key: 2, perDay: 6, weekend: 1, from: 1, to: 3, models: []choice{{"sim/deepseek-v3.2", 4}, {"sim/qwen3-235b", 1}}, api: "completions", agent: "python-httpx/0.28.1", title: "Nightly summaries", prompt: span{5000, 14000}, answer: span{300, 900}, parameters: `{"temperature":0,"max_tokens":1200}`},
			{key: 3, perDay: 3, weekend: .4, from: 10, to: 19, models: []choice{{"sim/gpt-5-mini", 1}}, api: "completions", agent: "curl/8.5.0", prompt: span{20, 300}, answer: span{20, 400}, until: 9},
		},
	},
	{
		name: "Larch Books", as: apikey.User, pays: true, step: 200 * money.Ruble,
		keysOf: []keyOf{{name: "Shop assistant", limit: limitOf(250, apikey.Monthly)}, {name: "Catalogue texts"}},
		habits: []habit{
			{key: 0, perDay: 22, weekend: 1.3, from: 8, to: 22, models: []choice{{"sim/gemini-2.5-flash", 5}, {"sim/gpt-5-mini", 2}}, api: "completions", agent: "openai-node/5.12.2", title: "Shop assistant", referer: "https://larch.example", prompt: span{600, 2400}, answer: span{60, 300}, cached: 20, stream: true},
			{key: 1, perDay: 5, weekend: 0, from: 9, to: 17, models: []choice{{"sim/claude-sonnet-4.5", 1}}, api: "completions", agent: "openai-node/5.12.2", title: "Catalogue texts", prompt: span{400, 1500}, answer: span{300, 1200}},
		},
	},
	{
		name: "Harbour Logistics", as: apikey.User, step: 400 * money.Ruble,
		keysOf: []keyOf{{name: "Waybills"}, {name: "Dispatch"}},
		habits: []habit{
			{key: 0, perDay: 16, weekend: .1, from: 5, to: 16, models: []choice{{"sim/gemini-2.5-pro", 3}, {"sim/gpt-5", 1}}, api: "gemini", agent: "google-genai-sdk/1.28.0 gl-python/3.12", prompt: span{2500, 9000}, answer: span{200, 700}, thinks: 25, parameters: `{"temperature":0}`},
			{key: 1, perDay: 8, weekend: .4, from: 4, to: 19, models: []choice{{"sim/gigachat-2-max", 2}, {"sim/yandexgpt-5.1", 1}}, api: "completions", agent: "langchain-openai/0.3.33", title: "Dispatch", prompt: span{500, 1800}, answer: span{80, 350}},
		},
	},
	{
		name: "Otter Games", as: apikey.User, pays: true, step: 100 * money.Ruble,
		keysOf: []keyOf{{name: "Dialogue", limit: limitOf(5, apikey.Daily)}},
		habits: []habit{
			{key: 0, perDay: 34, weekend: 1.8, from: 11, to: 23, models: []choice{{"sim/llama-4-maverick", 6}, {"sim/deepseek-v3.2", 3}, {"sim/qwen3-235b", 1}}, api: "completions", agent: "ottergames-server/4.2", title: "Dialogue", referer: "https://otter.example", prompt: span{700, 2000}, answer: span{30, 180}, cached: 45, stream: true, parameters: `{"temperature":1.1,"max_tokens":200}`},
		},
	},
	{
		name: "Delta School", as: apikey.User, step: 50 * money.Ruble,
		keysOf: []keyOf{{name: "Homework helper", limit: limitOf(3, apikey.Daily)}},
		habits: []habit{
			{key: 0, perDay: 9, weekend: .3, from: 6, to: 18, models: []choice{{"sim/yandexgpt-5.1", 3}, {"sim/gpt-5-mini", 1}}, api: "completions", agent: "OpenAI/Python 1.99.9", title: "Homework helper", prompt: span{300, 1100}, answer: span{100, 500}, stream: true},
		},
	},
}
