-- The tables that the queries read: the first ${count} events of the generator.

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
) WITH ('connector' = 'nexmark', 'events' = 'person', 'count' = '${count}');

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
) WITH ('connector' = 'nexmark', 'events' = 'auction', 'count' = '${count}');

CREATE TABLE bid (
    auction BIGINT,
    bidder BIGINT,
    price BIGINT,
    channel STRING,
    url STRING,
    dateTime TIMESTAMP,
    extra STRING,
    WATERMARK FOR dateTime AS dateTime - INTERVAL '4' SECOND
) WITH ('connector' = 'nexmark', 'events' = 'bid', 'count' = '${count}');
