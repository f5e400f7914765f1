-- +goose Up
-- Chats of the playground, of accounts that have switched that on.
CREATE TABLE chats (
    user_id    TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    title      TEXT COLLATE "C" NOT NULL,
    size       BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    content    BYTEA NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX chats_by_expiry ON chats (expires_at);

-- +goose Down
DROP TABLE chats;
