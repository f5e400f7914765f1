-- +goose Up
-- Codes that put money into wallets. Of a code only the hash is kept. Amounts are in 10^-9 rubles.
CREATE TABLE voucher_batches (
    id         TEXT NOT NULL PRIMARY KEY,
    amount     INTEGER NOT NULL CHECK (amount > 0),
    codes      INTEGER NOT NULL CHECK (codes > 0),
    uses       INTEGER NOT NULL CHECK (uses > 0), -- accounts that may redeem one code
    note       TEXT NOT NULL,
    actor      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX voucher_batches_created ON voucher_batches (created_at, id);

CREATE TABLE voucher_codes (
    hash  TEXT NOT NULL PRIMARY KEY,
    batch TEXT NOT NULL REFERENCES voucher_batches (id),
    used  INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE voucher_redemptions (
    batch   TEXT NOT NULL REFERENCES voucher_batches (id),
    account TEXT NOT NULL,
    code    TEXT NOT NULL,
    wallet  TEXT NOT NULL,
    amount  INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (batch, account) -- an account redeems one code of a batch
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE voucher_redemptions;
DROP TABLE voucher_codes;
DROP TABLE voucher_batches;
