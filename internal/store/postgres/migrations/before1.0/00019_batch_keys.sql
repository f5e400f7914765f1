-- +goose Up
-- The key of a batch is found by its id: its hash changes when it is rotated.
ALTER TABLE batches DROP COLUMN key_hash;

-- +goose Down
ALTER TABLE batches ADD COLUMN key_hash TEXT NOT NULL DEFAULT '';
UPDATE batches SET key_hash = COALESCE((SELECT k.hash FROM api_keys k WHERE k.id = batches.key_id), '');
