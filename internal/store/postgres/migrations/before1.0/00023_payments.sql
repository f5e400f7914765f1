-- +goose Up
-- Money that comes from payment providers, and what goes back to the payers. Amounts are in 10^-9 rubles.
CREATE TABLE payments (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    account      TEXT COLLATE "C" NOT NULL,
    wallet       TEXT COLLATE "C" NOT NULL,
    provider     TEXT COLLATE "C" NOT NULL,
    provider_id  TEXT COLLATE "C", -- NULL until the provider has answered
    state        TEXT COLLATE "C" NOT NULL CHECK (state IN ('new', 'pending', 'succeeded', 'canceled')),
    amount       BIGINT NOT NULL, -- that was asked for
    paid         BIGINT NOT NULL, -- that the provider confirmed and the wallet got
    url          TEXT COLLATE "C" NOT NULL,
    return_url   TEXT COLLATE "C" NOT NULL,
    description  TEXT COLLATE "C" NOT NULL,
    email        TEXT COLLATE "C" NOT NULL,
    save         BOOLEAN NOT NULL,
    method       TEXT COLLATE "C" NOT NULL,
    auto         BOOLEAN NOT NULL,
    method_title TEXT COLLATE "C" NOT NULL,
    reason       TEXT COLLATE "C" NOT NULL,
    problem      TEXT COLLATE "C" NOT NULL,
    tries        BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    ended_at     BIGINT,
    due_at       BIGINT,
    looked_at    BIGINT NOT NULL DEFAULT 0,
    CHECK ((state = 'succeeded') = (paid > 0))
);
CREATE UNIQUE INDEX payments_provider_id ON payments (provider, provider_id);
CREATE INDEX payments_account ON payments (account, created_at, id);
CREATE INDEX payments_created ON payments (created_at, id);
CREATE INDEX payments_due ON payments (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE payment_refunds (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    payment     TEXT COLLATE "C" NOT NULL REFERENCES payments (id),
    account     TEXT COLLATE "C" NOT NULL,
    provider    TEXT COLLATE "C" NOT NULL,
    provider_id TEXT COLLATE "C",
    state       TEXT COLLATE "C" NOT NULL CHECK (state IN ('new', 'pending', 'succeeded', 'canceled')),
    amount      BIGINT NOT NULL CHECK (amount > 0),
    reason      TEXT COLLATE "C" NOT NULL,
    failure     TEXT COLLATE "C" NOT NULL,
    actor       TEXT COLLATE "C" NOT NULL,
    tries       BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    due_at      BIGINT
);
CREATE UNIQUE INDEX payment_refunds_provider_id ON payment_refunds (provider, provider_id);
CREATE INDEX payment_refunds_payment ON payment_refunds (payment);
CREATE INDEX payment_refunds_due ON payment_refunds (due_at) WHERE due_at IS NOT NULL;

-- The consent of an account to automatic top-ups.
CREATE TABLE payment_rules (
    account      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    wallet       TEXT COLLATE "C" NOT NULL,
    provider     TEXT COLLATE "C" NOT NULL,
    state        TEXT COLLATE "C" NOT NULL CHECK (state IN ('waiting', 'active', 'paused')),
    payment      TEXT COLLATE "C" NOT NULL,
    method       TEXT COLLATE "C" NOT NULL,
    method_title TEXT COLLATE "C" NOT NULL,
    email        TEXT COLLATE "C" NOT NULL,
    threshold    BIGINT NOT NULL,
    amount       BIGINT NOT NULL,
    cap          BIGINT NOT NULL,
    fails        BIGINT NOT NULL,
    why          TEXT COLLATE "C" NOT NULL,
    consent_at   BIGINT NOT NULL,
    due_at       BIGINT NOT NULL
);
CREATE INDEX payment_rules_due ON payment_rules (due_at) WHERE state = 'active';

-- +goose Down
DROP TABLE payment_rules;
DROP TABLE payment_refunds;
DROP TABLE payments;
