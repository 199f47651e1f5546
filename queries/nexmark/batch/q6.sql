SELECT
    seller,
    TRUNC(AVG(price) OVER (PARTITION BY seller ORDER BY dateTime, id, price ROWS BETWEEN 10 PRECEDING AND CURRENT ROW))::BIGINT
FROM (
    SELECT A.id, A.seller, B.price, B.dateTime
    FROM auction A JOIN bid B ON A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
    QUALIFY ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price DESC, GREATEST(A.place, B.place)) = 1
)
