-- +goose Up
-- How calls of all accounts ended, by hours and by days of UTC, for operators: pages about all accounts count calls by it, however many there are. It is
-- the sum of the calls that are kept: rows that begin before ledger_horizon mean nothing, and are deleted. It is filled from the records when the store
-- opens, once.
CREATE TABLE call_results (
    part TEXT COLLATE "C" NOT NULL, -- all: value is ''; model: value is a model, beside its provider; provider; key: value is the tag of a provider's key that an attempt was made with
    span BIGINT NOT NULL, -- seconds: an hour or a day
    value TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL, -- its start, Unix seconds
    beside TEXT COLLATE "C" NOT NULL,
    api TEXT COLLATE "C" NOT NULL,
    status BIGINT NOT NULL, -- HTTP status of the answer
    result TEXT COLLATE "C" NOT NULL, -- ok, canceled or the error
    calls BIGINT NOT NULL,
    requests BIGINT NOT NULL, -- that were charged
    cost BIGINT NOT NULL, -- rubles, with tax
    tax BIGINT NOT NULL, -- in cost
    upstream BIGINT NOT NULL, -- what providers ask for, in rubles at the rate of each call
    unknown BIGINT NOT NULL, -- calls whose provider's cost is not known
    unknown_net BIGINT NOT NULL, -- what they were charged without tax: no part of a margin
    PRIMARY KEY (part, span, value, at, beside, api, status, result)
) WITH (fillfactor = 80);
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
