-- +goose Up
-- What calls brought and cost by day, account, model and provider, for operators. Days are those of UTC. It is filled from the records when the store opens, once.
CREATE TABLE sales (
    day            TEXT COLLATE "C" NOT NULL, -- YYYY-MM-DD: of a call when it began, of a refund when it was posted
    wallet         TEXT COLLATE "C" NOT NULL,
    model          TEXT COLLATE "C" NOT NULL,
    provider       TEXT COLLATE "C" NOT NULL,
    calls          BIGINT NOT NULL,
    requests       BIGINT NOT NULL, -- that were charged
    prompt         BIGINT NOT NULL,
    cache_read     BIGINT NOT NULL,
    cache_write    BIGINT NOT NULL,
    completion     BIGINT NOT NULL,
    cost           BIGINT NOT NULL, -- rubles, with tax
    tax            BIGINT NOT NULL, -- in cost
    upstream       BIGINT NOT NULL, -- what providers ask for, in rubles at the rate of each call
    dollars        BIGINT NOT NULL, -- and in dollars
    unknown        BIGINT NOT NULL, -- calls whose provider's cost is not known
    unknown_net    BIGINT NOT NULL, -- what they were charged without tax: no part of a margin
    refunded       BIGINT NOT NULL, -- on that day, of calls of any day
    refunded_tax   BIGINT NOT NULL, -- in refunded
    losing         BIGINT NOT NULL, -- calls that cost more than they brought
    lost_price     BIGINT NOT NULL, -- by which their prices are too low
    lost_cache     BIGINT NOT NULL, -- likewise, of the cache alone
    lost_reported  BIGINT NOT NULL, -- by which providers asked for more than their prices
    lost_uncharged BIGINT NOT NULL, -- of calls that were not charged
    PRIMARY KEY (day, wallet, model, provider)
) WITH (fillfactor = 80);
CREATE INDEX sales_by_wallet ON sales (wallet, day);
-- The same without one of its dimensions: a page that is about all accounts, or about all models, reads few rows.
CREATE TABLE sales_parts (
    part           TEXT COLLATE "C" NOT NULL, -- model: value is a model, beside a provider; account: value is a wallet
    day            TEXT COLLATE "C" NOT NULL,
    value          TEXT COLLATE "C" NOT NULL,
    beside         TEXT COLLATE "C" NOT NULL,
    calls          BIGINT NOT NULL,
    requests       BIGINT NOT NULL, -- that were charged
    prompt         BIGINT NOT NULL,
    cache_read     BIGINT NOT NULL,
    cache_write    BIGINT NOT NULL,
    completion     BIGINT NOT NULL,
    cost           BIGINT NOT NULL, -- rubles, with tax
    tax            BIGINT NOT NULL, -- in cost
    upstream       BIGINT NOT NULL, -- what providers ask for, in rubles at the rate of each call
    dollars        BIGINT NOT NULL, -- and in dollars
    unknown        BIGINT NOT NULL, -- calls whose provider's cost is not known
    unknown_net    BIGINT NOT NULL, -- what they were charged without tax: no part of a margin
    refunded       BIGINT NOT NULL, -- on that day, of calls of any day
    refunded_tax   BIGINT NOT NULL, -- in refunded
    losing         BIGINT NOT NULL, -- calls that cost more than they brought
    lost_price     BIGINT NOT NULL, -- by which their prices are too low
    lost_cache     BIGINT NOT NULL, -- likewise, of the cache alone
    lost_reported  BIGINT NOT NULL, -- by which providers asked for more than their prices
    lost_uncharged BIGINT NOT NULL, -- of calls that were not charged
    PRIMARY KEY (part, day, value, beside)
) WITH (fillfactor = 80);
-- Whether sales are filled, and the digest of what calls added that were dropped before.
ALTER TABLE usage_form ADD COLUMN sales BIGINT NOT NULL DEFAULT 0;
ALTER TABLE usage_form ADD COLUMN dropped BYTEA NOT NULL DEFAULT '';
-- Digest of what dropped calls added to sales; empty before sales were kept.
ALTER TABLE ledger_sweeps ADD COLUMN sales BYTEA NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE ledger_sweeps DROP COLUMN sales;
ALTER TABLE usage_form DROP COLUMN dropped;
ALTER TABLE usage_form DROP COLUMN sales;
DROP TABLE sales_parts;
DROP TABLE sales;
