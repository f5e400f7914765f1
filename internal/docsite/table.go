package docsite

// group is a part of the documentation as its pages list it.
type group struct {
	name  string // key of words
	pages []entry
}

// entry is a page by its file in the repository. A name that ends in "/" is that of pages which are made: see makeBook.
type entry struct {
	file  string // "docs/money.md"
	about string // what the page is for, in one sentence
}

// groups has every page once, in the order in which a newcomer reads them. A new file in docs/ needs a line here; a test says so.
var groups = []group{
	{"start", []entry{
		{"docs/start.md", "From nothing to a streamed answer and its exact cost, in five minutes."},
		{"docs/clients.md", "Connect Claude Code, Codex, Cursor, Cline, Continue, the SDKs and frameworks."},
		{"docs/moving.md", "Come from OpenRouter, LiteLLM or a provider's own API: what to change, and what stays."},
		{"docs/migrate/openrouter.md", "Bring keys and presets from OpenRouter: export, import, and each field."},
		{"docs/migrate/litellm.md", "Bring keys, models and routing from LiteLLM: export, import, and each field."},
	}},
	{"guides", []entry{
		{"docs/guides/streaming.md", "Show an answer while it is written: in Python, Node, Go and curl, with its cost, and what to do when it breaks off."},
		{"docs/guides/tools.md", "Let a model call functions of your program: in Python, Node, Go and curl."},
		{"docs/guides/pay.md", "Put money into your wallet: by card, by itself, by bank transfer, with a code."},
		{"docs/guides/spend.md", "See in a browser what was spent and why, and bound it."},
		{"docs/guides/setups.md", "From the playground to a preset; what to bring from elsewhere."},
		{"docs/api.md", "Send requests, choose models and providers, read answers, errors and limits, and retry without paying twice."},
		{"docs/embeddings.md", "Turn texts into vectors."},
		{"docs/rerank.md", "Sort documents by how well they fit a query."},
		{"docs/moderation.md", "Find harmful content."},
		{"docs/audio.md", "Turn speech into text and text into speech."},
		{"docs/images.md", "Make and edit images."},
		{"docs/videos.md", "Make videos: submit a job, wait, download."},
		{"docs/batches.md", "Make thousands of requests within a day, from a file."},
		{"docs/presets.md", "Name a model with its parameters, instructions and routing, and change it without touching programs."},
		{"docs/own-keys.md", "Use your own key of a provider: its order, what it costs, what happens when it fails."},
		{"docs/webhooks.md", "Be called when a job has ended, and verify the call."},
		{"docs/notifications.md", "Be told before money, keys or models end: by mail and by webhook."},
		{"docs/account.md", "Read usage, calls, statements and keys with a program."},
		{"docs/simulator.md", "Test your program with answers, delays and faults, without a provider."},
	}},
	{"concepts", []entry{
		{"docs/routing.md", "How a provider is chosen, and what happens when one fails."},
		{"docs/money.md", "What is held and charged, when, and how to check it."},
		{"docs/conformance.md", "What works where: each style of clients with each provider API, as tests show it."},
		{"docs/security.md", "What is trusted, what is stored and for how long, and how secrets are kept."},
		{"docs/glossary.md", "One word for each thing."},
	}},
	{"reference", []entry{
		{referenceFolder, "Every operation of the API: parameters, bodies, answers, examples."},
		{"docs/errors.md", "Every error_type with its status, its cause and what to do."},
		{settingsFile, "Every setting: type, default, meaning, and whether a change needs a restart."},
		{"docs/metrics.md", "Every metric of a node: type, labels, and what it says."},
		{"docs/commands.md", "Every command of the program: an example, its arguments, its flags."},
		{"docs/catalog.md", "The models and providers that are built in, and where their prices come from."},
		{"CHANGELOG.md", "What changed, and what to do when you upgrade."},
	}},
	{"operate", []entry{
		{"docs/install.md", "As a Debian package, a container, or with compose; programs for all systems."},
		{"docs/operating.md", "Start, watch, upgrade, back up, and run several nodes."},
		{"docs/logs.md", "Each field of the log: of requests, and of all else."},
		{"docs/tracing.md", "Send traces of calls to OpenTelemetry: what they have, and whose they are."},
		{"docs/configuration.md", "The file, the environment, secrets, providers of your own, limits."},
		{"docs/sign-in.md", "How people sign in, and who may make an account."},
		{"docs/payments.md", "Let people pay for their wallets, give money back, compare with the provider."},
		{"docs/vouchers.md", "Make codes that put money into wallets."},
		{"docs/invoices.md", "Bank transfers of organizations: invoices, statements of the bank, acts."},
		{"docs/video-providers.md", "Switch on providers of videos, and what each supports."},
		{"docs/troubleshooting.md", "Find the cause by what you see."},
		{"docs/performance.md", "What Weir adds to a call, measured."},
		{"docs/scale.md", "How much one PostgreSQL takes, and how to go beyond it."},
		{"docs/reliability.md", "The tests that kill, cut and lie, and what they found."},
	}},
	{"develop", []entry{
		{"docs/structure.md", "The map of the code, and the rules between its packages."},
		{"docs/adding-a-provider.md", "Add a provider: from an entry in the configuration to a wire of its own."},
		{"docs/adding-a-price.md", "Add a kind of price."},
		{"docs/adding-a-resource.md", "Add a resource of an account, from its table to its page."},
		{"docs/ledger.md", "How the ledger works inside: leases, holds, the journal."},
		{"docs/video-jobs.md", "How a video job works inside, and what a crash leaves."},
	}},
	{"decisions", []entry{
		{"docs/decisions/account-api.md", "Why the routes of accounts are typed operations."},
		{"docs/decisions/README.md", "The decisions with their reasons and the rejected alternatives."},
		{"docs/decisions/backup.md", "A backup copies the journal before the database, while the node runs."},
		{"docs/decisions/bounds.md", "One function bounds what a call can consume; holds, reports and charges follow."},
		{"docs/decisions/canonical-form.md", "Every style and every wire goes through one form of requests and events."},
		{"docs/decisions/command-line.md", "Why kong reads the command line, and how shells complete it."},
		{"docs/decisions/configuration.md", "One struct for all settings, read strictly."},
		{"docs/decisions/corrections.md", "How money is given back or taken after the fact."},
		{"docs/decisions/databases.md", "One store for SQLite and PostgreSQL."},
		{"docs/decisions/embeddings.md", "Vectors travel as the bytes in which they came."},
		{"docs/decisions/errors.md", "One closed set of error kinds."},
		{"docs/decisions/events.md", "How open pages learn that something of an account has changed."},
		{"docs/decisions/files.md", "Large bodies are on disk, not in memory."},
		{"docs/decisions/flushing.md", "When a frame of a stream is flushed."},
		{"docs/decisions/signs-of-life.md", "Why whole answers send nothing before they are there."},
		{"docs/decisions/hints.md", "How nodes learn of each other's changes within a second."},
		{"docs/decisions/http-server.md", "Why clients are served by an HTTP server of our own."},
		{"docs/decisions/json.md", "A body is checked once, then walked."},
		{"docs/decisions/ledger.md", "Leases, holds and a journal, so that no call waits for the database."},
		{"docs/decisions/migrations.md", "Migrations only add, and what is unused goes one version later."},
		{"docs/decisions/paid-fields.md", "Fields that are refused, and features that need a price."},
		{"docs/decisions/own-keys.md", "An endpoint with an own key is an endpoint of its own, at the price of the fee."},
		{"docs/decisions/payments.md", "A notification of a payment is a hint to ask; what the provider confirms is credited, once."},
		{"docs/decisions/pdf.md", "PDF files are read in a process of their own."},
		{"docs/decisions/price-updates.md", "New prices are a draft: an operator sees what changes, and all nodes charge by what is published."},
		{"docs/decisions/prices.md", "What a price is, and the one rounding."},
		{"docs/decisions/provider-batches.md", "A provider's batch gives the answers of ordinary calls."},
		{"docs/decisions/retention.md", "How details of old calls are dropped while the checks of the books stay exact."},
		{"docs/decisions/exports.md", "Why calls are exported as CSV by day."},
		{"docs/decisions/schemas.md", "Answers are checked against schemas by a checker of our own."},
		{"docs/decisions/tasks.md", "Images, audio and vectors use the path of a chat."},
		{"docs/decisions/tracing.md", "Spans are written by a package of our own."},
		{"docs/decisions/unclear-submissions.md", "A video is never submitted twice."},
		{"docs/decisions/video-shapes.md", "A video job has two shapes."},
		{"docs/decisions/wire-reports.md", "Wires follow recordings and bug reports."},
		{"docs/decisions/withdrawn-goals.md", "Which goals do not count any more, what counts instead, and which trades are undone."},
		{"docs/decisions/vulnerabilities.md", "Known vulnerabilities are looked up live, or not at all."},
	}},
}
