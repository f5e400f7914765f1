-- +goose Up
-- Further parts of sales, so that months of accounts and days of all are read from few rows: "month" is value a wallet and day the first of a month, "day" is
-- all of a day. They follow from the parts that there are.
INSERT INTO sales_parts (part, day, value, beside, calls, requests, prompt, cache_read, cache_write, completion, cost, tax, upstream, dollars, unknown, unknown_net, refunded, refunded_tax, losing, lost_price, lost_cache, lost_reported, lost_uncharged)
    SELECT 'month', substr(day, 1, 8) || '01', value, '', SUM(calls), SUM(requests), SUM(prompt), SUM(cache_read), SUM(cache_write), SUM(completion), SUM(cost), SUM(tax), SUM(upstream), SUM(dollars), SUM(unknown), SUM(unknown_net), SUM(refunded), SUM(refunded_tax), SUM(losing), SUM(lost_price), SUM(lost_cache), SUM(lost_reported), SUM(lost_uncharged)
    FROM sales_parts WHERE part = 'account' GROUP BY substr(day, 1, 8) || '01', value;
INSERT INTO sales_parts (part, day, value, beside, calls, requests, prompt, cache_read, cache_write, completion, cost, tax, upstream, dollars, unknown, unknown_net, refunded, refunded_tax, losing, lost_price, lost_cache, lost_reported, lost_uncharged)
    SELECT 'day', day, '', '', SUM(calls), SUM(requests), SUM(prompt), SUM(cache_read), SUM(cache_write), SUM(completion), SUM(cost), SUM(tax), SUM(upstream), SUM(dollars), SUM(unknown), SUM(unknown_net), SUM(refunded), SUM(refunded_tax), SUM(losing), SUM(lost_price), SUM(lost_cache), SUM(lost_reported), SUM(lost_uncharged)
    FROM sales_parts WHERE part = 'model' GROUP BY day;
-- The days of one account or one model, such as those since when it loses money.
CREATE INDEX sales_parts_by_value ON sales_parts (value, day);

-- +goose Down
DROP INDEX sales_parts_by_value;
DELETE FROM sales_parts WHERE part IN ('month', 'day');
