-- The tables that the queries read: a Parquet file of each kind of event in the directory ${events}.

CREATE TABLE person (
    id BIGINT,
    name STRING,
    emailAddress STRING,
    creditCard STRING,
    city STRING,
    state STRING,
    dateTime TIMESTAMP,
    extra STRING,
    WATERMARK FOR dateTime AS dateTime - INTERVAL '4' SECOND
) WITH ('connector' = 'file', 'path' = '${events}/person.parquet', 'format' = 'parquet');

CREATE TABLE auction (
    id BIGINT,
    itemName STRING,
    description STRING,
    initialBid BIGINT,
    reserve BIGINT,
    dateTime TIMESTAMP,
    expires TIMESTAMP,
    seller BIGINT,
    category BIGINT,
    extra STRING,
    WATERMARK FOR dateTime AS dateTime - INTERVAL '4' SECOND
) WITH ('connector' = 'file', 'path' = '${events}/auction.parquet', 'format' = 'parquet');

CREATE TABLE bid (
    auction BIGINT,
    bidder BIGINT,
    price BIGINT,
    channel STRING,
    url STRING,
    dateTime TIMESTAMP,
    extra STRING,
    WATERMARK FOR dateTime AS dateTime - INTERVAL '4' SECOND
) WITH ('connector' = 'file', 'path' = '${events}/bid.parquet', 'format' = 'parquet');
