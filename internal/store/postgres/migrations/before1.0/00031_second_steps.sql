-- +goose Up
-- Accounts that require a passkey after every other way to sign in.
CREATE TABLE second_steps (
    user_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    since   BIGINT NOT NULL
);

-- +goose Down
DROP TABLE second_steps;
