-- The average closing price of the last auctions of each seller.

CREATE TABLE q6 (
    seller BIGINT,
    avg_price BIGINT
) WITH ('connector' = 'blackhole');

INSERT INTO q6
SELECT
    Q.seller,
    AVG(Q.price) OVER (PARTITION BY Q.seller ORDER BY Q.dateTime ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)
FROM (
    SELECT *
    FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY id, seller ORDER BY price DESC) AS rownum
        FROM (
            SELECT A.id, A.seller, B.price, B.dateTime
            FROM auction AS A, bid AS B
            WHERE A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
        )
    )
    WHERE rownum <= 1
) AS Q;
