-- Local items: who sells in three states in one category.

CREATE TABLE q3 (
    name STRING,
    city STRING,
    state STRING,
    id BIGINT
) WITH ('connector' = 'blackhole');

INSERT INTO q3
SELECT P.name, P.city, P.state, A.id
FROM auction AS A INNER JOIN person AS P ON A.seller = P.id
WHERE A.category = 10 AND (P.state = 'OR' OR P.state = 'ID' OR P.state = 'CA');
