-- +goose Up
-- How many calls of a key may run at one time; NULL: as many as the operator says.
ALTER TABLE api_keys ADD COLUMN rate_calls BIGINT;

-- +goose Down
ALTER TABLE api_keys DROP COLUMN rate_calls;
