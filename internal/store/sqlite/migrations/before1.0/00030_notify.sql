-- +goose Up
-- What accounts are told: their choices, the facts that were found, and the mails that wait. Amounts are in 10^-9 rubles, times in microseconds.
CREATE TABLE notify_settings (
    account    TEXT NOT NULL PRIMARY KEY,
    threshold  INTEGER, -- NULL: the operator's default
    webhook    TEXT NOT NULL,
    tests_day  TEXT NOT NULL,
    tests      INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE notify_choices (
    account TEXT NOT NULL,
    cause   TEXT NOT NULL,
    channel TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    PRIMARY KEY (account, cause, channel)
) STRICT, WITHOUT ROWID;

-- Signs the links that switch mails off; one row.
CREATE TABLE notify_key (
    id     INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    secret BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE notify_accounts (
    account TEXT NOT NULL PRIMARY KEY,
    since   INTEGER NOT NULL, -- what happened before is not told
    next_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX notify_accounts_next ON notify_accounts (next_at, account);

CREATE TABLE notify_facts (
    account  TEXT NOT NULL,
    id       TEXT NOT NULL,
    cause    TEXT NOT NULL,
    kind     TEXT NOT NULL,
    ref      TEXT NOT NULL,
    name     TEXT NOT NULL,
    at       INTEGER,
    amount   INTEGER NOT NULL,
    spent    INTEGER NOT NULL,
    usual    INTEGER NOT NULL,
    percent  INTEGER NOT NULL,
    days     INTEGER NOT NULL,
    reset_by TEXT NOT NULL,
    episode  TEXT NOT NULL,
    found_at INTEGER NOT NULL,
    gone_at  INTEGER NOT NULL, -- 0: it holds
    mail     INTEGER NOT NULL, -- it waits to be mailed
    PRIMARY KEY (account, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX notify_facts_found ON notify_facts (found_at);

-- At most one mail of a cause waits.
CREATE TABLE notify_mails (
    account      TEXT NOT NULL,
    cause        TEXT NOT NULL,
    waiting      INTEGER NOT NULL,
    next_at      INTEGER NOT NULL,
    leased_until INTEGER NOT NULL,
    attempts     INTEGER NOT NULL,
    fence        INTEGER NOT NULL,
    PRIMARY KEY (account, cause)
) STRICT, WITHOUT ROWID;
CREATE INDEX notify_mails_next ON notify_mails (next_at) WHERE waiting;

-- +goose Down
DROP TABLE notify_mails;
DROP TABLE notify_facts;
DROP TABLE notify_accounts;
DROP TABLE notify_key;
DROP TABLE notify_choices;
DROP TABLE notify_settings;
