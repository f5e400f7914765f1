-- +goose Up
-- Events to be sent to callback addresses. A claim has leased_until in the future. Its fence distinguishes it from later claims.
CREATE TABLE webhook_deliveries (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    account TEXT COLLATE "C" NOT NULL,
    url TEXT COLLATE "C" NOT NULL,
    event TEXT COLLATE "C" NOT NULL,
    payload BYTEA NOT NULL,
    state TEXT COLLATE "C" NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
    created_at BIGINT NOT NULL,
    next_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    fence BIGINT NOT NULL DEFAULT 0,
    leased_until BIGINT NOT NULL DEFAULT 0,
    last_status BIGINT NOT NULL DEFAULT 0,
    last_error TEXT COLLATE "C" NOT NULL DEFAULT '',
    ended_at BIGINT
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_leased ON webhook_deliveries (account, leased_until) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_ended ON webhook_deliveries (ended_at) WHERE ended_at IS NOT NULL;

-- The secrets that sign the events of an account, encrypted.
CREATE TABLE webhook_secrets (
    account TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    secret BYTEA NOT NULL,
    previous BYTEA,
    previous_until BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE webhook_secrets;
DROP TABLE webhook_deliveries;
