-- +goose Up
-- Accounts that require a passkey after every other way to sign in.
CREATE TABLE second_steps (
    user_id TEXT NOT NULL PRIMARY KEY,
    since   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE second_steps;
