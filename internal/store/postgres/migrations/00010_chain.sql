-- +goose Up
-- What was posted and recorded, as a chain: each link has a hash of what one transaction of the store added, and of the link before it. Books that
-- were kept before are taken over by the first link, when a node opens them.
CREATE TABLE ledger_chain (
    seq    BIGINT NOT NULL PRIMARY KEY, -- 1, 2, ... without gaps
    first  BIGINT NOT NULL, -- of the transactions that it stands for; 0 where there is none
    last   BIGINT NOT NULL,
    calls  BIGINT NOT NULL, -- how many were recorded
    digest BYTEA NOT NULL, -- of these, whatever their order
    hash   TEXT COLLATE "C" NOT NULL
);
-- One row: whoever adds a link holds it until the end of the transaction.
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
