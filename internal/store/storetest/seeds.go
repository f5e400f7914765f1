package storetest

import (
	_ "embed"
	"testing"
)

// seed is a row as versions before 1.0 wrote it, in the words of both engines.
type seed struct {
	since int64  // the state that has all of its columns
	sql   string // puts it there; $1, where it occurs, is oldRecord
	is    string // table and condition that hold for one row at the end
	blob  bool   // whether there is a $1
}

// oldRecord is the record of a call as the first versions stored it: as it was in the journal.
//
//go:embed testdata/record.bin
var oldRecord []byte

func (s seed) plant(t *testing.T, b Bare) {
	t.Helper()
	var args []any
	if s.blob {
		args = append(args, oldRecord)
	}
	if _, err := b.DB.ExecContext(t.Context(), s.sql, args...); err != nil {
		t.Fatalf("%s: %v", s.sql, err)
	}
}

// seeds are in the order in which they can be put there. Sums of the ledger are right, so that its checks must find nothing.
var seeds = []seed{
	{since: 1, sql: `INSERT INTO nodes (id, position, seen_at) VALUES ('node-old', 98, 1772625600000000)`, is: `nodes WHERE id = 'node-old' AND position = 98`},
	{since: 1, sql: `INSERT INTO wallets (id, credited, charged, created_at) VALUES ('wal_0123456789abcdefghij', 1000000000000, 13750000, 1772625600000000)`,
		is: `wallets WHERE id = 'wal_0123456789abcdefghij' AND credited - charged = 999986250000`},
	{since: 1, sql: `INSERT INTO wallets (id, created_at) VALUES ('wal_org', 1772625600000000)`, is: `wallets WHERE id = 'wal_org' AND leased = 0`},
	{since: 1, sql: `INSERT INTO transactions (kind, ref, at, actor) VALUES ('topup', 'topup:test:first', 1772625600000000, 'operator'), ('settle', 'settle:node-old:96', 1772625600000000, '')`,
		is: `transactions WHERE id = 2 AND ref = 'settle:node-old:96'`},
	{since: 1, sql: `INSERT INTO entries (account, ref, transaction_id, line, amount) VALUES
		('wallet:wal_0123456789abcdefghij', 'topup:test:first', 1, 0, 1000000000000), ('topup:test', 'topup:test:first', 1, 1, -1000000000000),
		('revenue', 'settle:node-old:96', 2, 0, 13750000), ('wallet:wal_0123456789abcdefghij', 'settle:gen-1772625600-0123456789abcdefghij', 2, 1, -13750000)`,
		is: `entries WHERE account = 'revenue' AND amount = 13750000`},
	{since: 1, blob: true, sql: `INSERT INTO generations (wallet, id, at, user_id, key_id, api, model, provider, status, error, cancelled, settled, cost, record) VALUES
		('wal_0123456789abcdefghij', 'gen-1772625600-0123456789abcdefghij', 1772625600123456, 'usr_0123456789abcdefghij', 'key_0123456789abcdefghij', 'completions', 'vendor/model', 'provider', 200, '', 0, 1, 13750000, $1)`,
		is: `generations WHERE model = 'vendor/model' AND cost = 13750000`},
	{since: 1, sql: `INSERT INTO key_spend (wallet, key_id, period, start, spent) VALUES
		('wal_0123456789abcdefghij', 'key_0123456789abcdefghij', 'total', 0, 13750000), ('wal_0123456789abcdefghij', 'key_0123456789abcdefghij', 'day', 1772582400, 13750000),
		('wal_0123456789abcdefghij', 'key_0123456789abcdefghij', 'week', 1772409600, 13750000), ('wal_0123456789abcdefghij', 'key_0123456789abcdefghij', 'month', 1772323200, 13750000)`,
		is: `key_spend WHERE period = 'day' AND spent = 13750000 AND forgiven = 0`},
	{since: 2, sql: `INSERT INTO users (id, name, wallet, created_at, updated_at) VALUES ('usr_0123456789abcdefghij', 'Анна', 'wal_0123456789abcdefghij', 1772625600000000, 1772625600000000)`,
		is: `users WHERE name = 'Анна' AND role = 'administrator' AND kind = ''`}, // the first user of a ledger is its administrator since 4
	{since: 2, sql: `INSERT INTO api_keys (id, hash, label, name, user_id, creator, management, limit_nano, limit_reset, created_at, updated_at) VALUES
		('key_0123456789abcdefghij', 'a1b2', 'sk-or-v1-abc...def', 'first', 'usr_0123456789abcdefghij', 'usr_0123456789abcdefghij', FALSE, 5000000000, 'daily', 1772625600000000, 1772625600000000)`,
		is: `api_keys WHERE hash = 'a1b2' AND limit_nano = 5000000000 AND rate_calls IS NULL AND member = ''`},
	{since: 2, sql: `INSERT INTO audit (seq, at, actor, from_addr, action, target, before, after, prev, hash) VALUES
		(1, 1772625600000000, 'bootstrap', '', 'user.create', 'usr_0123456789abcdefghij', '', 'Анна', '', 'eb467be268a07a6926cd05e87c21f974e81e634cba5926bb019504f7f572fb59'),
		(2, 1772625600000000, 'operator', '', 'topup', 'wal_0123456789abcdefghij', '', '1000 rubles, topup:test:first', 'eb467be268a07a6926cd05e87c21f974e81e634cba5926bb019504f7f572fb59', '66921100b13c63ee5f3ca95c78f7875501235d71a44a2010e13d0dd90eae9a8d')`,
		is: `audit WHERE action = 'topup' AND salt = '' AND erased = 0`},
	{since: 3, sql: `INSERT INTO idempotency (user_id, name, hash, generation, owner, created_at, stale_at, expires_at, finished, status, type, size) VALUES ('usr_0123456789abcdefghij', 'n', 'h', 'g', 'o', 1, 2, 3, TRUE, 200, 'application/json', 5)`,
		is: `idempotency WHERE name = 'n' AND finished`},
	{since: 4, blob: true, sql: `INSERT INTO catalog_rows (kind, id, spec, over, sealed, last4, version, updated_at) VALUES ('provider', 'acme', '{"dialect":"openai"}', FALSE, $1, 'wxyz', 1, 1772625600000000)`,
		is: `catalog_rows WHERE id = 'acme' AND last4 = 'wxyz'`},
	{since: 4, sql: `INSERT INTO catalog_changes (version, at, actor, from_addr, action, kind, id, after) VALUES (1, 1772625600000000, 'usr_0123456789abcdefghij', '', 'provider.put', 'provider', 'acme', '{"dialect":"openai"}')`,
		is: `catalog_keys WHERE provider = 'acme' AND id = 'pkey_first' AND state = 'in_use'`}, // since 47 keys of providers have a table
	{since: 5, blob: true, sql: `INSERT INTO responses (account, id, parent, status, background, created_at, expires_at, stale_at, size, object, input, output) VALUES ('usr_0123456789abcdefghij', 'resp_1', '', 'completed', FALSE, 1, 2, 0, 3, $1, $1, $1)`,
		is: `responses WHERE id = 'resp_1' AND size = 3 AND key_id = ''`},
	{since: 7, blob: true, sql: `INSERT INTO video_jobs (id, user_id, wallet, key_id, generation, model, state, ended, hold, cost, upstream_id, submitting, error, reason, cleanup, created_at, updated_at, deadline_at, completed_at, fence, node, epoch, request, detail) VALUES
		('video_1', 'usr_0123456789abcdefghij', 'wal_0123456789abcdefghij', 'key_0123456789abcdefghij', 'gen-1772625600-0123456789abcdefghij', 'vendor/video', 'completed', 'settled', 13750000, 13750000, 'up-1', FALSE, '', '', 0, 1, 2, 3, 4, 5, '', 0, $1, $1)`,
		is: `video_jobs WHERE id = 'video_1' AND ended = 'settled' AND accepted`},
	{since: 8, blob: true, sql: `INSERT INTO webhook_deliveries (id, account, url, event, payload, state, created_at, next_at, ended_at) VALUES ('whd_1', 'usr_0123456789abcdefghij', 'https://example.org', 'batch.completed', $1, 'delivered', 1, 2, 3)`,
		is: `webhook_deliveries WHERE id = 'whd_1' AND state = 'delivered'`},
	{since: 14, sql: `INSERT INTO logins (user_id, email, password, confirmed, created_at, updated_at) VALUES ('usr_0123456789abcdefghij', 'anna@example.org', 'p', TRUE, 1, 2)`,
		is: `logins WHERE email = 'anna@example.org' AND confirmed`},
	{since: 16, sql: `INSERT INTO files (id, user_id, purpose, name, bytes, hidden, gone, created_at, expires_at) VALUES ('file-1', 'usr_0123456789abcdefghij', 'batch', 'a.jsonl', 12, FALSE, FALSE, 1, 2)`,
		is: `files WHERE id = 'file-1' AND bytes = 12 AND key_id = ''`},
	{since: 16, blob: true, sql: `INSERT INTO batches (id, user_id, wallet, key_id, key_hash, generation, shape, endpoint, metadata, version, betas, state, input, output, failures, problems, late, paused, total, succeeded, failed, cancelled, expired, prompt, cached, completion, reasoning, cost, created_at, expires_at, keep_for, fence, node, epoch) VALUES
		('batch_1', 'usr_0123456789abcdefghij', 'wal_0123456789abcdefghij', 'key_0123456789abcdefghij', 'a1b2', 'gen-3', 'requests', '/v1/chat/completions', '', '', '', 'completed', 'file-1', '', '', $1, FALSE, '', 1, 1, 0, 0, 0, 5, 0, 5, 0, 9, 1, 2, 3, 4, '', 0)`,
		is: `batches WHERE id = 'batch_1' AND key_id = 'key_0123456789abcdefghij' AND cost = 9 AND tags = ''`}, // without key_hash since 19
	{since: 23, sql: `INSERT INTO payments (id, account, wallet, provider, state, amount, paid, url, return_url, description, email, save, method, auto, method_title, reason, problem, tries, created_at, updated_at) VALUES
		('pay_1', 'usr_0123456789abcdefghij', 'wal_0123456789abcdefghij', 'yookassa', 'canceled', 1000, 0, '', '', '', '', FALSE, '', FALSE, '', '', '', 1, 1, 2)`,
		is: `payments WHERE id = 'pay_1' AND state = 'canceled'`},
	{since: 25, sql: `INSERT INTO presets (user_id, name, description, version, created_at, updated_at) VALUES ('usr_0123456789abcdefghij', 'brief', '', 1, 1, 2)`, is: `presets WHERE name = 'brief'`},
	{since: 26, sql: `INSERT INTO batch_parts (id, batch, endpoint, path, state, upstream, lines, created_at) VALUES ('part_1', 'batch_1', 'e', '/v1/chat/completions', 'ended', 'up-2', 3, 1)`,
		is: `batch_parts WHERE id = 'part_1' AND clear_at = 0`}, // since 27 the provider is asked to delete what it keeps of it
	{since: 32, blob: true, sql: `INSERT INTO provider_keys (id, user_id, provider, placement, off, sealed, last4, created_at, changed_at) VALUES ('own_1', 'usr_0123456789abcdefghij', 'openai', 'before', 0, $1, 'abcd', 1, 2)`,
		is: `provider_keys WHERE id = 'own_1' AND failure = ''`},
	{since: 35, blob: true, sql: `INSERT INTO chats (user_id, id, title, size, created_at, updated_at, expires_at, content) VALUES ('usr_0123456789abcdefghij', 'chat_1', 'Погода', 3, 1, 2, 3, $1)`, is: `chats WHERE title = 'Погода'`},
	{since: 53, blob: true, sql: `INSERT INTO alert_channels (id, way, address, language, enabled, sealed, last4, version, failed, words) VALUES ('chn_1', 'telegram', '1', 'ru', TRUE, $1, 'zzzz', 1, '', '')`,
		is: `alert_channels WHERE id = 'chn_1' AND severity = 'warning'`},
	{since: 61, sql: `INSERT INTO users (id, name, wallet, kind, created_at, updated_at) VALUES ('usr_org', 'ООО', 'wal_org', 'organization', 1, 2)`, is: `users WHERE kind = 'organization' AND role = 'user'`},
	{since: 61, sql: `INSERT INTO organizations (id, creator, sees, created_at) VALUES ('usr_org', 'usr_0123456789abcdefghij', 'team', 1)`, is: `organizations WHERE id = 'usr_org' AND sees = 'team'`},
	{since: 63, sql: `INSERT INTO budgets (id, account, scope, scope_id, name, amount, reset, hard, alarms, models, providers, deny_collection, zdr, created_at, updated_at) VALUES
		('bud_1', 'usr_0123456789abcdefghij', 'account', '', 'month', 9000, 'monthly', TRUE, '80', '', '', FALSE, FALSE, 1, 2)`,
		is: `budgets WHERE id = 'bud_1' AND amount = 9000 AND hard`},
	{since: 67, sql: `INSERT INTO foreign_names (account, kind, name, id, fields, updated_at) VALUES ('usr_0123456789abcdefghij', 'key', 'k', 'key_0123456789abcdefghij', '{}', 1)`, is: `foreign_names WHERE name = 'k'`},
}
