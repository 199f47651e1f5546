-- The average closing price of the last ten auctions of each seller, by a second rank in place of a frame.

CREATE TABLE q6 (
    seller BIGINT,
    avg_price BIGINT
) WITH ('connector' = 'blackhole');

INSERT INTO q6
SELECT seller, AVG(price)
FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY seller ORDER BY dateTime DESC) AS place
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
    )
)
WHERE place <= 10
GROUP BY seller;
