-- The balance of every account, from one table of transfers that is named twice.
--
-- What one transfer credits another account is debited: whoever looks, and whenever, all balances add up to
-- 0.  The table is read once, so the credit and the debit of a transfer change the result together; nobody
-- ever sees one without the other.

CREATE TABLE transfers (
    at TIMESTAMP,
    debit STRING,
    credit STRING,
    cents BIGINT,
    WATERMARK FOR at AS at - INTERVAL '10' SECOND
) WITH (
    'connector' = 'file',
    'path' = 'input',
    'format' = 'json'
);

CREATE VIEW entries AS
SELECT credit AS account, cents FROM transfers
UNION ALL
SELECT debit AS account, -cents AS cents FROM transfers;

CREATE TABLE balances (
    account STRING,
    cents BIGINT
) WITH (
    'connector' = 'file',
    'path' = 'balances.jsonl',
    'changes' = 'retract'
);

INSERT INTO balances
SELECT account, SUM(cents) AS cents
FROM entries
GROUP BY account;
