-- +goose Up
-- Differences with a provider's bill on which an operator has decided. They are of no comparison: one of the same days finds them again.
CREATE TABLE settled_differences (
    provider TEXT COLLATE "C" NOT NULL,
    mark     TEXT COLLATE "C" NOT NULL, -- what the difference is, see reconcile.Difference.Mark
    outcome  TEXT COLLATE "C" NOT NULL, -- loss or explained
    reason   TEXT COLLATE "C" NOT NULL,
    actor    TEXT COLLATE "C" NOT NULL,
    at       BIGINT NOT NULL,
    PRIMARY KEY (provider, mark)
);
-- Which of the gateway's keys the keys in a provider's bills are.
CREATE TABLE billed_keys (
    provider TEXT COLLATE "C" NOT NULL,
    name     TEXT COLLATE "C" NOT NULL, -- of the key in bills
    tag      TEXT COLLATE "C" NOT NULL, -- catalog.KeyTag; '-': it is of another program
    PRIMARY KEY (provider, name)
);

-- +goose Down
DROP TABLE billed_keys;
DROP TABLE settled_differences;
