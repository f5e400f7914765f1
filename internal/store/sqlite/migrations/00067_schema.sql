-- All tables of Weir 1.0: this file alone makes a new database. A later change is a file of its own, with the next number. Databases that are older than 1.0
-- come here by the migrations in before1.0. See docs/decisions/one-schema.md. All of it is sent as one statement.
--
-- Times are Unix microseconds, amounts nano-rubles (1e-9 ruble), where nothing else is said. Keys hold the wallet or the account, so that tables can be split by it.

-- +goose Up
-- +goose StatementBegin

-- == The ledger: nodes with their journals, wallets, postings, what is borrowed and held

-- The identity of this ledger, so that no journal of another ledger is posted. One row.
CREATE TABLE books (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id  TEXT    NOT NULL
) STRICT;

-- A process with a journal. It increments beat while it runs. epoch is incremented when other nodes close its leases.
CREATE TABLE nodes (
    id       TEXT    PRIMARY KEY,
    epoch    INTEGER NOT NULL DEFAULT 0,
    beat     INTEGER NOT NULL DEFAULT 0,
    live     INTEGER NOT NULL DEFAULT 0, -- it has joined and not left
    position INTEGER NOT NULL DEFAULT 0, -- in its journal: all records before it are applied
    seen_at  INTEGER NOT NULL DEFAULT 0, -- only for information
    -- Its life, in which it may apply its journal. A copy of its data directory that starts later has another one.
    life     TEXT    NOT NULL DEFAULT '',
    -- What it serves: versions, as a JSON object. Nodes and operators compare them.
    serving  TEXT    NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

-- Projections of entries (credited, charged) and leases (leased). Balance is credited - charged, available is balance - leased.
CREATE TABLE wallets (
    id         TEXT    PRIMARY KEY,
    credited   INTEGER NOT NULL DEFAULT 0,
    charged    INTEGER NOT NULL DEFAULT 0,
    leased     INTEGER NOT NULL DEFAULT 0 CHECK (leased >= 0),
    recall     INTEGER NOT NULL DEFAULT 0, -- number of times a node found too little money here
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE transactions (
    id     INTEGER PRIMARY KEY,
    kind   TEXT    NOT NULL, -- settle, topup, adjustment
    ref    TEXT    NOT NULL UNIQUE,
    at     INTEGER NOT NULL,
    actor  TEXT    NOT NULL DEFAULT '',
    reason TEXT    NOT NULL DEFAULT ''
) STRICT;
-- Postings are never changed.
CREATE TRIGGER transactions_fixed BEFORE UPDATE ON transactions BEGIN SELECT RAISE(ABORT, 'transactions are never changed'); END;
CREATE TRIGGER transactions_kept BEFORE DELETE ON transactions BEGIN SELECT RAISE(ABORT, 'transactions are never deleted'); END;

-- The entries of one transaction sum to zero; line numbers them. The time is the transaction's.
CREATE TABLE entries (
    account        TEXT    NOT NULL, -- wallet:<id>, revenue, topup:<source>, adjustment
    ref            TEXT    NOT NULL,
    transaction_id INTEGER NOT NULL REFERENCES transactions (id),
    line           INTEGER NOT NULL,
    amount         INTEGER NOT NULL,
    PRIMARY KEY (account, ref)
) STRICT, WITHOUT ROWID;
-- Entries other than those of calls, by account and by transaction, for statements and for the refunds of a charge.
CREATE INDEX entries_by_account ON entries (account, transaction_id) WHERE substr(ref, 1, 7) <> 'settle:';
CREATE INDEX entries_by_transaction ON entries (transaction_id) WHERE substr(ref, 1, 7) <> 'settle:';
CREATE TRIGGER entries_fixed BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
CREATE TRIGGER entries_kept BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END;

-- Money that a node borrowed from a wallet (key_id '') or from a key's limit. The rest is granted - consumed.
CREATE TABLE leases (
    wallet   TEXT    NOT NULL,
    key_id   TEXT    NOT NULL DEFAULT '',
    period   TEXT    NOT NULL DEFAULT '',
    start    INTEGER NOT NULL DEFAULT 0,
    node     TEXT    NOT NULL,
    id       INTEGER NOT NULL,
    epoch    INTEGER NOT NULL,
    granted  INTEGER NOT NULL,
    consumed INTEGER NOT NULL DEFAULT 0,
    recall   INTEGER NOT NULL DEFAULT 0, -- the last recall of the wallet or key that it has handled
    at       INTEGER NOT NULL,
    -- The holds of calls in it, as reported with the node's last heartbeat.
    held     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (node, id, wallet)
) STRICT, WITHOUT ROWID;
CREATE INDEX leases_wallet ON leases (wallet, key_id);

-- The spending of a key in each interval (total, day, week, month), by the admission times of the calls. key_id is also the id of a budget in which calls count,
-- or of a key above the one that made them.
CREATE TABLE key_spend (
    wallet   TEXT    NOT NULL,
    key_id   TEXT    NOT NULL,
    period   TEXT    NOT NULL,
    start    INTEGER NOT NULL, -- 00:00 UTC of its first day; 0 for total
    spent    INTEGER NOT NULL DEFAULT 0,
    leased   INTEGER NOT NULL DEFAULT 0 CHECK (leased >= 0),
    recall   INTEGER NOT NULL DEFAULT 0,
    -- What does not count against a key's limit, because its spending was reset: spent is what calls cost, and stays.
    forgiven INTEGER NOT NULL DEFAULT 0,
    -- What calls spent whose details were dropped. Its digest is ledger_sweeps.funds.
    dropped  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (key_id, period, start, wallet)
) STRICT, WITHOUT ROWID;

-- Journal records that could not be posted, for a decision of the operator.
CREATE TABLE set_aside (
    id         INTEGER PRIMARY KEY,
    node       TEXT    NOT NULL,
    position   INTEGER NOT NULL, -- in the node's journal
    generation TEXT    NOT NULL,
    wallet     TEXT    NOT NULL,
    cost       INTEGER NOT NULL,
    reason     TEXT    NOT NULL,
    record     BLOB    NOT NULL,
    at         INTEGER NOT NULL,
    state      TEXT    NOT NULL DEFAULT 'open', -- open, posted, dismissed
    UNIQUE (node, position)
) STRICT;

-- The hash chain of postings and records: each link has a hash of the rows of one store transaction and of the previous link. The first link of a
-- ledger that existed before covers all its older rows. It is added when a node opens the store.
CREATE TABLE ledger_chain (
    seq    INTEGER NOT NULL PRIMARY KEY, -- 1, 2, ... without gaps
    first  INTEGER NOT NULL, -- of its transactions. 0: none
    last   INTEGER NOT NULL,
    calls  INTEGER NOT NULL, -- number of recorded calls
    digest BLOB    NOT NULL, -- of these calls, independent of their order
    hash   TEXT    NOT NULL
) STRICT;
CREATE TRIGGER ledger_chain_fixed BEFORE UPDATE ON ledger_chain BEGIN SELECT RAISE(ABORT, 'links of the ledger are never changed'); END;
CREATE TRIGGER ledger_chain_kept BEFORE DELETE ON ledger_chain BEGIN SELECT RAISE(ABORT, 'links of the ledger are never deleted'); END;

-- One row, which is locked by the transaction that adds a link until it ends.
CREATE TABLE ledger_head (
    id     INTEGER NOT NULL PRIMARY KEY,
    length INTEGER NOT NULL
) STRICT;

-- What remains of calls whose details were dropped. Each row is covered by the link of the chain with its number.
CREATE TABLE ledger_sweeps (
    seq     INTEGER NOT NULL PRIMARY KEY, -- of the link
    before  INTEGER NOT NULL, -- all calls began before that time
    calls   INTEGER NOT NULL,
    settled INTEGER NOT NULL, -- of them. Their entries stay
    rubles  INTEGER NOT NULL, -- costs, in two parts
    nanos   INTEGER NOT NULL,
    hours   BLOB    NOT NULL, -- digest of what they added to usage_hourly
    taxes   BLOB    NOT NULL, -- and to usage_taxes
    -- And to sales, key_spend and tag_usage: each is empty before that was kept.
    sales   BLOB    NOT NULL DEFAULT x'',
    funds   BLOB    NOT NULL DEFAULT x'',
    tags    BLOB    NOT NULL DEFAULT x''
) STRICT;
CREATE TRIGGER ledger_sweeps_fixed BEFORE UPDATE ON ledger_sweeps BEGIN SELECT RAISE(ABORT, 'what remains of calls is never changed'); END;
CREATE TRIGGER ledger_sweeps_kept BEFORE DELETE ON ledger_sweeps BEGIN SELECT RAISE(ABORT, 'what remains of calls is never deleted'); END;

-- One row, which is locked by the transaction that drops calls. Before that time calls may be dropped.
CREATE TABLE ledger_horizon (
    one    INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    before INTEGER NOT NULL
) STRICT;
INSERT INTO ledger_horizon (one, before) VALUES (1, 0);

-- The time zones of accounts, each with the hour from which days are counted in it. Before the first one that is UTC.
CREATE TABLE wallet_zones (
    wallet TEXT    NOT NULL,
    since  INTEGER NOT NULL, -- Unix seconds
    zone   TEXT    NOT NULL, -- of the IANA database
    PRIMARY KEY (wallet, since)
) STRICT, WITHOUT ROWID;

-- What a ledger is, such as a demo's, or one that was moved to another database.
CREATE TABLE marks (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- == Calls and what is summed up of them

-- One row per call: columns for searches and for the check of entries, and the whole record as in the journal.
-- The columns repeat values of the record. The check of records compares them.
CREATE TABLE generations (
    wallet    TEXT    NOT NULL,
    id        TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    user_id   TEXT    NOT NULL,
    key_id    TEXT    NOT NULL,
    api       TEXT    NOT NULL,
    model     TEXT    NOT NULL,
    provider  TEXT    NOT NULL,
    status    INTEGER NOT NULL,
    error     TEXT    NOT NULL,
    cancelled INTEGER NOT NULL,
    settled   INTEGER NOT NULL,
    cost      INTEGER NOT NULL,
    record    BLOB    NOT NULL,
    -- The record of a call as JSON. Rows of older versions have it packed in the column record, until they are rewritten in the background; then that is empty.
    details   TEXT,
    UNIQUE (wallet, id)
) STRICT;
-- Calls of a wallet by time, for lists.
CREATE INDEX generations_by_time ON generations (wallet, at);
-- Calls by the second in their ids, for a call whose account is not known. It is added to at its end alone, and takes a few bytes per call.
CREATE INDEX generations_by_second ON generations (substr(id, 5, 10));
CREATE INDEX generations_packed ON generations (wallet, id) WHERE details IS NULL;
-- Calls of all accounts that failed.
CREATE INDEX generations_failed ON generations (substr(id, 5, 10)) WHERE error <> '' AND cancelled = 0;
CREATE TRIGGER generations_kept BEFORE DELETE ON generations WHEN OLD.at >= (SELECT before FROM ledger_horizon) BEGIN SELECT RAISE(ABORT, 'generations are never deleted before their time'); END;
CREATE TRIGGER generations_fixed BEFORE UPDATE ON generations WHEN OLD.details IS NOT NULL OR NEW.details IS NULL OR NEW.record <> x'' OR (OLD.wallet, OLD.id, OLD.at, OLD.user_id, OLD.key_id, OLD.api, OLD.model, OLD.provider, OLD.status, OLD.error, OLD.cancelled, OLD.settled, OLD.cost) IS NOT (NEW.wallet, NEW.id, NEW.at, NEW.user_id, NEW.key_id, NEW.api, NEW.model, NEW.provider, NEW.status, NEW.error, NEW.cancelled, NEW.settled, NEW.cost)
BEGIN SELECT RAISE(ABORT, 'generations are never changed'); END;

-- Texts that the records of calls refer to, instead of having them themselves. Never changed: records cannot be read without them.
CREATE TABLE record_words (
    id    INTEGER PRIMARY KEY,
    words BLOB    NOT NULL,
    at    INTEGER NOT NULL
) STRICT;
CREATE TRIGGER record_words_fixed BEFORE UPDATE ON record_words BEGIN SELECT RAISE(ABORT, 'words of records are never changed'); END;
CREATE TRIGGER record_words_kept BEFORE DELETE ON record_words BEGIN SELECT RAISE(ABORT, 'words of records are never deleted'); END;

-- Roll-ups, so that pages need not read single calls. calls counts all calls, requests the charged ones. result is "ok", "canceled" or the error.
CREATE TABLE usage_daily (
    day              TEXT    NOT NULL, -- YYYY-MM-DD
    wallet           TEXT    NOT NULL,
    key_id           TEXT    NOT NULL,
    user_id          TEXT    NOT NULL,
    model            TEXT    NOT NULL,
    provider         TEXT    NOT NULL,
    api              TEXT    NOT NULL,
    result           TEXT    NOT NULL,
    calls            INTEGER NOT NULL,
    requests         INTEGER NOT NULL,
    errors           INTEGER NOT NULL, -- without what was canceled
    cancelled        INTEGER NOT NULL,
    prompt           INTEGER NOT NULL,
    cache_read       INTEGER NOT NULL,
    cache_write      INTEGER NOT NULL,
    completion       INTEGER NOT NULL,
    reasoning        INTEGER NOT NULL,
    cost             INTEGER NOT NULL,
    first_content_us INTEGER NOT NULL, -- sum over first_contents calls
    first_contents   INTEGER NOT NULL,
    generating_us    INTEGER NOT NULL,
    duration_us      INTEGER NOT NULL,
    refunded         INTEGER NOT NULL, -- of these calls; the other columns remain as consumed
    last_at          INTEGER NOT NULL, -- when the last of them began
    PRIMARY KEY (wallet, day, key_id, user_id, model, provider, api, result)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage_hourly (
    hour             INTEGER NOT NULL, -- its start, Unix seconds
    wallet           TEXT    NOT NULL,
    key_id           TEXT    NOT NULL,
    user_id          TEXT    NOT NULL,
    model            TEXT    NOT NULL,
    provider         TEXT    NOT NULL,
    endpoint         TEXT    NOT NULL,
    api              TEXT    NOT NULL,
    result           TEXT    NOT NULL,
    calls            INTEGER NOT NULL,
    requests         INTEGER NOT NULL,
    errors           INTEGER NOT NULL, -- without what was canceled
    cancelled        INTEGER NOT NULL,
    prompt           INTEGER NOT NULL,
    cache_read       INTEGER NOT NULL,
    cache_write      INTEGER NOT NULL,
    completion       INTEGER NOT NULL,
    reasoning        INTEGER NOT NULL,
    cost             INTEGER NOT NULL,
    first_content_us INTEGER NOT NULL, -- sum over first_contents calls
    first_contents   INTEGER NOT NULL,
    generating_us    INTEGER NOT NULL,
    duration_us      INTEGER NOT NULL,
    refunded         INTEGER NOT NULL, -- of these calls; the other columns remain as consumed
    last_at          INTEGER NOT NULL, -- when the last of them began
    PRIMARY KEY (wallet, hour, key_id, user_id, model, provider, endpoint, api, result)
) STRICT, WITHOUT ROWID;

-- Days of a wallet by two properties of its calls: few rows, for pages over long periods.
CREATE TABLE usage_groups (
    wallet           TEXT    NOT NULL,
    part             TEXT    NOT NULL, -- model (and provider), key (and user), kind (and result)
    day              TEXT    NOT NULL,
    value            TEXT    NOT NULL,
    beside           TEXT    NOT NULL,
    calls            INTEGER NOT NULL,
    requests         INTEGER NOT NULL,
    errors           INTEGER NOT NULL, -- without what was canceled
    cancelled        INTEGER NOT NULL,
    prompt           INTEGER NOT NULL,
    cache_read       INTEGER NOT NULL,
    cache_write      INTEGER NOT NULL,
    completion       INTEGER NOT NULL,
    reasoning        INTEGER NOT NULL,
    cost             INTEGER NOT NULL,
    first_content_us INTEGER NOT NULL, -- sum over first_contents calls
    first_contents   INTEGER NOT NULL,
    generating_us    INTEGER NOT NULL,
    duration_us      INTEGER NOT NULL,
    refunded         INTEGER NOT NULL, -- of these calls; the other columns remain as consumed
    last_at          INTEGER NOT NULL, -- when the last of them began
    PRIMARY KEY (wallet, part, day, value, beside)
) STRICT, WITHOUT ROWID;
-- The days of a model, and of a provider, over all accounts.
CREATE INDEX usage_groups_models ON usage_groups (value, day) WHERE part = 'model';
CREATE INDEX usage_groups_providers ON usage_groups (beside, day) WHERE part = 'model';
-- When each key of an account was last used.
CREATE INDEX usage_groups_keys ON usage_groups (wallet, value, day) WHERE part = 'key';

-- Which form of the roll-ups is filled. They are filled from the records when the store opens. One row.
CREATE TABLE usage_form (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    form    INTEGER NOT NULL,
    -- Whether sales are filled, and the digest of what calls added that were dropped before.
    sales   INTEGER NOT NULL DEFAULT 0,
    dropped BLOB    NOT NULL DEFAULT x'',
    -- Whether tag_days and tag_usage are filled.
    tags    INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO usage_form (one, form) VALUES (1, 0);

-- What a wallet's calls and refunds of a day contain of each VAT.
CREATE TABLE usage_taxes (
    wallet       TEXT    NOT NULL,
    day          TEXT    NOT NULL, -- YYYY-MM-DD: of a call when it began, of a refund when it was posted
    vat          TEXT    NOT NULL, -- per cent. '': without VAT
    calls        INTEGER NOT NULL, -- that were charged
    cost         INTEGER NOT NULL,
    tax          INTEGER NOT NULL, -- contained in cost: the sum over its calls, each rounded
    refunds      INTEGER NOT NULL,
    refunded     INTEGER NOT NULL,
    refunded_tax INTEGER NOT NULL, -- contained in refunded
    PRIMARY KEY (wallet, day, vat)
) STRICT, WITHOUT ROWID;

-- What calls brought and cost by day, account, model and provider, for operators. Days are those of UTC.
CREATE TABLE sales (
    day            TEXT    NOT NULL, -- YYYY-MM-DD: of a call when it began, of a refund when it was posted
    wallet         TEXT    NOT NULL,
    model          TEXT    NOT NULL,
    provider       TEXT    NOT NULL,
    calls          INTEGER NOT NULL,
    requests       INTEGER NOT NULL, -- that were charged
    prompt         INTEGER NOT NULL,
    cache_read     INTEGER NOT NULL,
    cache_write    INTEGER NOT NULL,
    completion     INTEGER NOT NULL,
    cost           INTEGER NOT NULL, -- rubles, with tax
    tax            INTEGER NOT NULL, -- in cost
    upstream       INTEGER NOT NULL, -- what providers ask for, in rubles at the rate of each call
    dollars        INTEGER NOT NULL, -- and in dollars
    unknown        INTEGER NOT NULL, -- calls whose provider's cost is not known
    unknown_net    INTEGER NOT NULL, -- what they were charged without tax: no part of a margin
    refunded       INTEGER NOT NULL, -- on that day, of calls of any day
    refunded_tax   INTEGER NOT NULL, -- in refunded
    losing         INTEGER NOT NULL, -- calls that cost more than they brought
    lost_price     INTEGER NOT NULL, -- by which their prices are too low
    lost_cache     INTEGER NOT NULL, -- likewise, of the cache alone
    lost_reported  INTEGER NOT NULL, -- by which providers asked for more than their prices
    lost_uncharged INTEGER NOT NULL, -- of calls that were not charged
    PRIMARY KEY (day, wallet, model, provider)
) STRICT, WITHOUT ROWID;
CREATE INDEX sales_by_wallet ON sales (wallet, day);

-- The same without one of its dimensions: a page that is about all accounts, or about all models, reads few rows.
CREATE TABLE sales_parts (
    part           TEXT    NOT NULL, -- model: value is a model, beside a provider; account: value is a wallet; month: also, day is the first of a month; day: all of a day
    day            TEXT    NOT NULL,
    value          TEXT    NOT NULL,
    beside         TEXT    NOT NULL,
    calls          INTEGER NOT NULL,
    requests       INTEGER NOT NULL, -- that were charged
    prompt         INTEGER NOT NULL,
    cache_read     INTEGER NOT NULL,
    cache_write    INTEGER NOT NULL,
    completion     INTEGER NOT NULL,
    cost           INTEGER NOT NULL, -- rubles, with tax
    tax            INTEGER NOT NULL, -- in cost
    upstream       INTEGER NOT NULL, -- what providers ask for, in rubles at the rate of each call
    dollars        INTEGER NOT NULL, -- and in dollars
    unknown        INTEGER NOT NULL, -- calls whose provider's cost is not known
    unknown_net    INTEGER NOT NULL, -- what they were charged without tax: no part of a margin
    refunded       INTEGER NOT NULL, -- on that day, of calls of any day
    refunded_tax   INTEGER NOT NULL, -- in refunded
    losing         INTEGER NOT NULL, -- calls that cost more than they brought
    lost_price     INTEGER NOT NULL, -- by which their prices are too low
    lost_cache     INTEGER NOT NULL, -- likewise, of the cache alone
    lost_reported  INTEGER NOT NULL, -- by which providers asked for more than their prices
    lost_uncharged INTEGER NOT NULL, -- of calls that were not charged
    PRIMARY KEY (part, day, value, beside)
) STRICT, WITHOUT ROWID;
-- The days of one account or one model, such as those since when it loses money.
CREATE INDEX sales_parts_by_value ON sales_parts (value, day);

-- What calls of a day were for, by each property that an account sorts them by. Calls without the property are in no row: they are the rest of the day.
--
CREATE TABLE tag_days (
    wallet           TEXT    NOT NULL,
    part             TEXT    NOT NULL, -- member, team, session, user, tag:NAME; tag: value is a name
    day              TEXT    NOT NULL, -- YYYY-MM-DD, of the account
    value            TEXT    NOT NULL, -- (alone): a name without a value; (other): values that are beyond the bound of a day
    calls            INTEGER NOT NULL,
    requests         INTEGER NOT NULL,
    errors           INTEGER NOT NULL,
    cancelled        INTEGER NOT NULL,
    prompt           INTEGER NOT NULL,
    cache_read       INTEGER NOT NULL,
    cache_write      INTEGER NOT NULL,
    completion       INTEGER NOT NULL,
    reasoning        INTEGER NOT NULL,
    cost             INTEGER NOT NULL,
    first_content_us INTEGER NOT NULL,
    first_contents   INTEGER NOT NULL,
    generating_us    INTEGER NOT NULL,
    duration_us      INTEGER NOT NULL,
    refunded         INTEGER NOT NULL,
    last_at          INTEGER NOT NULL,
    PRIMARY KEY (wallet, part, day, value)
) STRICT, WITHOUT ROWID;

-- The same by key, member, team, model, provider, kind and result, for reports that are about some of them.
CREATE TABLE tag_usage (
    wallet           TEXT    NOT NULL,
    part             TEXT    NOT NULL,
    day              TEXT    NOT NULL,
    value            TEXT    NOT NULL,
    key_id           TEXT    NOT NULL,
    member           TEXT    NOT NULL,
    team             TEXT    NOT NULL,
    model            TEXT    NOT NULL,
    provider         TEXT    NOT NULL,
    api              TEXT    NOT NULL,
    result           TEXT    NOT NULL,
    calls            INTEGER NOT NULL,
    requests         INTEGER NOT NULL,
    errors           INTEGER NOT NULL,
    cancelled        INTEGER NOT NULL,
    prompt           INTEGER NOT NULL,
    cache_read       INTEGER NOT NULL,
    cache_write      INTEGER NOT NULL,
    completion       INTEGER NOT NULL,
    reasoning        INTEGER NOT NULL,
    cost             INTEGER NOT NULL,
    first_content_us INTEGER NOT NULL,
    first_contents   INTEGER NOT NULL,
    generating_us    INTEGER NOT NULL,
    duration_us      INTEGER NOT NULL,
    refunded         INTEGER NOT NULL,
    last_at          INTEGER NOT NULL,
    PRIMARY KEY (wallet, part, value, day, key_id, member, team, model, provider, api, result)
) STRICT, WITHOUT ROWID;

-- Why calls failed, by hour and account, for operators: failed attempts, and calls that failed without one. Hours that are no longer asked for are dropped.
CREATE TABLE call_failures (
    hour     INTEGER NOT NULL, -- Unix seconds
    code     TEXT    NOT NULL, -- error_type
    provider TEXT    NOT NULL, -- '': none was asked
    words    TEXT    NOT NULL, -- what the provider's texts have in common
    endpoint TEXT    NOT NULL,
    wallet   TEXT    NOT NULL,
    errors   INTEGER NOT NULL,
    reached  INTEGER NOT NULL, -- of them, clients
    first_at INTEGER NOT NULL, -- microseconds
    last_at  INTEGER NOT NULL,
    sample   TEXT    NOT NULL, -- the last call
    said     TEXT    NOT NULL, -- what the provider said of it
    PRIMARY KEY (hour, code, provider, words, endpoint, wallet)
) STRICT, WITHOUT ROWID;

-- == People, how they sign in, and their keys

CREATE TABLE users (
    id          TEXT    NOT NULL PRIMARY KEY,
    name        TEXT    NOT NULL,
    wallet      TEXT    NOT NULL UNIQUE REFERENCES wallets (id),
    disabled    INTEGER NOT NULL DEFAULT 0,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    role        TEXT    NOT NULL DEFAULT 'user', -- user, operator, administrator
    -- For the choice of providers: the JSON object as it was sent, '' for none. web_key is the hash of the key of their calls from the browser.
    preferences TEXT    NOT NULL DEFAULT '',
    web_key     TEXT    NOT NULL DEFAULT '',
    -- How a person wants the pages. '' is the browser's.
    language    TEXT    NOT NULL DEFAULT '',
    theme       TEXT    NOT NULL DEFAULT '',
    kind        TEXT    NOT NULL DEFAULT '' -- "organization": an account in which several people act, and that cannot sign in; empty: a person
) STRICT;
-- How operators find people: the newest first.
CREATE INDEX users_by_age ON users (created_at, id);

-- How people sign in with e-mail and password.
CREATE TABLE logins (
    user_id    TEXT    NOT NULL PRIMARY KEY REFERENCES users (id),
    email      TEXT    UNIQUE,
    password   TEXT    NOT NULL,
    confirmed  INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    hash       TEXT    NOT NULL PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    user_id    TEXT    NOT NULL REFERENCES users (id),
    method     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    proved_at  INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    address    TEXT    NOT NULL,
    agent      TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_user ON sessions (user_id, seen_at);
CREATE INDEX sessions_expiring ON sessions (expires_at);
CREATE INDEX sessions_idle ON sessions (seen_at);

-- Operators who look at the interface as another person sees it. A row may outlive its session until it is swept: its end is in the audit chain, too.
CREATE TABLE seeing (
    session  TEXT    NOT NULL PRIMARY KEY, -- hash of the operator's session
    viewer   TEXT    NOT NULL REFERENCES users (id),
    user_id  TEXT    NOT NULL REFERENCES users (id),
    began_at INTEGER NOT NULL,
    until_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX seeing_over ON seeing (until_at);

-- Links and steps that work once.
CREATE TABLE tokens (
    hash       TEXT    NOT NULL PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    kind       TEXT    NOT NULL,
    user_id    TEXT    NOT NULL,
    email      TEXT    NOT NULL,
    role       TEXT    NOT NULL,
    note       TEXT    NOT NULL,
    data       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_by_owner ON tokens (kind, user_id, email);
CREATE INDEX tokens_expiring ON tokens (expires_at);

CREATE TABLE passkeys (
    id         TEXT    NOT NULL PRIMARY KEY,
    user_id    TEXT    NOT NULL REFERENCES users (id),
    name       TEXT    NOT NULL,
    data       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    used_at    INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX passkeys_by_user ON passkeys (user_id, created_at);

CREATE TABLE identities (
    issuer     TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    user_id    TEXT    NOT NULL REFERENCES users (id),
    email      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_by_user ON identities (user_id, created_at);

-- Accounts that require a passkey after every other way to sign in.
CREATE TABLE second_steps (
    user_id TEXT    NOT NULL PRIMARY KEY,
    since   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
    id             TEXT    NOT NULL PRIMARY KEY,
    hash           TEXT    NOT NULL UNIQUE,
    label          TEXT    NOT NULL,
    name           TEXT    NOT NULL,
    user_id        TEXT    NOT NULL REFERENCES users (id),
    creator        TEXT    NOT NULL,
    management     INTEGER NOT NULL,
    disabled       INTEGER NOT NULL DEFAULT 0,
    limit_nano     INTEGER,
    limit_reset    TEXT    NOT NULL DEFAULT '',
    strict         INTEGER NOT NULL DEFAULT 0,
    expires_at     INTEGER,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    deleted_at     INTEGER,
    -- Limits per minute. NULL: the operator's, 0: none.
    rate_requests  INTEGER,
    rate_tokens    INTEGER,
    rate_nano      INTEGER,
    preferences    TEXT    NOT NULL DEFAULT '',
    -- What it may be used for and from where, separated by spaces; '' for all.
    allowed_models TEXT    NOT NULL DEFAULT '',
    allowed_ips    TEXT    NOT NULL DEFAULT '',
    -- Its text before the last rotation, while that works.
    previous_hash  TEXT,
    previous_label TEXT    NOT NULL DEFAULT '',
    previous_until INTEGER,
    -- How many calls may run at one time; NULL: as many as the operator says.
    rate_calls     INTEGER,
    -- For whom it works in an organization: a person ("usr_...") or a service ("svc_..."); empty in a personal account.
    member         TEXT    NOT NULL DEFAULT '',
    -- Of keys that other keys made.
    parent         TEXT    NOT NULL DEFAULT '', -- id of the key that made it; empty: none
    tree           TEXT    NOT NULL DEFAULT '', -- id of the first such key above it
    depth          INTEGER NOT NULL DEFAULT 0,
    tools          TEXT    NOT NULL DEFAULT '' -- names, separated by spaces; empty: all
) STRICT;
CREATE INDEX api_keys_by_user ON api_keys (user_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX api_keys_previous ON api_keys (previous_hash);
-- How operators find a key: by the end of its label.
CREATE INDEX api_keys_by_end ON api_keys (substr(label, 16));
CREATE INDEX api_keys_tree ON api_keys (tree) WHERE tree <> '';
CREATE INDEX api_keys_parent ON api_keys (parent, created_at) WHERE parent <> '';

-- Keys whose running calls were stopped in the last minutes, and how often.
CREATE TABLE key_stops (
    key_id TEXT    NOT NULL PRIMARY KEY,
    n      INTEGER NOT NULL,
    at     INTEGER NOT NULL
) STRICT;

-- The last time that an agent repeated itself.
CREATE TABLE agent_loops (
    key_id TEXT    NOT NULL PRIMARY KEY,
    tools  TEXT    NOT NULL, -- names in their order, once, separated by line breaks between calls
    times  INTEGER NOT NULL,
    calls  INTEGER NOT NULL,
    since  INTEGER NOT NULL,
    until  INTEGER NOT NULL
) STRICT;

-- Programs on people's machines that ask to act for them, and those that do. Neither has a token in readable form.
CREATE TABLE agent_devices (
    hash       TEXT    NOT NULL PRIMARY KEY, -- of the device code
    code       TEXT    NOT NULL UNIQUE, -- that its person types
    client     TEXT    NOT NULL,
    address    TEXT    NOT NULL,
    network    TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    user_id    TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX agent_devices_by_network ON agent_devices (network, expires_at);
CREATE INDEX agent_devices_by_user ON agent_devices (user_id);
CREATE INDEX agent_devices_expiring ON agent_devices (expires_at);

CREATE TABLE agents (
    key_id     TEXT    NOT NULL PRIMARY KEY,
    user_id    TEXT    NOT NULL REFERENCES users (id),
    family     TEXT    NOT NULL UNIQUE, -- what its refresh tokens begin with
    hash       TEXT    NOT NULL, -- of the refresh token
    former     TEXT    NOT NULL, -- of the one before
    salt       TEXT    NOT NULL,
    client     TEXT    NOT NULL,
    address    TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    renewed_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX agents_by_user ON agents (user_id, renewed_at);
CREATE INDEX agents_expiring ON agents (expires_at);
CREATE INDEX agents_idle ON agents (renewed_at);

-- What programs that are signed in, such as Claude Code, report of their sessions: sums, and no text of the session but its id.
CREATE TABLE agent_reports (
    user_id        TEXT    NOT NULL REFERENCES users (id),
    session        TEXT    NOT NULL, -- as in the records of its calls
    client         TEXT    NOT NULL, -- name and version of the program
    first_at       INTEGER NOT NULL,
    last_at        INTEGER NOT NULL,
    edits_accepted INTEGER NOT NULL,
    edits_rejected INTEGER NOT NULL,
    tools_accepted INTEGER NOT NULL,
    tools_rejected INTEGER NOT NULL,
    lines_added    INTEGER NOT NULL,
    lines_removed  INTEGER NOT NULL,
    commits        INTEGER NOT NULL,
    pull_requests  INTEGER NOT NULL,
    user_ms        INTEGER NOT NULL,
    program_ms     INTEGER NOT NULL,
    PRIMARY KEY (user_id, session)
) STRICT;
CREATE INDEX agent_reports_last ON agent_reports (last_at);
CREATE INDEX agent_reports_of_user ON agent_reports (user_id, last_at);

-- Keys of providers that people bring for their own calls, sealed. One without a secret was removed, and its order stays.
CREATE TABLE provider_keys (
    id             TEXT    NOT NULL PRIMARY KEY,
    user_id        TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    provider       TEXT    NOT NULL,
    placement      TEXT    NOT NULL, -- before, after or only
    off            INTEGER NOT NULL,
    sealed         BLOB,
    last4          TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    changed_at     INTEGER NOT NULL, -- when the secret was given
    used_at        INTEGER,
    failure        TEXT    NOT NULL DEFAULT '', -- code of the last use, '' when that was none
    failure_status INTEGER NOT NULL DEFAULT 0,
    failed_at      INTEGER,
    UNIQUE (user_id, provider)
) STRICT;

-- == Organizations, their directories, budgets, and what other programs call their things

-- What an organization is beside its row in users.
CREATE TABLE organizations (
    id         TEXT    NOT NULL PRIMARY KEY REFERENCES users (id),
    creator    TEXT    NOT NULL, -- id of the person who made it
    sees       TEXT    NOT NULL, -- what managers see: "team" or "all"
    created_at INTEGER NOT NULL,
    closed_at  INTEGER
) STRICT;
CREATE INDEX organizations_by_creator ON organizations (creator);

CREATE TABLE org_teams (
    id         TEXT    NOT NULL PRIMARY KEY,
    org        TEXT    NOT NULL REFERENCES organizations (id),
    name       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (org, name)
) STRICT;

CREATE TABLE org_members (
    org       TEXT    NOT NULL REFERENCES organizations (id),
    user_id   TEXT    NOT NULL REFERENCES users (id),
    role      TEXT    NOT NULL,
    team      TEXT    NOT NULL DEFAULT '', -- id; empty: none
    source    TEXT    NOT NULL DEFAULT '', -- "oidc" or "scim": whose directory says role and team; empty: the organization's people
    web_key   TEXT    NOT NULL DEFAULT '', -- hash of the key of their calls from the browser
    joined_at INTEGER NOT NULL,
    PRIMARY KEY (org, user_id)
) STRICT;
CREATE INDEX org_members_by_user ON org_members (user_id);

-- Programs that work for an organization, and not for one of its people.
CREATE TABLE org_services (
    id         TEXT    NOT NULL PRIMARY KEY,
    org        TEXT    NOT NULL REFERENCES organizations (id),
    name       TEXT    NOT NULL,
    team       TEXT    NOT NULL DEFAULT '',
    creator    TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    ended_at   INTEGER
) STRICT;
CREATE INDEX org_services_by_org ON org_services (org, created_at);

CREATE TABLE org_invitations (
    id         TEXT    NOT NULL PRIMARY KEY,
    hash       TEXT    NOT NULL UNIQUE, -- of the text of its link
    org        TEXT    NOT NULL REFERENCES organizations (id),
    email      TEXT    NOT NULL, -- whom it is for; empty: anybody with the link
    role       TEXT    NOT NULL,
    team       TEXT    NOT NULL DEFAULT '',
    note       TEXT    NOT NULL DEFAULT '',
    places     INTEGER NOT NULL, -- how many people may use it
    taken      INTEGER NOT NULL DEFAULT 0,
    maker      TEXT    NOT NULL, -- id of the person
    created_at INTEGER NOT NULL,
    sent_at    INTEGER,
    opened_at  INTEGER,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX org_invitations_by_org ON org_invitations (org, created_at);

-- Directories of organizations: what SCIM has put there.
CREATE TABLE org_directories (
    org        TEXT    NOT NULL PRIMARY KEY REFERENCES organizations (id),
    token      TEXT    NOT NULL UNIQUE, -- hash of the text that lets a directory in
    maker      TEXT    NOT NULL, -- id of the person
    version    INTEGER NOT NULL DEFAULT 0, -- grows with each change
    created_at INTEGER NOT NULL,
    used_at    INTEGER
) STRICT;

CREATE TABLE org_listed (
    org         TEXT    NOT NULL REFERENCES organizations (id),
    user_id     TEXT    NOT NULL REFERENCES users (id),
    login       TEXT    NOT NULL, -- userName
    external_id TEXT    NOT NULL,
    display     TEXT    NOT NULL,
    formatted   TEXT    NOT NULL,
    given       TEXT    NOT NULL,
    family      TEXT    NOT NULL,
    email       TEXT    NOT NULL,
    role        TEXT    NOT NULL, -- that the directory gives the person itself; empty: groups say it
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (org, user_id)
) STRICT;
CREATE INDEX org_listed_by_user ON org_listed (user_id);

CREATE TABLE org_groups (
    id          TEXT    NOT NULL PRIMARY KEY,
    org         TEXT    NOT NULL REFERENCES organizations (id),
    name        TEXT    NOT NULL,
    external_id TEXT    NOT NULL,
    team        TEXT    NOT NULL, -- id; empty: none
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    UNIQUE (org, name)
) STRICT;

CREATE TABLE org_group_members (
    org      TEXT NOT NULL,
    group_id TEXT NOT NULL REFERENCES org_groups (id),
    user_id  TEXT NOT NULL REFERENCES users (id),
    PRIMARY KEY (org, group_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX org_group_members_by_user ON org_group_members (user_id);

-- Ceilings and rules of accounts, teams, members, keys, tags and sessions. What they have spent is in key_spend.
CREATE TABLE budgets (
    id              TEXT    NOT NULL PRIMARY KEY,
    account         TEXT    NOT NULL REFERENCES users (id),
    scope           TEXT    NOT NULL, -- its kind
    scope_id        TEXT    NOT NULL, -- id of the team, member or key, tag or session; empty: the account, or each session
    name            TEXT    NOT NULL,
    amount          INTEGER NOT NULL CHECK (amount >= 0),
    reset           TEXT    NOT NULL,
    hard            INTEGER NOT NULL,
    alarms          TEXT    NOT NULL, -- per cents, separated by spaces
    models          TEXT    NOT NULL, -- patterns, separated by spaces; empty: all
    providers       TEXT    NOT NULL, -- slugs, separated by spaces; empty: all
    deny_collection INTEGER NOT NULL,
    zdr             INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    UNIQUE (account, scope, scope_id, reset)
) STRICT;

-- What programs written for other gateways call things of an account, and say of them.
CREATE TABLE foreign_names (
    account    TEXT    NOT NULL,
    kind       TEXT    NOT NULL, -- key, team, user
    name       TEXT    NOT NULL,
    id         TEXT    NOT NULL, -- ours
    fields     TEXT    NOT NULL, -- a JSON object
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (account, kind, name),
    UNIQUE (account, id)
) STRICT, WITHOUT ROWID;

-- == The audit chain

-- Each row has the hash of the previous one, so that a check of the chain finds removed and edited rows.
CREATE TABLE audit (
    seq       INTEGER NOT NULL PRIMARY KEY,
    at        INTEGER NOT NULL,
    actor     TEXT    NOT NULL,
    from_addr TEXT    NOT NULL,
    action    TEXT    NOT NULL,
    target    TEXT    NOT NULL,
    before    TEXT    NOT NULL,
    after     TEXT    NOT NULL,
    prev      TEXT    NOT NULL,
    hash      TEXT    NOT NULL UNIQUE,
    -- What is personal can be erased: the salt keeps what was there from being guessed by its hash, and erased is the row that has the hash of the rest.
    salt      TEXT    NOT NULL DEFAULT '',
    erased    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX audit_erased ON audit (erased) WHERE erased > 0;
-- How operators find rows: by what they are about, by who did it, by what was done, and by when.
CREATE INDEX audit_by_target ON audit (target, seq);
CREATE INDEX audit_by_actor ON audit (actor, seq);
CREATE INDEX audit_by_action ON audit (action, seq);
CREATE INDEX audit_by_time ON audit (at, seq);
CREATE TRIGGER audit_keep_all BEFORE DELETE ON audit
BEGIN
    SELECT RAISE(ABORT, 'audit rows are never removed');
END;
CREATE TRIGGER audit_keep_rows BEFORE UPDATE ON audit WHEN NOT (OLD.erased = 0 AND NEW.erased > OLD.seq AND NEW.salt = '' AND NEW.from_addr = '' AND NEW.before IN ('', OLD.before) AND NEW.after IN ('', OLD.after)
    AND NEW.seq = OLD.seq AND NEW.at = OLD.at AND NEW.actor = OLD.actor AND NEW.action = OLD.action AND NEW.target = OLD.target AND NEW.prev = OLD.prev AND NEW.hash = OLD.hash)
BEGIN
    SELECT RAISE(ABORT, 'audit rows are never changed');
END;

-- == The catalog, and what providers bill

-- A provider or endpoint: complete, or changes of a built-in one. spec is a JSON object of texts.
CREATE TABLE catalog_rows (
    kind       TEXT    NOT NULL, -- provider, endpoint
    id         TEXT    NOT NULL,
    spec       TEXT    NOT NULL,
    over       INTEGER NOT NULL, -- it only changes a built-in one, and has no effect without it
    sealed     BLOB, -- the provider's credential, encrypted
    last4      TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

-- Keys of providers that the catalog has, sealed. A provider may have several: a new one is used before the old one goes. The version before reads and
-- writes catalog_rows.sealed: the newest key in use is there, too.
CREATE TABLE catalog_keys (
    provider   TEXT    NOT NULL, -- id of a row of catalog_rows
    id         TEXT    NOT NULL,
    sealed     BLOB    NOT NULL,
    last4      TEXT    NOT NULL,
    state      TEXT    NOT NULL, -- in_use, draining, off
    created_at INTEGER NOT NULL,
    actor      TEXT    NOT NULL, -- who added it; '' of one that is older than this table
    note       TEXT    NOT NULL,
    PRIMARY KEY (provider, id)
) STRICT, WITHOUT ROWID;

-- All changes of rows, rates and margins. The highest version is that of the catalog. The price list of a charge contains a version.
CREATE TABLE catalog_changes (
    version   INTEGER NOT NULL PRIMARY KEY,
    at        INTEGER NOT NULL,
    actor     TEXT    NOT NULL,
    from_addr TEXT    NOT NULL,
    action    TEXT    NOT NULL,
    kind      TEXT    NOT NULL, -- provider, endpoint, rate
    id        TEXT    NOT NULL,
    before    TEXT, -- the whole spec; NULL: there was no row
    after     TEXT -- NULL: the row was removed
) STRICT;
CREATE INDEX catalog_changes_by_kind ON catalog_changes (kind, version);
CREATE TRIGGER catalog_changes_fixed BEFORE UPDATE ON catalog_changes BEGIN SELECT RAISE(ABORT, 'catalog changes are never changed'); END;
CREATE TRIGGER catalog_changes_kept BEFORE DELETE ON catalog_changes BEGIN SELECT RAISE(ABORT, 'catalog changes are never deleted'); END;

-- Changes of prices that take effect together: the draft that is edited, and what was scheduled and published.
CREATE TABLE catalog_drafts (
    id              INTEGER NOT NULL PRIMARY KEY,
    version         INTEGER NOT NULL, -- number of times that it was changed
    state           TEXT    NOT NULL, -- open, scheduled, published, cancelled
    actor           TEXT    NOT NULL,
    at              INTEGER NOT NULL,
    from_at         INTEGER, -- when it takes effect; NULL: it is open
    catalog         INTEGER NOT NULL, -- version of the catalog that its rows have; 0: it is open
    edits           TEXT    NOT NULL, -- JSON: endpoints with what is set and unset and, once published, their rows before and after
    -- The price list that a draft brings; the data only until it is in use, when price_lists has it. prices_list '': the draft leaves the list as it is.
    prices_list     TEXT    NOT NULL DEFAULT '',
    prices_as_of    TEXT    NOT NULL DEFAULT '',
    prices_previous TEXT    NOT NULL DEFAULT '',
    prices_approved TEXT    NOT NULL DEFAULT '',
    prices_data     BLOB
) STRICT;
CREATE UNIQUE INDEX catalog_drafts_open ON catalog_drafts (state) WHERE state = 'open';
CREATE INDEX catalog_drafts_scheduled ON catalog_drafts (from_at, id) WHERE state = 'scheduled';

-- Price lists that were published: the one in use, the one before, and the one that an operator published last. catalog_changes says which.
CREATE TABLE price_lists (
    version TEXT NOT NULL PRIMARY KEY,
    data    BLOB NOT NULL
) STRICT;

-- The price list that was made last of the public ones, which is not in use.
CREATE TABLE price_imports (
    id      INTEGER NOT NULL PRIMARY KEY, -- 1: there is one
    list    TEXT    NOT NULL, -- its version
    as_of   TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    actor   TEXT    NOT NULL,
    notes   TEXT    NOT NULL, -- what happened to the public lists, in lines
    sources TEXT    NOT NULL, -- JSON: offers with the lists that their prices are from
    differs INTEGER NOT NULL,
    refused INTEGER NOT NULL,
    data    BLOB    NOT NULL
) STRICT;

-- What servers have said that are asked for their models. One node at a time asks.
CREATE TABLE found_models (
    provider TEXT    NOT NULL PRIMARY KEY,
    server   TEXT    NOT NULL DEFAULT '',
    asked    INTEGER NOT NULL,
    at       INTEGER, -- of the last answer
    problem  TEXT    NOT NULL DEFAULT '',
    notes    TEXT    NOT NULL DEFAULT '',
    models   TEXT    NOT NULL DEFAULT '[]',
    version  INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Comparisons of what providers bill with the calls of the gateway. The files themselves are not kept.
CREATE TABLE reconciliations (
    id       TEXT    NOT NULL PRIMARY KEY,
    provider TEXT    NOT NULL,
    actor    TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    head     TEXT    NOT NULL, -- JSON: files, what was compared how, sums of the differences
    body     TEXT    NOT NULL -- JSON: days and models, and the differences
) STRICT;
CREATE INDEX reconciliations_at ON reconciliations (at, id);

-- Differences with a provider's bill on which an operator has decided. They are of no comparison: one of the same days finds them again.
CREATE TABLE settled_differences (
    provider TEXT    NOT NULL,
    mark     TEXT    NOT NULL, -- what the difference is, see reconcile.Difference.Mark
    outcome  TEXT    NOT NULL, -- loss or explained
    reason   TEXT    NOT NULL,
    actor    TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (provider, mark)
) STRICT;

-- Which of the gateway's keys the keys in a provider's bills are.
CREATE TABLE billed_keys (
    provider TEXT NOT NULL,
    name     TEXT NOT NULL, -- of the key in bills
    tag      TEXT NOT NULL, -- catalog.KeyTag; '-': it is of another program
    PRIMARY KEY (provider, name)
) STRICT;

-- == Money from outside

-- Money that comes from payment providers, and what goes back to the payers.
CREATE TABLE payments (
    id           TEXT    NOT NULL PRIMARY KEY,
    account      TEXT    NOT NULL,
    wallet       TEXT    NOT NULL,
    provider     TEXT    NOT NULL,
    provider_id  TEXT, -- NULL until the provider has answered
    state        TEXT    NOT NULL CHECK (state IN ('new', 'pending', 'succeeded', 'canceled')),
    amount       INTEGER NOT NULL, -- that was asked for
    paid         INTEGER NOT NULL, -- that the provider confirmed and the wallet got
    url          TEXT    NOT NULL,
    return_url   TEXT    NOT NULL,
    description  TEXT    NOT NULL,
    email        TEXT    NOT NULL,
    save         INTEGER NOT NULL,
    method       TEXT    NOT NULL,
    auto         INTEGER NOT NULL,
    method_title TEXT    NOT NULL,
    reason       TEXT    NOT NULL,
    problem      TEXT    NOT NULL,
    tries        INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    due_at       INTEGER,
    looked_at    INTEGER NOT NULL DEFAULT 0,
    CHECK ((state = 'succeeded') = (paid > 0))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX payments_provider_id ON payments (provider, provider_id);
CREATE INDEX payments_account ON payments (account, created_at, id);
CREATE INDEX payments_created ON payments (created_at, id);
CREATE INDEX payments_due ON payments (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE payment_refunds (
    id          TEXT    NOT NULL PRIMARY KEY,
    payment     TEXT    NOT NULL REFERENCES payments (id),
    account     TEXT    NOT NULL,
    provider    TEXT    NOT NULL,
    provider_id TEXT,
    state       TEXT    NOT NULL CHECK (state IN ('new', 'pending', 'succeeded', 'canceled')),
    amount      INTEGER NOT NULL CHECK (amount > 0),
    reason      TEXT    NOT NULL,
    failure     TEXT    NOT NULL,
    actor       TEXT    NOT NULL,
    tries       INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    due_at      INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX payment_refunds_provider_id ON payment_refunds (provider, provider_id);
CREATE INDEX payment_refunds_payment ON payment_refunds (payment);
CREATE INDEX payment_refunds_due ON payment_refunds (due_at) WHERE due_at IS NOT NULL;

-- The consent of an account to automatic top-ups.
CREATE TABLE payment_rules (
    account      TEXT    NOT NULL PRIMARY KEY,
    wallet       TEXT    NOT NULL,
    provider     TEXT    NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('waiting', 'active', 'paused')),
    payment      TEXT    NOT NULL,
    method       TEXT    NOT NULL,
    method_title TEXT    NOT NULL,
    email        TEXT    NOT NULL,
    threshold    INTEGER NOT NULL,
    amount       INTEGER NOT NULL,
    cap          INTEGER NOT NULL,
    fails        INTEGER NOT NULL,
    why          TEXT    NOT NULL,
    consent_at   INTEGER NOT NULL,
    due_at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX payment_rules_due ON payment_rules (due_at) WHERE state = 'active';

-- Codes that put money into wallets. Of a code only the hash is kept.
CREATE TABLE voucher_batches (
    id         TEXT    NOT NULL PRIMARY KEY,
    amount     INTEGER NOT NULL CHECK (amount > 0),
    codes      INTEGER NOT NULL CHECK (codes > 0),
    uses       INTEGER NOT NULL CHECK (uses > 0), -- accounts that may redeem one code
    note       TEXT    NOT NULL,
    actor      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX voucher_batches_created ON voucher_batches (created_at, id);

CREATE TABLE voucher_codes (
    hash  TEXT    NOT NULL PRIMARY KEY,
    batch TEXT    NOT NULL REFERENCES voucher_batches (id),
    used  INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE voucher_redemptions (
    batch   TEXT    NOT NULL REFERENCES voucher_batches (id),
    account TEXT    NOT NULL,
    code    TEXT    NOT NULL,
    wallet  TEXT    NOT NULL,
    amount  INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (batch, account) -- an account redeems one code of a batch
) STRICT, WITHOUT ROWID;

-- Invoices for bank transfers, what arrived for them, and acts of months.
CREATE TABLE invoice_numbers (
    kind   TEXT    NOT NULL, -- "invoice", "act"
    seller TEXT    NOT NULL, -- INN
    year   INTEGER NOT NULL,
    last   INTEGER NOT NULL,
    PRIMARY KEY (kind, seller, year)
) STRICT, WITHOUT ROWID;

CREATE TABLE invoice_buyers (
    account    TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    inn        TEXT    NOT NULL,
    kpp        TEXT    NOT NULL,
    address    TEXT    NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE invoices (
    id                   TEXT    NOT NULL PRIMARY KEY,
    number               TEXT    NOT NULL,
    year                 INTEGER NOT NULL,
    seq                  INTEGER NOT NULL,
    account              TEXT    NOT NULL,
    wallet               TEXT    NOT NULL,
    state                TEXT    NOT NULL CHECK (state IN ('open', 'paid', 'cancelled')),
    buyer_name           TEXT    NOT NULL,
    buyer_inn            TEXT    NOT NULL,
    buyer_kpp            TEXT    NOT NULL,
    buyer_address        TEXT    NOT NULL,
    seller_name          TEXT    NOT NULL,
    seller_inn           TEXT    NOT NULL,
    seller_kpp           TEXT    NOT NULL,
    seller_address       TEXT    NOT NULL,
    seller_bank          TEXT    NOT NULL,
    seller_bik           TEXT    NOT NULL,
    seller_account       TEXT    NOT NULL,
    seller_correspondent TEXT    NOT NULL,
    seller_director      TEXT    NOT NULL,
    seller_accountant    TEXT    NOT NULL,
    vat_mode             TEXT    NOT NULL,
    vat_percent          TEXT    NOT NULL,
    line                 TEXT    NOT NULL,
    amount               INTEGER NOT NULL CHECK (amount > 0),
    tax                  INTEGER NOT NULL CHECK (tax >= 0),
    total                INTEGER NOT NULL CHECK (total >= amount),
    received             INTEGER NOT NULL CHECK (received >= 0),
    credited             INTEGER NOT NULL CHECK (credited >= 0),
    created_at           INTEGER NOT NULL,
    expires_at           INTEGER NOT NULL,
    ended_at             INTEGER,
    UNIQUE (seller_inn, year, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX invoices_number ON invoices (seller_inn, number);
CREATE INDEX invoices_account ON invoices (account, created_at, id);
CREATE INDEX invoices_open ON invoices (account, expires_at) WHERE state = 'open';
CREATE INDEX invoices_created ON invoices (created_at, id);
CREATE INDEX invoices_state ON invoices (state, created_at, id);

CREATE TABLE invoice_transfers (
    key      TEXT    NOT NULL PRIMARY KEY, -- of the bank's document
    invoice  TEXT    NOT NULL REFERENCES invoices (id),
    account  TEXT    NOT NULL,
    manual   INTEGER NOT NULL,
    amount   INTEGER NOT NULL, -- below zero: it was paid back
    credited INTEGER NOT NULL,
    date     TEXT    NOT NULL,
    number   TEXT    NOT NULL,
    payer    TEXT    NOT NULL,
    purpose  TEXT    NOT NULL,
    actor    TEXT    NOT NULL,
    at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX invoice_transfers_invoice ON invoice_transfers (invoice, at, key);

CREATE TABLE invoice_acts (
    id                   TEXT    NOT NULL PRIMARY KEY,
    number               TEXT    NOT NULL,
    year                 INTEGER NOT NULL,
    seq                  INTEGER NOT NULL,
    account              TEXT    NOT NULL,
    wallet               TEXT    NOT NULL,
    month                TEXT    NOT NULL,
    buyer_name           TEXT    NOT NULL,
    buyer_inn            TEXT    NOT NULL,
    buyer_kpp            TEXT    NOT NULL,
    buyer_address        TEXT    NOT NULL,
    seller_name          TEXT    NOT NULL,
    seller_inn           TEXT    NOT NULL,
    seller_kpp           TEXT    NOT NULL,
    seller_address       TEXT    NOT NULL,
    seller_bank          TEXT    NOT NULL,
    seller_bik           TEXT    NOT NULL,
    seller_account       TEXT    NOT NULL,
    seller_correspondent TEXT    NOT NULL,
    seller_director      TEXT    NOT NULL,
    seller_accountant    TEXT    NOT NULL,
    vat_mode             TEXT    NOT NULL,
    vat_percent          TEXT    NOT NULL,
    line                 TEXT    NOT NULL,
    opening              INTEGER NOT NULL,
    topped_up            INTEGER NOT NULL,
    spent                INTEGER NOT NULL,
    closing              INTEGER NOT NULL,
    carried_in           INTEGER NOT NULL,
    amount               INTEGER NOT NULL CHECK (amount > 0),
    tax                  INTEGER NOT NULL CHECK (tax >= 0),
    total                INTEGER NOT NULL CHECK (total >= amount),
    carried_out          INTEGER NOT NULL,
    made_at              INTEGER NOT NULL,
    UNIQUE (seller_inn, year, seq),
    UNIQUE (account, month)
) STRICT, WITHOUT ROWID;
CREATE INDEX invoice_acts_month ON invoice_acts (month, id);
CREATE TRIGGER invoice_acts_fixed BEFORE UPDATE ON invoice_acts BEGIN SELECT RAISE(ABORT, 'acts are never changed'); END;
CREATE TRIGGER invoice_acts_kept BEFORE DELETE ON invoice_acts BEGIN SELECT RAISE(ABORT, 'acts are never deleted'); END;

-- Statements of banks that were imported, and their documents, save those that the seller paid.
CREATE TABLE bank_statements (
    id        TEXT    NOT NULL PRIMARY KEY,
    name      TEXT    NOT NULL, -- of the file
    sum       TEXT    NOT NULL UNIQUE, -- SHA-256 of the file in hex
    actor     TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    credited  INTEGER NOT NULL, -- of them
    already   INTEGER NOT NULL,
    outgoing  INTEGER NOT NULL,
    amount    INTEGER NOT NULL -- that was credited
) STRICT, WITHOUT ROWID;
CREATE INDEX bank_statements_at ON bank_statements (at, id);

CREATE TABLE bank_documents (
    statement     TEXT    NOT NULL REFERENCES bank_statements (id),
    line          INTEGER NOT NULL, -- of the file
    key           TEXT    NOT NULL, -- of the document for ever, as in invoice_transfers
    kind          TEXT    NOT NULL,
    number        TEXT    NOT NULL,
    date          TEXT    NOT NULL,
    amount        INTEGER NOT NULL,
    payer_name    TEXT    NOT NULL,
    payer_inn     TEXT    NOT NULL,
    payer_account TEXT    NOT NULL,
    receiver      TEXT    NOT NULL,
    purpose       TEXT    NOT NULL,
    outcome       TEXT    NOT NULL,
    note          TEXT    NOT NULL,
    waits         INTEGER NOT NULL, -- a person has to decide
    aside         TEXT    NOT NULL, -- why a person has decided to credit it to no invoice; '': not decided
    PRIMARY KEY (statement, line)
) STRICT, WITHOUT ROWID;
CREATE INDEX bank_documents_key ON bank_documents (key);
CREATE INDEX bank_documents_waits ON bank_documents (statement) WHERE waits;

-- == Jobs: videos, files and batches, and the events that say that they have ended

-- Jobs that make videos. Until a job has ended, its hold is leased to a node "job:" || id, which is not a process.
CREATE TABLE video_jobs (
    id           TEXT    NOT NULL PRIMARY KEY,
    user_id      TEXT    NOT NULL,
    wallet       TEXT    NOT NULL,
    key_id       TEXT    NOT NULL,
    generation   TEXT    NOT NULL,
    model        TEXT    NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('pending', 'in_progress', 'completed', 'failed', 'cancelled', 'expired')),
    ended        TEXT    NOT NULL CHECK (ended IN ('', 'settled', 'voided')), -- result for the money
    hold         INTEGER NOT NULL CHECK (hold >= 0),
    cost         INTEGER NOT NULL CHECK (cost >= 0),
    upstream_id  TEXT    NOT NULL,
    submitting   INTEGER NOT NULL, -- a submission was sent, and its response is not known
    error        TEXT    NOT NULL,
    reason       TEXT    NOT NULL,
    cleanup      INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    deadline_at  INTEGER NOT NULL,
    completed_at INTEGER, -- the time of its end, in any state
    expires_at   INTEGER,
    due_at       INTEGER, -- time of the next step. NULL: never
    fence        INTEGER NOT NULL,
    node         TEXT    NOT NULL, -- the node that works on it, with its epoch. '': none
    epoch        INTEGER NOT NULL,
    request      BLOB    NOT NULL, -- empty when no more submissions are possible
    detail       BLOB    NOT NULL,
    -- Whether its client may know that it was accepted. A job that was never accepted ends without a start.
    accepted     INTEGER NOT NULL DEFAULT 1,
    CHECK ((state IN ('pending', 'in_progress')) = (ended = ''))
) STRICT;
CREATE INDEX video_jobs_due ON video_jobs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX video_jobs_by_user ON video_jobs (user_id, created_at DESC, id DESC);
-- Ended jobs without remaining work, for their deletion.
CREATE INDEX video_jobs_old ON video_jobs (completed_at) WHERE completed_at IS NOT NULL AND due_at IS NULL;
-- How operators find jobs that have not ended: the oldest first.
CREATE INDEX video_jobs_open ON video_jobs (created_at, id) WHERE ended = '';
CREATE TRIGGER video_jobs_states BEFORE UPDATE OF state ON video_jobs
WHEN OLD.state <> NEW.state AND NOT (OLD.state = 'pending' AND NEW.state IN ('in_progress', 'failed', 'cancelled', 'expired')
    OR OLD.state = 'in_progress' AND NEW.state IN ('completed', 'failed', 'cancelled', 'expired') OR OLD.state = 'completed' AND NEW.state = 'expired')
BEGIN SELECT RAISE(ABORT, 'a video job never goes from this state to that'); END;
CREATE TRIGGER video_jobs_ended BEFORE UPDATE OF ended, cost ON video_jobs WHEN OLD.ended <> '' AND (NEW.ended <> OLD.ended OR NEW.cost <> OLD.cost)
BEGIN SELECT RAISE(ABORT, 'a video job never ends twice'); END;

-- A user's places for active jobs. The primary key prevents two jobs in one place.
CREATE TABLE video_slots (
    user_id TEXT    NOT NULL,
    slot    INTEGER NOT NULL,
    job     TEXT    NOT NULL UNIQUE,
    PRIMARY KEY (user_id, slot)
) STRICT, WITHOUT ROWID;

-- Files that users send, and files of results. Their content is in the blob store, under their id.
CREATE TABLE files (
    id         TEXT    NOT NULL PRIMARY KEY,
    user_id    TEXT    NOT NULL,
    purpose    TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    bytes      INTEGER NOT NULL CHECK (bytes >= 0),
    hidden     INTEGER NOT NULL, -- it belongs to a batch of messages
    gone       INTEGER NOT NULL, -- its content is to be deleted
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    -- The key with which it was made: in an organization that says who sees it. Empty: made before that was kept.
    key_id     TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX files_by_user ON files (user_id, created_at DESC, id DESC);
CREATE INDEX files_by_end ON files (expires_at);
CREATE INDEX files_gone ON files (id) WHERE gone;

CREATE TABLE batches (
    id            TEXT    NOT NULL PRIMARY KEY,
    user_id       TEXT    NOT NULL,
    wallet        TEXT    NOT NULL,
    key_id        TEXT    NOT NULL,
    generation    TEXT    NOT NULL, -- of the request that made it
    shape         TEXT    NOT NULL CHECK (shape IN ('requests', 'messages')),
    endpoint      TEXT    NOT NULL,
    metadata      TEXT    NOT NULL,
    version       TEXT    NOT NULL,
    betas         TEXT    NOT NULL,
    state         TEXT    NOT NULL CHECK (state IN ('validating', 'in_progress', 'finalizing', 'cancelling', 'completed', 'failed', 'cancelled', 'expired')),
    input         TEXT    NOT NULL,
    output        TEXT    NOT NULL,
    failures      TEXT    NOT NULL,
    problems      BLOB    NOT NULL,
    late          INTEGER NOT NULL,
    paused        TEXT    NOT NULL,
    total         INTEGER NOT NULL CHECK (total >= 0),
    succeeded     INTEGER NOT NULL CHECK (succeeded >= 0),
    failed        INTEGER NOT NULL CHECK (failed >= 0),
    cancelled     INTEGER NOT NULL CHECK (cancelled >= 0),
    expired       INTEGER NOT NULL CHECK (expired >= 0),
    prompt        INTEGER NOT NULL,
    cached        INTEGER NOT NULL,
    completion    INTEGER NOT NULL,
    reasoning     INTEGER NOT NULL,
    cost          INTEGER NOT NULL CHECK (cost >= 0),
    created_at    INTEGER NOT NULL,
    started_at    INTEGER,
    finalizing_at INTEGER,
    cancelling_at INTEGER,
    ended_at      INTEGER,
    expires_at    INTEGER NOT NULL,
    keep_for      INTEGER NOT NULL, -- microseconds, of its results
    due_at        INTEGER, -- time of the next step. NULL: never
    fence         INTEGER NOT NULL,
    node          TEXT    NOT NULL, -- the node that works on it, with its epoch. '': none
    epoch         INTEGER NOT NULL,
    -- Tags of all its requests, separated by commas.
    tags          TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX batches_due ON batches (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX batches_by_user ON batches (user_id, created_at DESC, id DESC);
CREATE INDEX batches_by_input ON batches (input);
CREATE INDEX batches_ended ON batches (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX batches_open ON batches (created_at, id) WHERE state IN ('validating', 'in_progress', 'finalizing', 'cancelling');
CREATE TRIGGER batches_states BEFORE UPDATE OF state ON batches
WHEN OLD.state <> NEW.state AND NOT (OLD.state = 'validating' AND NEW.state IN ('in_progress', 'failed', 'cancelling')
    OR OLD.state = 'in_progress' AND NEW.state IN ('finalizing', 'cancelling') OR OLD.state = 'finalizing' AND NEW.state IN ('completed', 'expired')
    OR OLD.state = 'cancelling' AND NEW.state = 'cancelled')
BEGIN SELECT RAISE(ABORT, 'a batch never goes from this state to that'); END;

-- Lines of batches that were begun.
CREATE TABLE batch_items (
    batch      TEXT    NOT NULL,
    line       INTEGER NOT NULL,
    custom_id  TEXT    NOT NULL,
    stage      TEXT    NOT NULL CHECK (stage IN ('running', 'waiting', 'done')),
    generation TEXT    NOT NULL,
    tries      INTEGER NOT NULL,
    start      INTEGER NOT NULL, -- of the line in the input file
    length     INTEGER NOT NULL,
    outcome    TEXT    NOT NULL CHECK (outcome IN ('', 'succeeded', 'errored', 'canceled', 'expired')),
    status     INTEGER NOT NULL,
    request_id TEXT    NOT NULL,
    body       BLOB    NOT NULL,
    cost       INTEGER NOT NULL CHECK (cost >= 0),
    prompt     INTEGER NOT NULL,
    cached     INTEGER NOT NULL,
    completion INTEGER NOT NULL,
    reasoning  INTEGER NOT NULL,
    -- What it has in batch_parts and batch_terms; '': nothing.
    part       TEXT    NOT NULL DEFAULT '',
    terms      TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (batch, line),
    CHECK ((stage = 'done') = (outcome <> ''))
) STRICT, WITHOUT ROWID;

-- Lines of batches that go to a provider as one of its batches. A row is written before the provider is asked.
CREATE TABLE batch_parts (
    id         TEXT    NOT NULL PRIMARY KEY,
    batch      TEXT    NOT NULL,
    endpoint   TEXT    NOT NULL,
    path       TEXT    NOT NULL,
    state      TEXT    NOT NULL CHECK (state IN ('intended', 'submitted', 'ended')),
    upstream   TEXT    NOT NULL, -- the provider's id. '': not known
    lines      INTEGER NOT NULL CHECK (lines > 0),
    created_at INTEGER NOT NULL,
    -- When the provider is asked to delete what it keeps of it, NULL: never, or it has; and how often it was.
    clear_at   INTEGER,
    clears     INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX batch_parts_of ON batch_parts (batch);
CREATE INDEX batch_parts_clear ON batch_parts (clear_at) WHERE clear_at IS NOT NULL;

-- With what of an account and its key requests were prepared that a provider's batch has. The rows of a batch are deleted when it ends.
CREATE TABLE batch_terms (
    batch   TEXT NOT NULL,
    id      TEXT NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (batch, id)
) STRICT, WITHOUT ROWID;

-- Events to be sent to callback addresses. A claim has leased_until in the future. Its fence distinguishes it from later claims.
CREATE TABLE webhook_deliveries (
    id           TEXT    NOT NULL PRIMARY KEY,
    account      TEXT    NOT NULL,
    url          TEXT    NOT NULL,
    event        TEXT    NOT NULL,
    payload      BLOB    NOT NULL,
    state        TEXT    NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
    created_at   INTEGER NOT NULL,
    next_at      INTEGER NOT NULL,
    attempts     INTEGER NOT NULL DEFAULT 0,
    fence        INTEGER NOT NULL DEFAULT 0,
    leased_until INTEGER NOT NULL DEFAULT 0,
    last_status  INTEGER NOT NULL DEFAULT 0,
    last_error   TEXT    NOT NULL DEFAULT '',
    ended_at     INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_leased ON webhook_deliveries (account, leased_until) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_ended ON webhook_deliveries (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (created_at, id) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (ended_at, id) WHERE state = 'failed';

-- The secrets that sign the events of an account, encrypted.
CREATE TABLE webhook_secrets (
    account        TEXT    NOT NULL PRIMARY KEY,
    secret         BLOB    NOT NULL,
    previous       BLOB,
    previous_until INTEGER NOT NULL DEFAULT 0,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- == What is kept for clients and for the pages

-- Answers of requests with an idempotency key. A body is the text of an answer. It is deleted when it has expired.
CREATE TABLE idempotency (
    user_id    TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    hash       TEXT    NOT NULL,
    generation TEXT    NOT NULL,
    owner      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    stale_at   INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    finished   INTEGER NOT NULL,
    status     INTEGER NOT NULL,
    type       TEXT    NOT NULL,
    size       INTEGER NOT NULL,
    body       BLOB,
    PRIMARY KEY (user_id, name)
) STRICT;
CREATE INDEX idempotency_by_age ON idempotency (user_id, created_at, size);
CREATE INDEX idempotency_by_end ON idempotency (expires_at);

CREATE TABLE responses (
    account    TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    parent     TEXT    NOT NULL,
    status     TEXT    NOT NULL,
    background INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    stale_at   INTEGER NOT NULL,
    size       INTEGER NOT NULL,
    object     BLOB    NOT NULL,
    input      BLOB    NOT NULL,
    output     BLOB    NOT NULL,
    key_id     TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (account, id)
) STRICT;
CREATE INDEX responses_by_expiry ON responses (expires_at);
CREATE INDEX responses_by_age ON responses (account, created_at, size);

CREATE TABLE response_items (
    account  TEXT NOT NULL,
    id       TEXT NOT NULL,
    response TEXT NOT NULL,
    PRIMARY KEY (account, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX response_items_by_response ON response_items (account, response);

-- Chats of the playground, of accounts that have switched that on.
CREATE TABLE chats (
    user_id    TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    size       INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    content    BLOB    NOT NULL,
    PRIMARY KEY (user_id, id)
) STRICT;
CREATE INDEX chats_by_expiry ON chats (expires_at);

-- Named set-ups of requests, and the versions of each that are kept. The content is JSON.
CREATE TABLE presets (
    user_id     TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    description TEXT    NOT NULL,
    version     INTEGER NOT NULL, -- the current one
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (user_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE preset_versions (
    user_id TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    number  INTEGER NOT NULL,
    size    INTEGER NOT NULL, -- bytes of content
    content TEXT    NOT NULL,
    actor   TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (user_id, name, number)
) STRICT;

-- How many calls used a preset, by day and key. Days that are no longer asked for are dropped.
CREATE TABLE preset_calls (
    wallet TEXT    NOT NULL,
    preset TEXT    NOT NULL,
    day    TEXT    NOT NULL, -- YYYY-MM-DD
    key_id TEXT    NOT NULL,
    calls  INTEGER NOT NULL,
    PRIMARY KEY (wallet, preset, day, key_id)
) STRICT, WITHOUT ROWID;

-- Pages with filters, under names.
CREATE TABLE views (
    user_id    TEXT    NOT NULL,
    page       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    id         TEXT    NOT NULL UNIQUE,
    query      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, page, name)
) STRICT, WITHOUT ROWID;

-- == Notices to accounts, and alerts to operators

-- What accounts should know: their choices, the facts that were found, and the mails that wait.
CREATE TABLE notify_settings (
    account    TEXT    NOT NULL PRIMARY KEY,
    threshold  INTEGER, -- NULL: the operator's default
    webhook    TEXT    NOT NULL,
    tests_day  TEXT    NOT NULL,
    tests      INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE notify_choices (
    account TEXT    NOT NULL,
    cause   TEXT    NOT NULL,
    channel TEXT    NOT NULL,
    enabled INTEGER NOT NULL,
    PRIMARY KEY (account, cause, channel)
) STRICT, WITHOUT ROWID;

-- Signs the links that switch mails off; one row.
CREATE TABLE notify_key (
    id     INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    secret BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE notify_accounts (
    account TEXT    NOT NULL PRIMARY KEY,
    since   INTEGER NOT NULL, -- what happened before is not said
    next_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX notify_accounts_next ON notify_accounts (next_at, account);

CREATE TABLE notify_facts (
    account  TEXT    NOT NULL,
    id       TEXT    NOT NULL,
    cause    TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    ref      TEXT    NOT NULL,
    name     TEXT    NOT NULL,
    at       INTEGER,
    amount   INTEGER NOT NULL,
    spent    INTEGER NOT NULL,
    usual    INTEGER NOT NULL,
    percent  INTEGER NOT NULL,
    days     INTEGER NOT NULL,
    reset_by TEXT    NOT NULL,
    episode  TEXT    NOT NULL,
    found_at INTEGER NOT NULL,
    gone_at  INTEGER NOT NULL, -- 0: it holds
    mail     INTEGER NOT NULL, -- it waits to be mailed
    PRIMARY KEY (account, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX notify_facts_found ON notify_facts (found_at);

-- At most one mail of a cause waits.
CREATE TABLE notify_mails (
    account      TEXT    NOT NULL,
    cause        TEXT    NOT NULL,
    waiting      INTEGER NOT NULL,
    next_at      INTEGER NOT NULL,
    leased_until INTEGER NOT NULL,
    attempts     INTEGER NOT NULL,
    fence        INTEGER NOT NULL,
    -- Why the last attempt to send it failed.
    words        TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (account, cause)
) STRICT, WITHOUT ROWID;
CREATE INDEX notify_mails_next ON notify_mails (next_at) WHERE waiting;

-- What operators are alerted of. Rules are those that are not as the program has them.
CREATE TABLE alert_rules (
    kind    TEXT    NOT NULL PRIMARY KEY,
    enabled INTEGER NOT NULL,
    most    INTEGER NOT NULL, -- percent, days, MiB or minutes
    minutes INTEGER NOT NULL, -- in which attempts count
    calls   INTEGER NOT NULL, -- fewer say nothing
    version INTEGER NOT NULL
) STRICT;

-- Where alerts go. One node at a time sends to a channel.
CREATE TABLE alert_channels (
    id           TEXT    NOT NULL PRIMARY KEY,
    way          TEXT    NOT NULL,
    address      TEXT    NOT NULL,
    language     TEXT    NOT NULL,
    enabled      INTEGER NOT NULL,
    sealed       BLOB    NOT NULL,
    last4        TEXT    NOT NULL,
    version      INTEGER NOT NULL,
    failed       TEXT    NOT NULL, -- what the receiver said when it refused for good
    words        TEXT    NOT NULL, -- the last trouble
    sent_at      INTEGER,
    attempts     INTEGER NOT NULL DEFAULT 0,
    next_at      INTEGER NOT NULL DEFAULT 0,
    leased_until INTEGER NOT NULL DEFAULT 0,
    fence        INTEGER NOT NULL DEFAULT 0,
    -- Which alerts it gets, and why its last message did not arrive, where the gateway knows it.
    kinds        TEXT    NOT NULL DEFAULT '', -- separated by spaces; empty: all
    severity     TEXT    NOT NULL DEFAULT 'warning', -- the least
    reason       TEXT    NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE alert_incidents (
    id       TEXT    NOT NULL PRIMARY KEY, -- in the order of their beginnings
    kind     TEXT    NOT NULL,
    subject  TEXT    NOT NULL,
    began_at INTEGER NOT NULL,
    seen_at  INTEGER NOT NULL,
    fine_at  INTEGER,
    said_at  INTEGER NOT NULL,
    ended_at INTEGER,
    why      TEXT    NOT NULL,
    value    INTEGER NOT NULL,
    most     INTEGER NOT NULL,
    failed   INTEGER NOT NULL,
    calls    INTEGER NOT NULL,
    minutes  INTEGER NOT NULL,
    detail   TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX alert_incidents_open ON alert_incidents (kind, subject) WHERE ended_at IS NULL;
CREATE INDEX alert_incidents_ended ON alert_incidents (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE alert_messages (
    incident   TEXT    NOT NULL,
    channel    TEXT    NOT NULL,
    what       TEXT    NOT NULL, -- began, lasts, over
    written_at INTEGER NOT NULL,
    state      TEXT    NOT NULL, -- waiting, sent, summed, dropped
    sent_at    INTEGER,
    PRIMARY KEY (incident, channel, what, written_at)
) STRICT, WITHOUT ROWID;
CREATE INDEX alert_messages_waiting ON alert_messages (channel, written_at) WHERE state = 'waiting';
CREATE INDEX alert_messages_sent ON alert_messages (channel, sent_at) WHERE sent_at IS NOT NULL;

-- == What nodes tell one another

-- What all nodes together have let in: when the allowances of a name will be full again, in Unix nanoseconds. A row may be lost.
CREATE TABLE limit_uses (
    name       TEXT    NOT NULL PRIMARY KEY, -- "key " and a key's id, or "free " and a user's
    changed_at INTEGER NOT NULL,
    full_a     INTEGER NOT NULL, -- requests
    full_b     INTEGER NOT NULL, -- tokens, or requests of a day
    full_c     INTEGER NOT NULL -- rubles
) STRICT;
CREATE INDEX limit_uses_changed ON limit_uses (changed_at);

-- What each node saw of each endpoint by the hour (Unix seconds).
CREATE TABLE endpoint_hours (
    endpoint TEXT    NOT NULL,
    hour     INTEGER NOT NULL,
    node     TEXT    NOT NULL,
    served   INTEGER NOT NULL,
    failed   INTEGER NOT NULL,
    limited  INTEGER NOT NULL,
    measured BLOB    NOT NULL,
    PRIMARY KEY (endpoint, hour, node)
) STRICT, WITHOUT ROWID;
CREATE INDEX endpoint_hours_by_hour ON endpoint_hours (hour);

-- The last three minutes of a node that are in its hours.
CREATE TABLE endpoint_marks (
    node TEXT    NOT NULL PRIMARY KEY,
    slot INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Which version of Weir first knew a migration, so that an older one that is started on newer tables can name the version that is needed.
CREATE TABLE schema_versions (
    number INTEGER PRIMARY KEY,
    weir   TEXT    NOT NULL
) STRICT;
-- +goose StatementEnd
