-- +goose Up
-- Tags whose spending an account has watched by itself, one a line; and of a day of unusual spending where the money went, as a JSON list.
ALTER TABLE notify_settings ADD COLUMN tags TEXT NOT NULL DEFAULT '';
ALTER TABLE notify_facts ADD COLUMN grown TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE notify_facts DROP COLUMN grown;
ALTER TABLE notify_settings DROP COLUMN tags;
