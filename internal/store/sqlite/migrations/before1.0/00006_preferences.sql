-- +goose Up
-- Provider preferences for the requests of a user or key: the JSON object as it was sent, '' for none.
ALTER TABLE users ADD COLUMN preferences TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN preferences TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE api_keys DROP COLUMN preferences;
ALTER TABLE users DROP COLUMN preferences;
