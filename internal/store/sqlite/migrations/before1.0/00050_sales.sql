-- +goose Up
-- What calls brought and cost by day, account, model and provider, for operators. Days are those of UTC. It is filled from the records when the store opens, once.
CREATE TABLE sales (
    day            TEXT NOT NULL, -- YYYY-MM-DD: of a call when it began, of a refund when it was posted
    wallet         TEXT NOT NULL,
    model          TEXT NOT NULL,
    provider       TEXT NOT NULL,
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
    part           TEXT NOT NULL, -- model: value is a model, beside a provider; account: value is a wallet
    day            TEXT NOT NULL,
    value          TEXT NOT NULL,
    beside         TEXT NOT NULL,
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
-- Whether sales are filled, and the digest of what calls added that were dropped before.
ALTER TABLE usage_form ADD COLUMN sales INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage_form ADD COLUMN dropped BLOB NOT NULL DEFAULT x'';
-- Digest of what dropped calls added to sales; empty before sales were kept.
ALTER TABLE ledger_sweeps ADD COLUMN sales BLOB NOT NULL DEFAULT x'';

-- +goose Down
ALTER TABLE ledger_sweeps DROP COLUMN sales;
ALTER TABLE usage_form DROP COLUMN dropped;
ALTER TABLE usage_form DROP COLUMN sales;
DROP TABLE sales_parts;
DROP TABLE sales;
