-- +goose Up
-- How users sign in with e-mail and password. web_key is the hash of the API key of their calls from the browser.
CREATE TABLE logins (
    user_id    TEXT    NOT NULL PRIMARY KEY REFERENCES users (id),
    email      TEXT    UNIQUE,
    password   TEXT    NOT NULL,
    confirmed  INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE users ADD COLUMN web_key TEXT NOT NULL DEFAULT '';

CREATE TABLE sessions (
    hash       TEXT    NOT NULL PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    user_id    TEXT    NOT NULL REFERENCES users (id),
    method     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    proved_at  INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    address    TEXT    NOT NULL,
    agent      TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_user ON sessions (user_id, seen_at);
CREATE INDEX sessions_expiring ON sessions (expires_at);
CREATE INDEX sessions_idle ON sessions (seen_at);

-- Links and steps that work once.
CREATE TABLE tokens (
    hash       TEXT    NOT NULL PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    kind       TEXT    NOT NULL,
    user_id    TEXT    NOT NULL,
    email      TEXT    NOT NULL,
    role       TEXT    NOT NULL,
    note       TEXT    NOT NULL,
    data       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_by_owner ON tokens (kind, user_id, email);
CREATE INDEX tokens_expiring ON tokens (expires_at);

CREATE TABLE passkeys (
    id         TEXT    NOT NULL PRIMARY KEY,
    user_id    TEXT    NOT NULL REFERENCES users (id),
    name       TEXT    NOT NULL,
    data       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    used_at    INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX passkeys_by_user ON passkeys (user_id, created_at);

CREATE TABLE identities (
    issuer     TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    user_id    TEXT    NOT NULL REFERENCES users (id),
    email      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_by_user ON identities (user_id, created_at);

-- +goose Down
DROP TABLE identities;
DROP TABLE passkeys;
DROP TABLE tokens;
DROP TABLE sessions;
ALTER TABLE users DROP COLUMN web_key;
DROP TABLE logins;
