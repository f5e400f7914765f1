-- +goose Up
-- Money that comes from payment providers, and what goes back to the payers. Amounts are in 10^-9 rubles.
CREATE TABLE payments (
    id           TEXT NOT NULL PRIMARY KEY,
    account      TEXT NOT NULL,
    wallet       TEXT NOT NULL,
    provider     TEXT NOT NULL,
    provider_id  TEXT, -- NULL until the provider has answered
    state        TEXT NOT NULL CHECK (state IN ('new', 'pending', 'succeeded', 'canceled')),
    amount       INTEGER NOT NULL, -- that was asked for
    paid         INTEGER NOT NULL, -- that the provider confirmed and the wallet got
    url          TEXT NOT NULL,
    return_url   TEXT NOT NULL,
    description  TEXT NOT NULL,
    email        TEXT NOT NULL,
    save         INTEGER NOT NULL,
    method       TEXT NOT NULL,
    auto         INTEGER NOT NULL,
    method_title TEXT NOT NULL,
    reason       TEXT NOT NULL,
    problem      TEXT NOT NULL,
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
    id          TEXT NOT NULL PRIMARY KEY,
    payment     TEXT NOT NULL REFERENCES payments (id),
    account     TEXT NOT NULL,
    provider    TEXT NOT NULL,
    provider_id TEXT,
    state       TEXT NOT NULL CHECK (state IN ('new', 'pending', 'succeeded', 'canceled')),
    amount      INTEGER NOT NULL CHECK (amount > 0),
    reason      TEXT NOT NULL,
    failure     TEXT NOT NULL,
    actor       TEXT NOT NULL,
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
    account      TEXT NOT NULL PRIMARY KEY,
    wallet       TEXT NOT NULL,
    provider     TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('waiting', 'active', 'paused')),
    payment      TEXT NOT NULL,
    method       TEXT NOT NULL,
    method_title TEXT NOT NULL,
    email        TEXT NOT NULL,
    threshold    INTEGER NOT NULL,
    amount       INTEGER NOT NULL,
    cap          INTEGER NOT NULL,
    fails        INTEGER NOT NULL,
    why          TEXT NOT NULL,
    consent_at   INTEGER NOT NULL,
    due_at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX payment_rules_due ON payment_rules (due_at) WHERE state = 'active';

-- +goose Down
DROP TABLE payment_rules;
DROP TABLE payment_refunds;
DROP TABLE payments;
