package storetest

import (
	"slices"
	"testing"
)

// retention says of a table why it does not grow for ever by what one account does.
type retention struct {
	grows string // who makes its rows grow in number
	bound string // what bounds the rows of one account
	ends  string // who deletes them, or why they stay
}

const (
	byUsers     = "users"
	byOperators = "operators" // and commands: trusted
	byNodes     = "nodes"     // the gateway itself, however many accounts there are

	withAccount = "when the account is made anonymous"
	asMoney     = "never: they explain money"
)

// lives has a row for each table of the store.
var lives = map[string]retention{
	"users":             {byUsers, "one: a sign-up needs a mailbox, an invitation or another provider, and mails are bounded by network", "never: the ledger names them"},
	"wallets":           {byUsers, "one", asMoney},
	"api_keys":          {byUsers, "keys.max_per_user that work, store.MostDeletedKeys that do not, and those that calls name", "the insert of another key; those that calls name stay"},
	"audit":             {byUsers, "quota changes_per_day and the sign-ins of a day; the rest is bounded by money or by mails", "never: the chain is whole"},
	"logins":            {byUsers, "one", withAccount},
	"sessions":          {byUsers, "20", "auth.Sweep"},
	"seeing":            {byOperators, "one for each session", "auth.Sweep"},
	"agent_devices":     {byUsers, "60 of a network that wait, 10000 of all", "agent.Sweep"},
	"tokens":            {byUsers, "some of each kind for a user, an address or a network", "auth.Sweep"},
	"passkeys":          {byUsers, "20", withAccount},
	"identities":        {byUsers, "20", withAccount},
	"agents":            {byUsers, "20", "agent.Sweep"},
	"agent_reports":     {byUsers, "agent.MaxReports", "agent.Sweep, 90 days after the last"},
	"second_steps":      {byUsers, "one", withAccount},
	"organizations":     {byUsers, "10 that are open, of a person; closed ones stay, as users do", "never: records name it"},
	"org_teams":         {byUsers, "200 of an organization", withAccount},
	"org_members":       {byUsers, "1000 of an organization", withAccount},
	"org_services":      {byUsers, "200 of an organization that work; ended ones as long as a key names them", "the next one that is made"},
	"org_directories":   {byUsers, "one of an organization", withAccount},
	"org_listed":        {byUsers, "5000 of an organization", withAccount},
	"org_groups":        {byUsers, "200 of an organization", withAccount},
	"org_group_members": {byUsers, "20000 of an organization", withAccount},
	"org_invitations":   {byUsers, "200 of an organization", "the next one that is made"},

	"chats":              {byUsers, "by number and bytes", "chat.Sweep"},
	"views":              {byUsers, "by number", withAccount},
	"budgets":            {byUsers, "by number", withAccount},
	"foreign_names":      {byUsers, "by number, of 4 KiB", withAccount},
	"agent_loops":        {byUsers, "one for each key", withAccount},
	"presets":            {byUsers, "by number", withAccount},
	"preset_versions":    {byUsers, "preset.MaxVersions of each, and by bytes", "the save of another one"},
	"preset_calls":       {byUsers, "a row for each preset, key and day", "the next call of the preset"},
	"provider_keys":      {byUsers, "one for each provider", withAccount},
	"notify_settings":    {byUsers, "one", withAccount},
	"notify_choices":     {byUsers, "one for each cause and channel", withAccount},
	"notify_accounts":    {byUsers, "one", withAccount},
	"notify_facts":       {byUsers, "notify.MostKept, and 100 that hold", "the next check, and notify 60 days after they are over"},
	"notify_reads":       {byUsers, "one for each account in which the person acts", "the end of the membership, or of the account"},
	"notify_mails":       {byUsers, "one for each cause", withAccount},
	"webhook_secrets":    {byUsers, "one", withAccount},
	"webhook_deliveries": {byUsers, "by jobs and facts, which are bounded", "webhook.Courier, when they have ended"},
	"idempotency":        {byUsers, "by number and bytes", "idempotency, when they expire"},
	"responses":          {byUsers, "by number and bytes", "history, when they expire"},
	"response_items":     {byUsers, "by their responses", "with their responses"},

	"files":       {byUsers, "by number and bytes", "batch.Sweep, when they expire"},
	"batches":     {byUsers, "max_active_batches_per_user at one time, each with a file", "batch.Sweep, some time after their end"},
	"batch_items": {byUsers, "by the lines of a file", "batch.Sweep, after the end of the batch"},
	"batch_parts": {byUsers, "by the lines of a batch", "batch.Sweep"},
	"batch_terms": {byUsers, "by the lines of a batch", "the end of the batch"},
	"video_jobs":  {byUsers, "by the money that their holds need, and max_active_per_user at one time", "video.Sweep, some time after their end"},
	"video_slots": {byUsers, "max_active_per_user", "the end of the job"},

	"generations":   {byUsers, "requests a minute, and money", "app.dropCalls, after store.retention"},
	"usage_daily":   {byUsers, "by what was called in a day", "never: the sums of the details that are dropped"},
	"usage_hourly":  {byUsers, "by what was called in an hour", "never: the sums of the details that are dropped"},
	"usage_groups":  {byUsers, "by what was called in a day", "never: the sums of the details that are dropped"},
	"call_failures": {byUsers, "by the causes of an hour, as many as calls failed", "the failures of another call, after 31 days"},
	"call_results":  {byUsers, "by what was called in an hour, of all users together", "app.dropCalls, after store.retention"},
	"tag_days":      {byUsers, "1,000 values of each property a day, 50 names of tags", "never: the sums of the details that are dropped"},
	"tag_usage":     {byUsers, "by what was called in a day, with the values of tag_days", "never: the sums of the details that are dropped"},
	"sales":         {byUsers, "by what was called in a day", asMoney},
	"sales_parts":   {byUsers, "by what was called in a day", asMoney},
	"usage_taxes":   {byUsers, "one for each day and tax", asMoney},
	"key_spend":     {byUsers, "one for each key and interval in which it was charged", asMoney},
	"wallet_zones":  {byUsers, "account.MostZones", "never: the days of the ledger follow from them"},
	"leases":        {byNodes, "by wallets and keys that are in use", "the node that has them, or the one that ends it"},
	"transactions":  {byUsers, "one for each charge and credit", asMoney},
	"entries":       {byUsers, "two for each charge and credit", asMoney},
	"key_stops":     {byUsers, "one for each key that was stopped in the last minutes", "the next stop of any key"},
	"limit_uses":    {byUsers, "one for each key in use, and three for each user", "quota, when the allowances are full"},

	"payments":            {byUsers, "payments.max_open at one time, each for an hour at most", asMoney},
	"payment_refunds":     {byOperators, "by payments", asMoney},
	"payment_rules":       {byUsers, "one", "the person who ends it"},
	"voucher_batches":     {byOperators, "", asMoney},
	"voucher_codes":       {byOperators, "", asMoney},
	"voucher_redemptions": {byUsers, "one for each batch", asMoney},
	"invoices":            {byUsers, "by open ones, and by day", "never: their numbers have no gaps"},
	"invoice_numbers":     {byOperators, "", "never: their numbers have no gaps"},
	"invoice_buyers":      {byUsers, "one", "never: they are the buyer of acts"},
	"invoice_transfers":   {byOperators, "", asMoney},
	"bank_statements":     {byOperators, "", asMoney},
	"bank_documents":      {byOperators, "", asMoney},
	"invoice_acts":        {byUsers, "one a month with charges", asMoney},

	"alert_rules":     {byOperators, "", "the operator who resets them"},
	"alert_channels":  {byOperators, "", "the operator who removes them"},
	"alert_incidents": {byNodes, "", "alert, 90 days after their end"},
	"alert_messages":  {byNodes, "", "with their incidents"},

	"catalog_rows":        {byOperators, "", "the operator who removes them"},
	"catalog_keys":        {byOperators, "", "the operator who forgets them, or removes the provider"},
	"catalog_changes":     {byOperators, "", "never: charges name their version"},
	"catalog_drafts":      {byOperators, "", "never: they say who changed which prices"},
	"reconciliations":     {byOperators, "", "the operator who deletes them"},
	"price_lists":         {byOperators, "", "the publication of another list: those in use and the one before stay"},
	"price_imports":       {byOperators, "", "never: one row"},
	"found_models":        {byOperators, "", "never: one for each provider that was asked for its models"},
	"endpoint_hours":      {byNodes, "", "health, when nobody asks for them any more"},
	"endpoint_marks":      {byNodes, "", "never: one for each node and slot"},
	"nodes":               {byNodes, "", "never: one for each data directory"},
	"books":               {byNodes, "", "never: one row"},
	"marks":               {byNodes, "", "never: one for each name"},
	"set_aside":           {byNodes, "", "never: for a decision of the operator"},
	"ledger_chain":        {byNodes, "", asMoney},
	"ledger_head":         {byNodes, "", "never: one row"},
	"ledger_horizon":      {byNodes, "", "never: one row"},
	"ledger_sweeps":       {byNodes, "", asMoney},
	"record_words":        {byNodes, "", "never: nothing adds any, and packed records of older versions refer to them"},
	"notify_key":          {byNodes, "", "never: one row"},
	"usage_form":          {byNodes, "", "never: one row"},
	"settled_differences": {byOperators, "", "the operator who takes the decision back"},
	"billed_keys":         {byOperators, "", "the operator who says otherwise; at most 500 names at once"},
}

// Lives checks that each table of a store has a row in lives, and each row a table.
func Lives(t *testing.T, tables []string) {
	t.Helper()
	if len(tables) < 40 {
		t.Fatalf("only the tables %v were found", tables)
	}
	for _, name := range tables {
		l, ok := lives[name]
		if !ok || l.grows == "" || l.ends == "" || l.grows == byUsers && l.bound == "" {
			t.Errorf("table %s: storetest/lives.go must say who makes it grow, what bounds its rows of one account, and who deletes them", name)
		}
	}
	for name := range lives {
		if !slices.Contains(tables, name) {
			t.Errorf("storetest/lives.go has a row for %s, which is no table", name)
		}
	}
}
