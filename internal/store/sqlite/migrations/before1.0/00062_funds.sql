-- +goose Up
-- What calls spent that count in budgets, and in keys above the one that made them, is in key_spend as well: key_id is the id of the budget, or of the key.
-- Of it, dropped is from calls whose details were dropped; funds is the digest of these sums.
ALTER TABLE key_spend ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger_sweeps ADD COLUMN funds BLOB NOT NULL DEFAULT x'';
-- Keys whose running calls were stopped in the last minutes, and how often.
CREATE TABLE key_stops (
    key_id TEXT NOT NULL PRIMARY KEY,
    n      INTEGER NOT NULL,
    at     INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE key_stops;
ALTER TABLE ledger_sweeps DROP COLUMN funds;
ALTER TABLE key_spend DROP COLUMN dropped;
