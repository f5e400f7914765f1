-- Times are Unix microseconds, amounts nano-rubles (1e-9 ruble). Keys hold the wallet or the account, so that tables can be split by it.

-- +goose Up

-- A process with a journal. It increments beat while it runs. epoch is incremented when other nodes close its leases.
CREATE TABLE nodes (
    id       TEXT PRIMARY KEY,
    epoch    INTEGER NOT NULL DEFAULT 0,
    beat     INTEGER NOT NULL DEFAULT 0,
    live     INTEGER NOT NULL DEFAULT 0, -- it has joined and not left
    position INTEGER NOT NULL DEFAULT 0, -- in its journal: all records before it are applied
    seen_at  INTEGER NOT NULL DEFAULT 0  -- only for information
) STRICT, WITHOUT ROWID;

-- Projections of entries (credited, charged) and leases (leased). Balance is credited - charged, available is balance - leased.
CREATE TABLE wallets (
    id         TEXT PRIMARY KEY,
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

-- The entries of one transaction sum to zero; line numbers them. The time is the transaction's.
CREATE TABLE entries (
    account        TEXT    NOT NULL, -- wallet:<id>, revenue, topup:<source>, adjustment
    ref            TEXT    NOT NULL,
    transaction_id INTEGER NOT NULL REFERENCES transactions (id),
    line           INTEGER NOT NULL,
    amount         INTEGER NOT NULL,
    PRIMARY KEY (account, ref)
) STRICT, WITHOUT ROWID;

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
    PRIMARY KEY (node, id, wallet)
) STRICT, WITHOUT ROWID;
CREATE INDEX leases_wallet ON leases (wallet, key_id);

-- The spending of a key in each interval (total, day, week, month), by the admission times of the calls.
CREATE TABLE key_spend (
    wallet TEXT    NOT NULL,
    key_id TEXT    NOT NULL,
    period TEXT    NOT NULL,
    start  INTEGER NOT NULL, -- 00:00 UTC of its first day; 0 for total
    spent  INTEGER NOT NULL DEFAULT 0,
    leased INTEGER NOT NULL DEFAULT 0 CHECK (leased >= 0),
    recall INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (key_id, period, start, wallet)
) STRICT, WITHOUT ROWID;

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
    UNIQUE (wallet, id)
) STRICT;

-- Roll-ups, so that pages need not read single generations. calls counts all calls, requests the charged ones.
CREATE TABLE usage_daily (
    day              TEXT    NOT NULL, -- YYYY-MM-DD
    wallet           TEXT    NOT NULL,
    key_id           TEXT    NOT NULL,
    user_id          TEXT    NOT NULL,
    model            TEXT    NOT NULL,
    provider         TEXT    NOT NULL,
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
    first_content_us INTEGER NOT NULL, -- sum over first_contents calls
    first_contents   INTEGER NOT NULL,
    generating_us    INTEGER NOT NULL,
    duration_us      INTEGER NOT NULL,
    PRIMARY KEY (wallet, day, key_id, user_id, model, provider)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_daily_day ON usage_daily (day);

CREATE TABLE usage_hourly (
    hour             INTEGER NOT NULL, -- its start, Unix seconds
    wallet           TEXT    NOT NULL,
    key_id           TEXT    NOT NULL,
    user_id          TEXT    NOT NULL,
    model            TEXT    NOT NULL,
    provider         TEXT    NOT NULL,
    endpoint         TEXT    NOT NULL,
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
    PRIMARY KEY (wallet, hour, key_id, user_id, model, provider, endpoint)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_hourly_hour ON usage_hourly (hour);

-- Postings are never changed.
-- +goose StatementBegin
CREATE TRIGGER transactions_fixed BEFORE UPDATE ON transactions BEGIN SELECT RAISE(ABORT, 'transactions are never changed'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER transactions_kept BEFORE DELETE ON transactions BEGIN SELECT RAISE(ABORT, 'transactions are never deleted'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER entries_fixed BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER entries_kept BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER generations_fixed BEFORE UPDATE ON generations BEGIN SELECT RAISE(ABORT, 'generations are never changed'); END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE usage_hourly;
DROP TABLE usage_daily;
DROP TABLE generations;
DROP TABLE key_spend;
DROP TABLE leases;
DROP TABLE entries;
DROP TABLE transactions;
DROP TABLE wallets;
DROP TABLE nodes;
