-- +goose Up
-- Differences with a provider's bill on which an operator has decided. They are of no comparison: one of the same days finds them again.
CREATE TABLE settled_differences (
    provider TEXT NOT NULL,
    mark     TEXT NOT NULL, -- what the difference is, see reconcile.Difference.Mark
    outcome  TEXT NOT NULL, -- loss or explained
    reason   TEXT NOT NULL,
    actor    TEXT NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (provider, mark)
) STRICT;
-- Which of the gateway's keys the keys in a provider's bills are.
CREATE TABLE billed_keys (
    provider TEXT NOT NULL,
    name     TEXT NOT NULL, -- of the key in bills
    tag      TEXT NOT NULL, -- catalog.KeyTag; '-': it is of another program
    PRIMARY KEY (provider, name)
) STRICT;

-- +goose Down
DROP TABLE billed_keys;
DROP TABLE settled_differences;
