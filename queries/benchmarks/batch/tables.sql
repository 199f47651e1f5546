-- Orders of a day, and the users who made them; the files are read by Spark and DuckDB as well.

CREATE TABLE orders (
    id BIGINT NOT NULL,
    buyer BIGINT NOT NULL,
    kind STRING NOT NULL,
    amount BIGINT NOT NULL,
    made TIMESTAMP NOT NULL,
    WATERMARK FOR made AS made
) WITH (
    'connector' = 'file',
    'path' = '${input}/orders',
    'format' = 'parquet'
);

CREATE TABLE buyers (
    buyer BIGINT NOT NULL,
    country STRING NOT NULL,
    PRIMARY KEY (buyer) NOT ENFORCED
) WITH (
    'connector' = 'file',
    'path' = '${input}/buyers',
    'format' = 'parquet'
);
