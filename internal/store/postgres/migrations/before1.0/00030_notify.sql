-- +goose Up
-- What accounts are told: their choices, the facts that were found, and the mails that wait. Amounts are in 10^-9 rubles, times in microseconds.
CREATE TABLE notify_settings (
    account    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    threshold  BIGINT, -- NULL: the operator's default
    webhook    TEXT COLLATE "C" NOT NULL,
    tests_day  TEXT COLLATE "C" NOT NULL,
    tests      BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE notify_choices (
    account TEXT COLLATE "C" NOT NULL,
    cause   TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    enabled BOOLEAN NOT NULL,
    PRIMARY KEY (account, cause, channel)
);

-- Signs the links that switch mails off; one row.
CREATE TABLE notify_key (
    id     BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    secret BYTEA NOT NULL
);

CREATE TABLE notify_accounts (
    account TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    since   BIGINT NOT NULL, -- what happened before is not told
    next_at BIGINT NOT NULL
);
CREATE INDEX notify_accounts_next ON notify_accounts (next_at, account);

CREATE TABLE notify_facts (
    account  TEXT COLLATE "C" NOT NULL,
    id       TEXT COLLATE "C" NOT NULL,
    cause    TEXT COLLATE "C" NOT NULL,
    kind     TEXT COLLATE "C" NOT NULL,
    ref      TEXT COLLATE "C" NOT NULL,
    name     TEXT COLLATE "C" NOT NULL,
    at       BIGINT,
    amount   BIGINT NOT NULL,
    spent    BIGINT NOT NULL,
    usual    BIGINT NOT NULL,
    percent  BIGINT NOT NULL,
    days     BIGINT NOT NULL,
    reset_by TEXT COLLATE "C" NOT NULL,
    episode  TEXT COLLATE "C" NOT NULL,
    found_at BIGINT NOT NULL,
    gone_at  BIGINT NOT NULL, -- 0: it holds
    mail     BOOLEAN NOT NULL, -- it waits to be mailed
    PRIMARY KEY (account, id)
);
CREATE INDEX notify_facts_found ON notify_facts (found_at);

-- At most one mail of a cause waits.
CREATE TABLE notify_mails (
    account      TEXT COLLATE "C" NOT NULL,
    cause        TEXT COLLATE "C" NOT NULL,
    waiting      BOOLEAN NOT NULL,
    next_at      BIGINT NOT NULL,
    leased_until BIGINT NOT NULL,
    attempts     BIGINT NOT NULL,
    fence        BIGINT NOT NULL,
    PRIMARY KEY (account, cause)
);
CREATE INDEX notify_mails_next ON notify_mails (next_at) WHERE waiting;

-- +goose Down
DROP TABLE notify_mails;
DROP TABLE notify_facts;
DROP TABLE notify_accounts;
DROP TABLE notify_key;
DROP TABLE notify_choices;
DROP TABLE notify_settings;
