-- +goose Up
-- The hash chain of postings and records: each link has a hash of the rows of one store transaction and of the previous link. The first link of a
-- ledger that existed before covers all its older rows. It is added when a node opens the store.
CREATE TABLE ledger_chain (
    seq    BIGINT NOT NULL PRIMARY KEY, -- 1, 2, ... without gaps
    first  BIGINT NOT NULL, -- of its transactions. 0: none
    last   BIGINT NOT NULL,
    calls  BIGINT NOT NULL, -- number of recorded calls
    digest BYTEA NOT NULL, -- of these calls, independent of their order
    hash   TEXT COLLATE "C" NOT NULL
);
-- One row, which is locked by the transaction that adds a link until it ends.
CREATE TABLE ledger_head (
    id     BIGINT NOT NULL PRIMARY KEY,
    length BIGINT NOT NULL
);
CREATE TRIGGER ledger_chain_fixed BEFORE UPDATE ON ledger_chain EXECUTE FUNCTION kept('links of the ledger are never changed');
CREATE TRIGGER ledger_chain_kept BEFORE DELETE OR TRUNCATE ON ledger_chain EXECUTE FUNCTION kept('links of the ledger are never deleted');
CREATE TRIGGER generations_kept BEFORE DELETE OR TRUNCATE ON generations EXECUTE FUNCTION kept('generations are never deleted');

-- +goose Down
DROP TRIGGER generations_kept ON generations;
DROP TABLE ledger_head;
DROP TABLE ledger_chain;
