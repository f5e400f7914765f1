-- +goose Up
-- The key with which a file or a response was made: in an organization it says who sees it. Empty: made before that was kept.
ALTER TABLE files ADD COLUMN key_id TEXT NOT NULL DEFAULT '';
ALTER TABLE responses ADD COLUMN key_id TEXT NOT NULL DEFAULT '';

-- Tags of all requests of a batch, separated by commas.
ALTER TABLE batches ADD COLUMN tags TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE batches DROP COLUMN tags;
ALTER TABLE responses DROP COLUMN key_id;
ALTER TABLE files DROP COLUMN key_id;
