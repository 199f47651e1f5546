SELECT seller, TRUNC(AVG(price))::BIGINT
FROM (
    SELECT *
    FROM (
        SELECT A.id, A.seller, B.price, B.dateTime
        FROM auction A JOIN bid B ON A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
        QUALIFY ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price DESC, GREATEST(A.place, B.place)) = 1
    )
    QUALIFY ROW_NUMBER() OVER (PARTITION BY seller ORDER BY dateTime DESC, id) <= 10
)
GROUP BY seller
