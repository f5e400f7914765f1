-- +goose Up
-- Chats of the playground, of accounts that have switched that on.
CREATE TABLE chats (
    user_id    TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    size       INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    content    BLOB    NOT NULL,
    PRIMARY KEY (user_id, id)
) STRICT;
CREATE INDEX chats_by_expiry ON chats (expires_at);

-- +goose Down
DROP TABLE chats;
