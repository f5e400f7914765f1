-- +goose Up
-- Provider preferences that hold for the requests of a user, and of a key: a JSON object as it was given, '' without any.
ALTER TABLE users ADD COLUMN preferences TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN preferences TEXT COLLATE "C" NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE api_keys DROP COLUMN preferences;
ALTER TABLE users DROP COLUMN preferences;
