SELECT category, TRUNC(AVG(final))::BIGINT
FROM (
    SELECT MAX(B.price) AS final, A.category
    FROM auction A JOIN bid B ON A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
    GROUP BY A.id, A.category
)
GROUP BY category
