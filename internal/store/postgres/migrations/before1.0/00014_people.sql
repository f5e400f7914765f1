-- +goose Up
-- How users sign in with e-mail and password. web_key is the hash of the API key of their calls from the browser.
CREATE TABLE logins (
    user_id TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES users (id),
    email TEXT COLLATE "C" UNIQUE,
    password TEXT COLLATE "C" NOT NULL,
    confirmed BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

ALTER TABLE users ADD COLUMN web_key TEXT COLLATE "C" NOT NULL DEFAULT '';

CREATE TABLE sessions (
    hash TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    method TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    proved_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_id, seen_at);
CREATE INDEX sessions_expiring ON sessions (expires_at);
CREATE INDEX sessions_idle ON sessions (seen_at);

-- Links and steps that work once.
CREATE TABLE tokens (
    hash TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    kind TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    email TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL,
    note TEXT COLLATE "C" NOT NULL,
    data TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX tokens_by_owner ON tokens (kind, user_id, email);
CREATE INDEX tokens_expiring ON tokens (expires_at);

CREATE TABLE passkeys (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    name TEXT COLLATE "C" NOT NULL,
    data TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    used_at BIGINT
);
CREATE INDEX passkeys_by_user ON passkeys (user_id, created_at);

CREATE TABLE identities (
    issuer TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    email TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_by_user ON identities (user_id, created_at);

-- +goose Down
DROP TABLE identities;
DROP TABLE passkeys;
DROP TABLE tokens;
DROP TABLE sessions;
ALTER TABLE users DROP COLUMN web_key;
DROP TABLE logins;
