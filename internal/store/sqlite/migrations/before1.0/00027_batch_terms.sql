-- +goose Up
-- With what of an account and its key requests were prepared that a provider's batch has. The rows of a batch are deleted when it ends.
CREATE TABLE batch_terms (
    batch   TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (batch, id)
) STRICT, WITHOUT ROWID;
ALTER TABLE batch_items ADD COLUMN terms TEXT NOT NULL DEFAULT '';

-- When the provider is asked to delete what it keeps of a part, NULL never or it has; and how often it was.
ALTER TABLE batch_parts ADD COLUMN clear_at INTEGER;
ALTER TABLE batch_parts ADD COLUMN clears INTEGER NOT NULL DEFAULT 0;
UPDATE batch_parts SET clear_at = 0 WHERE state = 'ended';
CREATE INDEX batch_parts_clear ON batch_parts (clear_at) WHERE clear_at IS NOT NULL;

-- +goose Down
DROP INDEX batch_parts_clear;
ALTER TABLE batch_parts DROP COLUMN clears;
ALTER TABLE batch_parts DROP COLUMN clear_at;
ALTER TABLE batch_items DROP COLUMN terms;
DROP TABLE batch_terms;
