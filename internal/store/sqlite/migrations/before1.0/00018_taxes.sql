-- +goose Up
-- What a wallet's calls and refunds of a day contain of each VAT. It is filled from the records when the store opens, once.
CREATE TABLE usage_taxes (
    wallet       TEXT NOT NULL,
    day          TEXT NOT NULL, -- YYYY-MM-DD: of a call when it began, of a refund when it was posted
    vat          TEXT NOT NULL, -- per cent. '': without VAT
    calls        INTEGER NOT NULL, -- that were charged
    cost         INTEGER NOT NULL,
    tax          INTEGER NOT NULL, -- contained in cost: the sum over its calls, each rounded
    refunds      INTEGER NOT NULL,
    refunded     INTEGER NOT NULL,
    refunded_tax INTEGER NOT NULL, -- contained in refunded
    PRIMARY KEY (wallet, day, vat)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE usage_taxes;
