-- +goose Up
-- How calls of all accounts ended, by hours and by days of UTC, for operators: pages about all accounts count calls by it, however many there are. It is
-- the sum of the calls that are kept: rows that begin before ledger_horizon mean nothing, and are deleted. It is filled from the records when the store
-- opens, once.
CREATE TABLE call_results (
    part        TEXT    NOT NULL, -- all: value is ''; model: value is a model, beside its provider; provider; key: value is the tag of a provider's key that an attempt was made with
    span        INTEGER NOT NULL, -- seconds: an hour or a day
    value       TEXT    NOT NULL,
    at          INTEGER NOT NULL, -- its start, Unix seconds
    beside      TEXT    NOT NULL,
    api         TEXT    NOT NULL,
    status      INTEGER NOT NULL, -- HTTP status of the answer
    result      TEXT    NOT NULL, -- ok, canceled or the error
    calls       INTEGER NOT NULL,
    requests    INTEGER NOT NULL, -- that were charged
    cost        INTEGER NOT NULL, -- rubles, with tax
    tax         INTEGER NOT NULL, -- in cost
    upstream    INTEGER NOT NULL, -- what providers ask for, in rubles at the rate of each call
    unknown     INTEGER NOT NULL, -- calls whose provider's cost is not known
    unknown_net INTEGER NOT NULL, -- what they were charged without tax: no part of a margin
    PRIMARY KEY (part, span, value, at, beside, api, status, result)
) STRICT, WITHOUT ROWID;
CREATE INDEX call_results_by_time ON call_results (at);
ALTER TABLE usage_form ADD COLUMN results INTEGER NOT NULL DEFAULT 0; -- whether call_results is filled

-- Payments and invoices of all accounts, by what operators look for.
CREATE INDEX payments_state ON payments (state, created_at, id);
CREATE INDEX payments_problem ON payments (problem) WHERE problem > '';
CREATE INDEX payments_named ON payments (provider_id);
CREATE INDEX payment_refunds_open ON payment_refunds (created_at) WHERE state IN ('new', 'pending');
CREATE INDEX payment_refunds_named ON payment_refunds (provider_id);
CREATE INDEX invoices_named ON invoices (number);
CREATE INDEX invoices_buyer ON invoices (buyer_inn, created_at, id);

-- +goose Down
DROP INDEX invoices_buyer;
DROP INDEX invoices_named;
DROP INDEX payment_refunds_named;
DROP INDEX payment_refunds_open;
DROP INDEX payments_named;
DROP INDEX payments_problem;
DROP INDEX payments_state;
ALTER TABLE usage_form DROP COLUMN results;
DROP TABLE call_results;
