-- +goose Up
-- NULL: it binds calls. A deleted one can be brought back for a time, with what it has counted.
ALTER TABLE budgets ADD COLUMN deleted_at BIGINT;

-- +goose Down
ALTER TABLE budgets DROP COLUMN deleted_at;
