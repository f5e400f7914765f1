-- +goose Up
-- Further parts of sales, so that months of accounts and days of all are read from few rows: "month" is value a wallet and day the first of a month, "day" is
-- all of a day. They follow from the parts that there are.
INSERT INTO sales_parts (part, day, value, beside, calls, requests, prompt, cache_read, cache_write, completion, cost, tax, upstream, dollars, unknown, unknown_net, refunded, refunded_tax, losing, lost_price, lost_cache, lost_reported, lost_uncharged)
    SELECT 'month', substr(day, 1, 8) || '01', value, '', CAST(SUM(calls) AS BIGINT), CAST(SUM(requests) AS BIGINT), CAST(SUM(prompt) AS BIGINT), CAST(SUM(cache_read) AS BIGINT), CAST(SUM(cache_write) AS BIGINT), CAST(SUM(completion) AS BIGINT), CAST(SUM(cost) AS BIGINT), CAST(SUM(tax) AS BIGINT), CAST(SUM(upstream) AS BIGINT), CAST(SUM(dollars) AS BIGINT), CAST(SUM(unknown) AS BIGINT), CAST(SUM(unknown_net) AS BIGINT), CAST(SUM(refunded) AS BIGINT), CAST(SUM(refunded_tax) AS BIGINT), CAST(SUM(losing) AS BIGINT), CAST(SUM(lost_price) AS BIGINT), CAST(SUM(lost_cache) AS BIGINT), CAST(SUM(lost_reported) AS BIGINT), CAST(SUM(lost_uncharged) AS BIGINT)
    FROM sales_parts WHERE part = 'account' GROUP BY substr(day, 1, 8) || '01', value;
INSERT INTO sales_parts (part, day, value, beside, calls, requests, prompt, cache_read, cache_write, completion, cost, tax, upstream, dollars, unknown, unknown_net, refunded, refunded_tax, losing, lost_price, lost_cache, lost_reported, lost_uncharged)
    SELECT 'day', day, '', '', CAST(SUM(calls) AS BIGINT), CAST(SUM(requests) AS BIGINT), CAST(SUM(prompt) AS BIGINT), CAST(SUM(cache_read) AS BIGINT), CAST(SUM(cache_write) AS BIGINT), CAST(SUM(completion) AS BIGINT), CAST(SUM(cost) AS BIGINT), CAST(SUM(tax) AS BIGINT), CAST(SUM(upstream) AS BIGINT), CAST(SUM(dollars) AS BIGINT), CAST(SUM(unknown) AS BIGINT), CAST(SUM(unknown_net) AS BIGINT), CAST(SUM(refunded) AS BIGINT), CAST(SUM(refunded_tax) AS BIGINT), CAST(SUM(losing) AS BIGINT), CAST(SUM(lost_price) AS BIGINT), CAST(SUM(lost_cache) AS BIGINT), CAST(SUM(lost_reported) AS BIGINT), CAST(SUM(lost_uncharged) AS BIGINT)
    FROM sales_parts WHERE part = 'model' GROUP BY day;
-- The days of one account or one model, such as those since when it loses money.
CREATE INDEX sales_parts_by_value ON sales_parts (value, day);

-- +goose Down
DROP INDEX sales_parts_by_value;
DELETE FROM sales_parts WHERE part IN ('month', 'day');
