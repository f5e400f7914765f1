-- +goose Up
-- Refunds of the calls in a row. The other columns remain as consumed.
ALTER TABLE usage_daily ADD COLUMN refunded BIGINT NOT NULL DEFAULT 0;
ALTER TABLE usage_hourly ADD COLUMN refunded BIGINT NOT NULL DEFAULT 0;

-- Entries other than those of calls, by account and by transaction, for statements and for the refunds of a charge.
CREATE INDEX entries_by_account ON entries (account, transaction_id) WHERE substr(ref, 1, 7) <> 'settle:';
CREATE INDEX entries_by_transaction ON entries (transaction_id) WHERE substr(ref, 1, 7) <> 'settle:';

-- +goose Down
DROP INDEX entries_by_transaction;
DROP INDEX entries_by_account;
ALTER TABLE usage_hourly DROP COLUMN refunded;
ALTER TABLE usage_daily DROP COLUMN refunded;
