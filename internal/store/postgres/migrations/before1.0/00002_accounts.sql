-- +goose Up
CREATE TABLE users (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL,
    wallet     TEXT COLLATE "C" NOT NULL UNIQUE REFERENCES wallets (id),
    disabled   BOOLEAN NOT NULL DEFAULT FALSE,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE api_keys (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    hash        TEXT COLLATE "C" NOT NULL UNIQUE,
    label       TEXT COLLATE "C" NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    user_id     TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    creator     TEXT COLLATE "C" NOT NULL,
    management  BOOLEAN NOT NULL,
    disabled    BOOLEAN NOT NULL DEFAULT FALSE,
    limit_nano  BIGINT,
    limit_reset TEXT COLLATE "C" NOT NULL DEFAULT '',
    strict      BOOLEAN NOT NULL DEFAULT FALSE,
    expires_at  BIGINT,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    deleted_at  BIGINT
);

CREATE INDEX api_keys_by_user ON api_keys (user_id, created_at DESC, id DESC);

-- Each row has the hash of the previous one, so that a check of the chain finds removed and edited rows.
CREATE TABLE audit (
    seq       BIGINT NOT NULL PRIMARY KEY,
    at        BIGINT NOT NULL,
    actor     TEXT COLLATE "C" NOT NULL,
    from_addr TEXT COLLATE "C" NOT NULL,
    action    TEXT COLLATE "C" NOT NULL,
    target    TEXT COLLATE "C" NOT NULL,
    before    TEXT COLLATE "C" NOT NULL,
    after     TEXT COLLATE "C" NOT NULL,
    prev      TEXT COLLATE "C" NOT NULL,
    hash      TEXT COLLATE "C" NOT NULL UNIQUE
);

CREATE TRIGGER audit_keep_rows BEFORE UPDATE ON audit EXECUTE FUNCTION kept('audit rows are never changed');
CREATE TRIGGER audit_keep_all BEFORE DELETE OR TRUNCATE ON audit EXECUTE FUNCTION kept('audit rows are never removed');

-- +goose Down
DROP TABLE audit;
DROP TABLE api_keys;
DROP TABLE users;
