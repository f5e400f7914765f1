-- +goose Up
-- What a wallet's calls and refunds of a day contain of each VAT. It is filled from the records when the store opens, once.
CREATE TABLE usage_taxes (
    wallet       TEXT COLLATE "C" NOT NULL,
    day          TEXT COLLATE "C" NOT NULL, -- YYYY-MM-DD: of a call when it began, of a refund when it was posted
    vat          TEXT COLLATE "C" NOT NULL, -- per cent. '': without VAT
    calls        BIGINT NOT NULL, -- that were charged
    cost         BIGINT NOT NULL,
    tax          BIGINT NOT NULL, -- contained in cost: the sum over its calls, each rounded
    refunds      BIGINT NOT NULL,
    refunded     BIGINT NOT NULL,
    refunded_tax BIGINT NOT NULL, -- contained in refunded
    PRIMARY KEY (wallet, day, vat)
) WITH (fillfactor = 80);

-- +goose Down
DROP TABLE usage_taxes;
