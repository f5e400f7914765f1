-- +goose Up
-- Codes that put money into wallets. Of a code only the hash is kept. Amounts are in 10^-9 rubles.
CREATE TABLE voucher_batches (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    amount     BIGINT NOT NULL CHECK (amount > 0),
    codes      BIGINT NOT NULL CHECK (codes > 0),
    uses       BIGINT NOT NULL CHECK (uses > 0), -- accounts that may redeem one code
    note       TEXT COLLATE "C" NOT NULL,
    actor      TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT
);
CREATE INDEX voucher_batches_created ON voucher_batches (created_at, id);

CREATE TABLE voucher_codes (
    hash  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    batch TEXT COLLATE "C" NOT NULL REFERENCES voucher_batches (id),
    used  BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE voucher_redemptions (
    batch   TEXT COLLATE "C" NOT NULL REFERENCES voucher_batches (id),
    account TEXT COLLATE "C" NOT NULL,
    code    TEXT COLLATE "C" NOT NULL,
    wallet  TEXT COLLATE "C" NOT NULL,
    amount  BIGINT NOT NULL,
    at      BIGINT NOT NULL,
    PRIMARY KEY (batch, account) -- an account redeems one code of a batch
);

-- +goose Down
DROP TABLE voucher_redemptions;
DROP TABLE voucher_codes;
DROP TABLE voucher_batches;
